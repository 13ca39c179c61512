"""Models of request bodies: every parameter with its bounds. The engine checks the rest, such as names."""

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from coderag.config.sections import MAX_RESULTS, MAX_TOKENS, MIN_TOKENS
from coderag.question.question_text import MAX_QUERY_BYTES
from coderag.schema.mentions import DEFAULT_MAX_MENTIONS, DEFAULT_MAX_UNUSED, MentionQuery
from coderag.schema.search import Filters
from coderag.schema.text_matches import DEFAULT_MAX_MATCHES, MAX_CONTEXT_LINES, MAX_COUNTED_MATCHES
from coderag.schema.vocabulary import ContextFormat, CycleLevel, Kind, Role

NO_NUL_PATTERN: Final = r"^[^\x00]*$"
MAX_PATH_CHARS: Final = 4_096
MAX_NAME_CHARS: Final = 1_000
_MAX_VALUES: Final = 50
_MAX_KEYS: Final = 20_000
_MAX_DEPTH: Final = 50
_DEFAULT_LIMIT: Final = 1_000
SESSION_PATTERN: Final = r"^[A-Za-z0-9]([A-Za-z0-9_.-]{0,62}[A-Za-z0-9_])?$"

Root = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_PATH_CHARS,
        pattern=NO_NUL_PATTERN,
        description="The repository: the absolute path of its folder, or a name that `GET /api/v1/repositories` lists.",
    ),
]
QueryText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_QUERY_BYTES,
        pattern=NO_NUL_PATTERN,
        description=f"A name, a question, a bug report or a snippet of code; {MAX_QUERY_BYTES:,} bytes at most.",
    ),
]
SymbolName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_NAME_CHARS,
        pattern=NO_NUL_PATTERN,
        description="A name (`login`), a qualified one (`Session.login`), `path::name`, `path:line`, or a file's path.",
    ),
]
FilterWord = Annotated[str, Field(min_length=1, max_length=100, pattern=NO_NUL_PATTERN)]
PathPattern = Annotated[
    str, Field(min_length=1, max_length=MAX_NAME_CHARS, pattern=r"^[^\x00*]*(\*\*?[^\x00*]*){0,4}$")
]
PlaceText = Annotated[str, Field(min_length=1, max_length=MAX_PATH_CHARS, pattern=NO_NUL_PATTERN)]
ShownKey = Annotated[str, Field(max_length=200, pattern=NO_NUL_PATTERN)]
SessionName = Annotated[
    str,
    Field(
        pattern=SESSION_PATTERN,
        max_length=64,
        description="Name of a session: code shown in it is left out of its next contexts.",
    ),
]
TopK = Annotated[
    int | None,
    Field(ge=1, le=MAX_RESULTS, description="Maximum number of results; by default `search.top_k` of its settings."),
]
Budget = Annotated[
    int | None,
    Field(
        ge=MIN_TOKENS,
        le=MAX_TOKENS,
        description="Maximum tokens of the text; by default `search.token_budget` of its settings.",
    ),
]
Format = Annotated[ContextFormat, Field(description="Format of the text.")]
Candidates = Annotated[bool, Field(description="Whether to include uncertain candidates of ambiguous names.")]
Limit = Annotated[
    int, Field(ge=1, le=MAX_COUNTED_MATCHES, description="Maximum number of results; `total` counts all.")
]
Complexity = Annotated[int, Field(ge=0, le=1_000_000)]


class RequestBody(BaseModel):
    """Base class of request bodies."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class FilterBody(RequestBody):
    """Filters of results. Empty means any; several values of one filter are alternatives."""

    languages: list[FilterWord] = Field([], max_length=_MAX_VALUES, description="Languages, such as `python`.")
    kinds: list[Kind] = Field([], max_length=_MAX_VALUES, description="Kinds of the code, or of a declaration in it.")
    paths: list[PathPattern] = Field(
        [],
        max_length=_MAX_VALUES,
        description="Globs over the whole path (`*` within a folder, `**` across), with at most four stars each, or"
        " folders; what matches one that begins with `!` is left out.",
    )
    roles: list[Role] = Field([], max_length=_MAX_VALUES, description="Roles of files.")
    complexity: Complexity | Annotated[list[Complexity], Field(min_length=2, max_length=2)] = Field(
        0, description="Cyclomatic complexity: a minimum, or a pair of minimum and maximum."
    )
    changed_since: str = Field(
        "",
        max_length=200,
        pattern=NO_NUL_PATTERN,
        description="A git revision: only files that differ from it on disk.",
    )

    def to_filters(self) -> Filters | None:
        """Convert to the filters of the engine; None if nothing is filtered."""
        bounds = self.complexity
        filters = Filters(
            languages=tuple(self.languages),
            kinds=tuple(self.kinds),
            paths=tuple(self.paths),
            roles=tuple(self.roles),
            complexity=bounds if isinstance(bounds, int) else (bounds[0], bounds[1]),
            changed_since=self.changed_since,
        )
        return filters or None


class RootBody(RequestBody):
    """A request for one repository."""

    root: Root


class FilteredBody(RequestBody):
    """A request whose results can be filtered."""

    filters: FilterBody | None = Field(None, description="Filters of results.")

    def to_filters(self) -> Filters | None:
        """Convert to the filters of the engine; None if there are none."""
        return self.filters.to_filters() if self.filters else None


class RecordedBody(FilteredBody):
    """A query that may be kept among the recent ones of its repository."""

    query: QueryText
    record: bool = Field(
        True, description="Whether to keep it among the recent queries; false for one that is still being typed."
    )


class SearchBody(RecordedBody):
    """A search in one repository (`root`) or in several (`repositories`)."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["root"], "properties": {"root": {"type": "string"}, "repositories": {"type": "null"}}},
                {
                    "required": ["repositories"],
                    "properties": {"repositories": {"type": "array"}, "root": {"type": "null"}},
                },
            ]
        }
    )

    root: Root | None = None
    repositories: list[Root] | None = Field(
        None, min_length=1, max_length=_MAX_VALUES, description="Several repositories, each as in `root`."
    )
    top_k: TopK = None
    offset: int = Field(0, ge=0, lt=MAX_RESULTS, description="Results to skip: `next_offset` of the previous page.")

    @model_validator(mode="after")
    def _require_one_scope(self) -> "SearchBody":
        if (self.root is None) == (self.repositories is None):
            raise ValueError("give one of root and repositories")
        return self


class TextBody(RootBody, FilteredBody):
    """A search for exact text or a regular expression."""

    text: str = Field(
        min_length=1,
        max_length=MAX_QUERY_BYTES,
        pattern=NO_NUL_PATTERN,
        description="The text, of one or more lines, or the pattern.",
    )
    regex: bool = Field(False, description="Whether it is a pattern in the syntax of Python's `re` and `regex`.")
    ignore_case: bool = Field(False, description="Whether to ignore case.")
    context_lines: int = Field(0, ge=0, le=MAX_CONTEXT_LINES, description="Lines around each match.")
    limit: int = Field(
        DEFAULT_MAX_MATCHES, ge=1, le=MAX_COUNTED_MATCHES, description="Maximum number of matches; all are counted."
    )


class ExplainBody(RootBody, FilteredBody):
    """A query whose ranking is explained."""

    query: QueryText
    top_k: TopK = None
    token_budget: Budget = None


class ContextBody(RootBody, RecordedBody):
    """A query for code, packed into a token budget."""

    token_budget: Budget = None
    format: Format = "markdown"
    session: SessionName | None = None
    shown: list[ShownKey] = Field(
        [], max_length=_MAX_KEYS, description="`shown` of an earlier context: that code is left out."
    )


class ReadBody(RootBody):
    """Places to read."""

    places: list[PlaceText] = Field(
        min_length=1, max_length=_MAX_VALUES, description="Each as `path`, `path:10` or `path:10-42`."
    )
    token_budget: Budget = None
    format: Format = "markdown"


class AskBody(RootBody, RecordedBody):
    """A question to answer."""

    token_budget: Budget = None


class DefinitionBody(RootBody):
    """A name to look up."""

    name: SymbolName


class IndexBody(RootBody):
    """A repository to index."""

    full: bool = Field(False, description="Whether to rebuild everything.")


class NeighboursBody(RootBody):
    """A query to the code graph about one declaration."""

    name: SymbolName
    depth: int | None = Field(
        None,
        ge=1,
        le=_MAX_DEPTH,
        description="Steps to follow; by default 1, and 3 for `impact`. Some relations have only one.",
    )
    candidates: Candidates = False
    limit: Limit = _DEFAULT_LIMIT
    mentions: bool = Field(
        True, description="Whether to look for lines that mention the name, where no edge answers or explains them."
    )


class MentionsBody(RootBody):
    """A search for the lines that mention a name."""

    name: SymbolName
    question: MentionQuery | None = Field(
        None, description="Relation that the lines may show; by default all lines outside its declarations."
    )
    limit: int = Field(
        DEFAULT_MAX_MENTIONS, ge=0, le=MAX_COUNTED_MATCHES, description="Maximum number of lines; `total` counts all."
    )


class UnusedBody(RootBody):
    """A search for declarations without a known use."""

    path: str = Field(
        "", max_length=MAX_PATH_CHARS, pattern=NO_NUL_PATTERN, description="File or folder; by default all."
    )
    limit: Limit = DEFAULT_MAX_UNUSED


class PathBody(RootBody):
    """Start and end of a path in the code graph."""

    start: SymbolName
    end: SymbolName
    candidates: Candidates = False


class CyclesBody(RootBody):
    """Level of the cycles to find."""

    level: CycleLevel = Field("files", description="Cycles of files that import, or of symbols that call one another.")
    limit: Limit = _DEFAULT_LIMIT


class HotspotsBody(RootBody):
    """Selection of hotspots."""

    kind: Kind | Literal["file", "external"] | None = Field(
        None, description="Kind of the declarations; by default any."
    )
    limit: Limit = 20


class OutlineBody(RootBody):
    """The file or declaration to outline."""

    path: SymbolName
