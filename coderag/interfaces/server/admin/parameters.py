"""Parameters of the routes of the administration, with their bounds."""

from datetime import UTC, datetime
from typing import Annotated, Final, Literal

from fastapi import Path, Query
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from coderag.interfaces.rest.bodies import NO_NUL_PATTERN
from coderag.server.access.roles import Level
from coderag.server.paging import MAX_PAGE_ITEMS

MAX_NAME_CHARS: Final = 200
MAX_KEY_REPOSITORIES: Final = 1_000
_ID_PATTERN: Final = r"^[0-9a-f]{32}$"
_MAX_TIME_CHARS: Final = 40

RoleName = Literal["owner", "admin", "member", "viewer", "auditor"]
LevelName = Literal["read", "index", "administer"]
ScopeName = Literal["read", "index", "administer"]
VisibleLevelName = Literal["none", "read", "index", "administer"]


def to_level_name(level: int) -> VisibleLevelName:
    """Convert a level to its name."""
    names: dict[Level, VisibleLevelName] = {
        Level.NONE: "none",
        Level.READ: "read",
        Level.INDEX: "index",
        Level.ADMINISTER: "administer",
    }
    return names[Level(level)]


def _check_time_length(value: object) -> object:
    if isinstance(value, str) and len(value) > _MAX_TIME_CHARS:
        raise ValueError(f"a time has at most {_MAX_TIME_CHARS} characters")
    if not isinstance(value, str | datetime):
        raise ValueError("a time is a text as of ISO 8601")  # pydantic reports no TypeError
    return value


def _to_utc(time: datetime) -> datetime:
    try:
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as error:
        raise ValueError("the time is out of range") from error


Time = Annotated[
    datetime,
    Field(strict=False),
    BeforeValidator(_check_time_length),
    AfterValidator(_to_utc),
    WithJsonSchema({"type": "string", "format": "date-time", "maxLength": _MAX_TIME_CHARS}),
]
Id = Annotated[str, Field(pattern=_ID_PATTERN, max_length=32)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS, pattern=NO_NUL_PATTERN)]
Text = Annotated[str, Field(max_length=MAX_NAME_CHARS, pattern=NO_NUL_PATTERN)]

UserId = Annotated[str, Path(pattern=_ID_PATTERN, max_length=32, description="Id of the account.")]
TeamId = Annotated[str, Path(pattern=_ID_PATTERN, max_length=32, description="Id of the team.")]
GrantId = Annotated[str, Path(pattern=_ID_PATTERN, max_length=32, description="Id of the grant.")]
KeyId = Annotated[str, Path(pattern=_ID_PATTERN, max_length=32, description="Id of the key.")]
SessionId = Annotated[str, Path(pattern=_ID_PATTERN, max_length=32, description="Id of the session.")]
RepositoryId = Annotated[str, Path(pattern=_ID_PATTERN, max_length=32, description="Id of the repository.")]
CredentialId = Annotated[str, Path(pattern=_ID_PATTERN, max_length=32, description="Id of the credential.")]
JobId = Annotated[str, Path(pattern=_ID_PATTERN, max_length=32, description="Id of the job.")]
SourceName = Annotated[
    str, Path(min_length=1, max_length=MAX_NAME_CHARS, pattern=NO_NUL_PATTERN, description="Name of the source.")
]

CursorParameter = Annotated[
    str | None,
    Query(min_length=1, max_length=2_000, pattern=NO_NUL_PATTERN, description="`next` of the page before."),
]
LimitParameter = Annotated[int, Query(ge=1, le=MAX_PAGE_ITEMS, description="Maximum number of items.")]
SinceParameter = Annotated[Time | None, Query(description="Only entries of this time or later.")]
UntilParameter = Annotated[Time | None, Query(description="Only entries before this time.")]
RepositoryNameParameter = Annotated[
    str, Query(max_length=MAX_NAME_CHARS, pattern=NO_NUL_PATTERN, description="Only those of this repository, by name.")
]
