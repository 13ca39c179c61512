"""Argument models of the tools.

A model reads the descriptions and limits with every conversation, so they are short.
"""

import json
from typing import Annotated, Any, Literal

from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from coderag.interfaces.mcp.replies import DEFAULT_REPLY_TOKENS
from coderag.schema.change_review import ChangeTarget
from coderag.schema.search import Filters
from coderag.schema.vocabulary import Kind, Role
from coderag.text.token_counts import count_tokens

MIN_TOKENS = 200
"""Same as in the settings, whose import takes half a second that the handshake does not have."""

MAX_RANKED_RESULTS = 200
"""Maximum rank of a search result; pages end there."""

MAX_NEIGHBOURS = 100
"""Maximum neighbours per relation in one reply."""

_MIN_CONTEXT_TOKENS = 1_000
_TOKENS_PER_QUESTION_TOKEN = 40
_MAX_BATCH = 8
_MAX_TOP_K = 50
_DEFAULT_TOP_K = 20
_BATCH_TOP_K = 10  # a query, of several
_MAX_QUERY_CHARS = 10_000
_MAX_NAME_CHARS = 500
_MAX_WORDS = 20
_MAX_PATCH_CHARS = 1_000_000


def _wrap_in_list(value: Any) -> Any:  # noqa: ANN401  # models send one value, or a list as JSON, and None instead of []
    if not isinstance(value, str):
        return value or []
    if value.lstrip().startswith("["):
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            parsed = None
        if isinstance(parsed, list) and all(isinstance(entry, str) for entry in parsed):
            return parsed
    return [value] if value else []


Query = Annotated[str, Field(min_length=1, max_length=_MAX_QUERY_CHARS)]
QueryList = Annotated[list[Query], BeforeValidator(_wrap_in_list), Field(min_length=1, max_length=_MAX_BATCH)]
_Name = Annotated[str, Field(min_length=1, max_length=_MAX_NAME_CHARS)]
NameList = Annotated[list[_Name], BeforeValidator(_wrap_in_list), Field(max_length=_MAX_BATCH)]
FilePath = Annotated[str, Field(max_length=_MAX_NAME_CHARS)]
MaxTokens = Annotated[int, Field(ge=MIN_TOKENS, le=24_000, description="Limit of the reply.")]
RepositoryName = Annotated[str, Field(max_length=_MAX_NAME_CHARS, description="Name or folder; default: this project.")]

SymbolRelation = Literal[
    "definition", "callers", "callees", "implementations", "subclasses", "bases", "importers", "tests", "impact",
    "references", "unused",
]  # fmt: skip


class ToolArguments(ArgModelBase):
    """Base class of tool arguments; an unknown argument is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SearchArguments(ToolArguments):
    """Arguments of ``coderag_search``."""

    query: QueryList = Field(description="Questions, names, error texts or code; for exact and regex what to match.")
    mode: Literal["hybrid", "exact", "regex"] = Field("hybrid", description="exact, regex: every matching line.")
    language: str = Field("", max_length=40, description="Such as python.")
    file_path: FilePath = Field("", description="Folder or glob, as src or **/*.py; !tests leaves out.")
    chunk_type: Annotated[list[Kind], BeforeValidator(_wrap_in_list)] = Field([], description="Kinds of declarations.")
    role: Annotated[list[Role], BeforeValidator(_wrap_in_list)] = Field([], description="What files are for.")
    changed_since: str = Field("", max_length=200, description="Git revision: only files changed since.")
    top_k: int | None = Field(None, ge=1, le=_MAX_TOP_K, description="Results a query.")
    offset: int = Field(0, ge=0, le=MAX_RANKED_RESULTS - 1, description="Results to skip.")
    snippet_lines: int | None = Field(None, ge=0, le=80, description="Lines of code a result.")
    max_tokens: MaxTokens = DEFAULT_REPLY_TOKENS
    repository: NameList = Field([], description="Names or folders to search together; default: this project.")

    @property
    def result_count(self) -> int:
        """Maximum number of results of a query."""
        return self.top_k or (_BATCH_TOP_K if len(self.query) > 1 else _DEFAULT_TOP_K)

    @property
    def filters(self) -> Filters:
        """Filters of the search."""
        return Filters(
            languages=(self.language.lower(),) if self.language else (),
            kinds=tuple(self.chunk_type),
            paths=(self.file_path,) if self.file_path else (),
            roles=tuple(self.role),
            changed_since=self.changed_since,
        )


class ContextArguments(ToolArguments):
    """Arguments of ``coderag_context``."""

    query: Annotated[str, Field(max_length=_MAX_QUERY_CHARS)] = Field("", description="Question, task or bug report.")
    file_path: FilePath = Field("", description="Read this file or place, as src/a.py:10-42; with query: only there.")
    include_tests: bool = Field(default=False, description="Also tests of the results.")
    include_interfaces: bool = Field(default=True, description="Also base types of the results.")
    max_tokens: MaxTokens | None = Field(None, description="Limit of the reply; by default as large as the question.")
    session: str = Field(
        "",
        pattern=r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,62}[A-Za-z0-9_])?)?$",
        description="Any name: calls with the same one do not repeat code.",
    )
    repository: RepositoryName = ""

    @property
    def reply_tokens(self) -> int:
        """Maximum size of the reply: as asked for, else more for a longer question, up to the limit of any tool."""
        if self.max_tokens is not None or not self.query.strip():
            return self.max_tokens or DEFAULT_REPLY_TOKENS
        return min(DEFAULT_REPLY_TOKENS, _MIN_CONTEXT_TOKENS + _TOKENS_PER_QUESTION_TOKEN * count_tokens(self.query))

    @model_validator(mode="after")
    def _require_query_or_path(self) -> "ContextArguments":
        if not self.query.strip() and not self.file_path.strip():
            raise ValueError("give query or file_path")
        return self


class ExplainArguments(ToolArguments):
    """Arguments of ``coderag_explain``."""

    file_path: FilePath = Field("", description="As src/a.py.")
    name: Annotated[str, Field(max_length=_MAX_NAME_CHARS)] = Field("", description="As login or Session.login.")
    detail_level: Literal["brief", "detailed"] = Field("brief", description="detailed: with code.")
    max_tokens: MaxTokens = DEFAULT_REPLY_TOKENS
    repository: RepositoryName = ""

    @model_validator(mode="after")
    def _require_one_subject(self) -> "ExplainArguments":
        if bool(self.file_path.strip()) == bool(self.name.strip()):
            raise ValueError("give file_path or name, one of them")
        return self


class SymbolArguments(ToolArguments):
    """Arguments of ``coderag_symbol``."""

    name: Annotated[list[_Name], BeforeValidator(_wrap_in_list), Field(min_length=1, max_length=_MAX_BATCH)] = Field(
        description="As login, Session.login, src/auth.py::login, src/auth.py:42 or src/auth.py; several at once."
    )
    relations: Annotated[list[SymbolRelation], BeforeValidator(_wrap_in_list), Field(max_length=10)] = Field(
        ["definition", "callers", "callees", "tests"], description="impact: all that may break."
    )
    path_to: Annotated[str, Field(max_length=_MAX_NAME_CHARS)] = Field(
        "", description="Name: show the calls that lead there."
    )
    depth: int | None = Field(None, ge=1, le=5, description="Steps; default 1, for impact 3.")
    limit: int = Field(20, ge=1, le=MAX_NEIGHBOURS, description="Results a relation.")
    max_tokens: MaxTokens = DEFAULT_REPLY_TOKENS
    repository: RepositoryName = ""


class DocsArguments(ToolArguments):
    """Arguments of ``coderag_docs``."""

    query: Query = Field(description="Question or words.")
    top_k: int = Field(5, ge=1, le=20, description="Sections.")
    max_tokens: MaxTokens = DEFAULT_REPLY_TOKENS
    repository: RepositoryName = ""


_Word = Annotated[str, Field(min_length=1, max_length=_MAX_NAME_CHARS)]
_WordList = Annotated[list[_Word], BeforeValidator(_wrap_in_list), Field(max_length=_MAX_WORDS)]


class BacklogArguments(ToolArguments):
    """Arguments of ``coderag_backlog``."""

    query: Annotated[str, Field(max_length=_MAX_QUERY_CHARS)] = Field("", description="Question or words.")
    id: Annotated[str, Field(max_length=_MAX_NAME_CHARS)] = Field("", description="As PROJ-45: read this ticket.")
    types: _WordList = Field([], description="As Bug or Story.")
    states: _WordList = Field([], description="As Done.")
    tags: _WordList = Field([], description="Labels.")
    limit: int = Field(10, ge=1, le=_MAX_TOP_K, description="Tickets.")
    offset: int = Field(0, ge=0, le=1_000_000, description="Tickets of a list to skip.")
    page: int = Field(1, ge=1, le=100_000, description="Page of a long ticket.")
    max_tokens: MaxTokens = DEFAULT_REPLY_TOKENS
    repository: RepositoryName = ""


class HistoryArguments(ToolArguments):
    """Arguments of ``coderag_history``."""

    target: FilePath = Field("", description="File, folder, lines (src/a.py:10-42) or name; empty: all commits.")
    query: Annotated[str, Field(max_length=_MAX_QUERY_CHARS)] = Field(
        "", description="Instead: words of commit messages, a ticket (PROJ-45, #12) or a commit id."
    )
    show: Literal["commits", "people", "together", "blame"] = Field(
        "commits", description="Of target. together: what else its commits change; a count, no dependency."
    )
    since: str = Field("", max_length=200, description="Date or revision.")
    until: str = Field("", max_length=200, description="Date or revision.")
    limit: int = Field(10, ge=1, le=50, description="Results.")
    max_tokens: MaxTokens = DEFAULT_REPLY_TOKENS
    repository: RepositoryName = ""

    @model_validator(mode="after")
    def _check_subject(self) -> "HistoryArguments":
        if self.target and self.query:
            raise ValueError("give either target or query")
        if self.show != "commits" and not self.target:
            raise ValueError(f"show {self.show} needs a target")
        return self


class DiffArguments(ToolArguments):
    """Arguments of ``coderag_diff``."""

    change: Annotated[str, Field(max_length=_MAX_PATCH_CHARS)] = Field(
        "", description="main...HEAD, --staged or a diff; default: uncommitted changes."
    )
    max_tokens: MaxTokens = DEFAULT_REPLY_TOKENS
    repository: RepositoryName = ""

    @property
    def target(self) -> ChangeTarget:
        """The change: text of several lines is a patch."""
        change = self.change if "\n" in self.change.strip() else self.change.strip()
        if "\n" in change:
            return ChangeTarget(patch=change.encode("utf-8", "surrogateescape"))
        return ChangeTarget(staged=True) if change in ("--staged", "--cached") else ChangeTarget(change)


class StatusArguments(ToolArguments):
    """Arguments of ``coderag_status``."""

    repository: RepositoryName = ""


class IndexArguments(ToolArguments):
    """Arguments of ``coderag_index``."""

    full: bool = Field(default=False, description="Build everything anew; rarely needed.")
    wait_s: float = Field(10, ge=0, le=60, description="Seconds to wait for the end.")
    repository: RepositoryName = ""


class SingleArguments(ToolArguments):
    """Arguments of ``run_search_codebase``."""

    query: Query = Field(description="Question, task, bug report, name or code.")
    max_tokens: MaxTokens = DEFAULT_REPLY_TOKENS
    repository: RepositoryName = ""
