"""Path and query parameters with their bounds."""

from typing import Annotated

from fastapi import Path, Query

from coderag.interfaces.rest.bodies import MAX_PATH_CHARS, NO_NUL_PATTERN, SESSION_PATTERN

_ROOT_DESCRIPTION = "The repository: the absolute path of its folder, or a name that `GET /api/v1/repositories` lists."

RootParameter = Annotated[
    str, Query(min_length=1, max_length=MAX_PATH_CHARS, pattern=NO_NUL_PATTERN, description=_ROOT_DESCRIPTION)
]
OptionalRootParameter = Annotated[
    str | None,
    Query(min_length=1, max_length=MAX_PATH_CHARS, pattern=NO_NUL_PATTERN, description="Only jobs of this repository."),
]
SessionParameter = Annotated[str, Path(max_length=64, pattern=SESSION_PATTERN, description="Name of the session.")]
JobParameter = Annotated[
    str,
    Path(
        max_length=64,
        pattern=r"^[A-Za-z0-9_-]+$",
        description="Id of the job, as in the reply of `POST /api/v1/index`.",
    ),
]
