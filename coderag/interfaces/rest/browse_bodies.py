"""Bodies and parameters of the routes that browse a repository."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from fastapi import Query
from pydantic import Field

from coderag.engine.browsing.chunk_query import ChunkQuery
from coderag.interfaces.rest.bodies import MAX_NAME_CHARS, MAX_PATH_CHARS, NO_NUL_PATTERN, FilterWord, RootBody
from coderag.schema.browse import ChunkOrder
from coderag.schema.vocabulary import Kind, Role

MAX_ENTRIES: Final = 1_000
_MAX_LINE: Final = 100_000_000
_MAX_VALUES: Final = 50

FolderParameter = Annotated[
    str, Query(max_length=MAX_PATH_CHARS, pattern=NO_NUL_PATTERN, description="The folder; empty for the root.")
]
FileParameter = Annotated[
    str, Query(min_length=1, max_length=MAX_PATH_CHARS, pattern=NO_NUL_PATTERN, description="Path of the file.")
]
PathQueryParameter = Annotated[
    str, Query(max_length=MAX_NAME_CHARS, pattern=NO_NUL_PATTERN, description="Words that the path contains.")
]
SymbolQueryParameter = Annotated[
    str, Query(max_length=MAX_NAME_CHARS, pattern=NO_NUL_PATTERN, description="Part of the name, in any case.")
]
NameParameter = Annotated[
    str,
    Query(
        min_length=1,
        max_length=MAX_NAME_CHARS,
        pattern=NO_NUL_PATTERN,
        description="A name (`login`), a qualified one (`Session.login`), `path::name` or `path:line`.",
    ),
]
OffsetParameter = Annotated[int, Query(ge=0, le=_MAX_LINE, description="Entries to skip: `next_offset`.")]
LimitParameter = Annotated[int, Query(ge=1, le=MAX_ENTRIES, description="Maximum number of entries.")]
StartLineParameter = Annotated[int, Query(ge=1, le=_MAX_LINE, description="First line.")]
EndLineParameter = Annotated[
    int | None, Query(ge=1, le=_MAX_LINE, description="Last line; by default the last of the file.")
]
LinkLimitParameter = Annotated[int, Query(ge=1, le=5_000, description="Maximum number of links; `total` counts all.")]
CallerLimitParameter = Annotated[int, Query(ge=1, le=200, description="Maximum number of callers.")]
CandidatesParameter = Annotated[bool, Query(description="Whether to include uncertain candidates of ambiguous names.")]


class ChunksBody(RootBody):
    """A selection of chunks. Empty filters match all; several values of one filter are alternatives."""

    path: str = Field(
        "", max_length=MAX_PATH_CHARS, pattern=NO_NUL_PATTERN, description="File or folder; by default all."
    )
    languages: list[FilterWord] = Field([], max_length=_MAX_VALUES, description="Languages, such as `python`.")
    kinds: list[Kind] = Field([], max_length=_MAX_VALUES, description="Kinds of the chunk.")
    roles: list[Role] = Field([], max_length=_MAX_VALUES, description="Roles of files.")
    summary_sources: list[Literal["", "docstring", "derived", "llm"]] = Field(
        [], max_length=_MAX_VALUES, description="Sources of the summary; an empty one is that of a chunk without any."
    )
    complexities: list[Literal["0", "1-5", "6-10", "11-20", "21+"]] = Field(
        [], max_length=_MAX_VALUES, description="Ranges of cyclomatic complexity, as the facet has them."
    )
    name: str = Field(
        "", max_length=MAX_NAME_CHARS, pattern=NO_NUL_PATTERN, description="Part of the qualified name, in any case."
    )
    start_line: int = Field(1, ge=1, le=_MAX_LINE, description="Chunks that end before this line are left out.")
    end_line: int = Field(_MAX_LINE, ge=1, le=_MAX_LINE, description="Chunks that start after it are left out.")
    order: ChunkOrder = Field("path", description="By path and line, or the most complex or longest first.")
    offset: int = Field(0, ge=0, le=_MAX_LINE, description="Chunks to skip: `next_offset` of the previous page.")
    limit: int = Field(100, ge=1, le=500, description="Maximum number of chunks; `total` counts all.")

    def to_query(self) -> ChunkQuery:
        """Convert to the query of the engine."""
        values: dict[str, Sequence[str]] = {
            "language": self.languages,
            "kind": self.kinds,
            "role": self.roles,
            "summary_source": self.summary_sources,
            "complexity": self.complexities,
        }
        is_limited = self.start_line > 1 or self.end_line < _MAX_LINE
        lines = (self.start_line, self.end_line) if is_limited else None
        return ChunkQuery(self.path, values, self.name, lines, self.order, self.offset, self.limit)
