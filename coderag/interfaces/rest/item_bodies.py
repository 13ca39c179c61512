"""Parameters of the routes for mirrored pages and tickets."""

from datetime import datetime
from typing import Annotated, Final

from fastapi import Path, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from coderag.engine.items.item_search import MAX_PAGE_TOKENS, MIN_PAGE_TOKENS
from coderag.interfaces.rest.bodies import MAX_NAME_CHARS, MAX_PATH_CHARS, NO_NUL_PATTERN
from coderag.schema.item_search import DEFAULT_ITEMS, MAX_ITEMS, ItemFilters, ItemScope
from coderag.schema.items import ItemKind

_MAX_QUERY_CHARS: Final = 10_000
_MAX_VALUES: Final = 50
_MAX_OFFSET: Final = 10_000_000

_MAX_TIME_CHARS: Final = 40


def _check_time_length(value: object) -> object:
    if isinstance(value, str) and len(value) > _MAX_TIME_CHARS:
        raise ValueError(f"a time has at most {_MAX_TIME_CHARS} characters")
    return value


_Time = Annotated[
    datetime,
    BeforeValidator(_check_time_length),
    WithJsonSchema({"type": "string", "format": "date-time", "maxLength": _MAX_TIME_CHARS}),
]
_Word = Annotated[str, Field(max_length=MAX_NAME_CHARS, pattern=NO_NUL_PATTERN)]


class ItemsQuery(BaseModel):
    """Query of the route for items. Empty filters match all; several values of one filter are alternatives."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    root: str = Field(
        min_length=1,
        max_length=MAX_PATH_CHARS,
        pattern=NO_NUL_PATTERN,
        description="The repository: the absolute path of its folder, or a name that `GET /api/v1/repositories` lists.",
    )
    q: str = Field(
        "",
        max_length=_MAX_QUERY_CHARS,
        pattern=NO_NUL_PATTERN,
        description="Question or words; empty lists the items.",
    )
    scope: ItemScope | None = Field(None, description="Documentation or backlog; by default both.")
    sources: list[_Word] = Field([], max_length=_MAX_VALUES, description="Names of sources.")
    kinds: list[ItemKind] = Field([], max_length=_MAX_VALUES, description="Kinds of items.")
    types: list[_Word] = Field([], max_length=_MAX_VALUES, description="Types, such as `Bug`.")
    states: list[_Word] = Field([], max_length=_MAX_VALUES, description="Statuses, such as `Done`.")
    tags: list[_Word] = Field([], max_length=_MAX_VALUES, description="Labels.")
    people: list[_Word] = Field([], max_length=_MAX_VALUES, description="Names of people, in any role.")
    since: _Time | None = Field(None, description="Only items modified at this time or later.")
    until: _Time | None = Field(None, description="Only items modified before this time.")
    limit: int = Field(DEFAULT_ITEMS, ge=1, le=MAX_ITEMS, description="Maximum number of items.")
    offset: int = Field(0, ge=0, le=_MAX_OFFSET, description="Items of a list to skip: `next_offset`.")

    def to_filters(self) -> ItemFilters:
        """Convert to the filters of the engine."""
        return ItemFilters(
            kinds=tuple(self.kinds),
            types=tuple(self.types),
            states=tuple(self.states),
            tags=tuple(self.tags),
            sources=tuple(self.sources),
            people=tuple(self.people),
            since=self.since,
            until=self.until,
            scope=self.scope,
        )


ItemIdParameter = Annotated[
    str, Path(min_length=1, max_length=1_000, pattern=NO_NUL_PATTERN, description="Id of the item, as `PROJ-45`.")
]
SourceParameter = Annotated[
    str, Query(max_length=MAX_NAME_CHARS, pattern=NO_NUL_PATTERN, description="Its source, if several have the id.")
]
PageParameter = Annotated[int, Query(ge=1, le=100_000, description="Page of the text.")]
PageTokensParameter = Annotated[
    int, Query(ge=MIN_PAGE_TOKENS, le=MAX_PAGE_TOKENS, description="Maximum size of a page, in tokens.")
]
