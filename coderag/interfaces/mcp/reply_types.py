"""Types of the structured data of tool replies. Empty values are left out."""

from typing import NotRequired

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from coderag.schema.vocabulary import Evidence


class ReplyBase(TypedDict):
    """Keys of every reply.

    Attributes:
        repository: Name of the repository.
        indexing: Progress of the first indexing job, such as ``indexing: 40 %``; the reply is incomplete.
        notes: Additional notes and next steps.
    """

    repository: NotRequired[str]
    indexing: NotRequired[str]
    notes: NotRequired[list[str]]


class CodeLocation(TypedDict):
    """Lines of a file."""

    path: str
    start_line: int
    end_line: int
    name: NotRequired[str]
    kind: NotRequired[str]


class CodePlace(CodeLocation):
    """A location with its code or the first lines of it.

    Attributes:
        lines_cut: Number of code lines cut to keep the reply short.
    """

    repository: NotRequired[str]
    role: NotRequired[str]
    signature: NotRequired[str]
    summary: NotRequired[str]
    code: NotRequired[str]
    lines_cut: NotRequired[int]


class SearchResult(ReplyBase):
    """Reply of ``coderag_search`` and ``coderag_docs``."""

    evidence: NotRequired[Evidence]
    confidence: NotRequired[float]
    total: NotRequired[int]
    results: list[CodePlace]


class ContextPlace(CodeLocation):
    """An item of a context.

    Attributes:
        detail: ``elided``, ``signature`` or ``line`` if it is not shown in full.
        relation: Its relation to the result named by ``related_to``.
    """

    code: NotRequired[str]
    lines_cut: NotRequired[int]
    detail: NotRequired[str]
    relation: NotRequired[str]
    related_to: NotRequired[str]


class MapLine(TypedDict):
    """A relation of two declarations as text."""

    line: str


class ContextResult(ReplyBase):
    """Reply of ``coderag_context`` and ``run_search_codebase``."""

    evidence: NotRequired[Evidence]
    confidence: NotRequired[float]
    results: list[ContextPlace]
    related: NotRequired[list[ContextPlace]]
    places: NotRequired[list[ContextPlace]]
    map: NotRequired[list[MapLine]]
    omitted: NotRequired[list[str]]


class NeighbourPlace(CodeLocation):
    """A neighbour in the code graph."""

    relation: str
    evidence: NotRequired[str]
    confidence: NotRequired[float]
    depth: NotRequired[int]
    via: NotRequired[str]


class MentionPlace(CodeLocation):
    """A line that mentions a name, in its declaration ``name``.

    Attributes:
        context: ``code``, ``import``, ``string``, ``comment`` or ``text`` (a document).
    """

    context: str
    line: NotRequired[str]


class UnusedPlace(CodeLocation):
    """A declaration without a known use; ``certainty`` is ``likely`` or ``possible``."""

    certainty: str
    reasons: list[str]


class SymbolResult(ReplyBase):
    """Reply of ``coderag_symbol``; ``counts`` is the number of all neighbours by relation."""

    name: str
    definitions: NotRequired[list[CodePlace]]
    neighbours: NotRequired[list[NeighbourPlace]]
    mentions: NotRequired[list[MentionPlace]]
    unused: NotRequired[list[UnusedPlace]]
    counts: NotRequired[dict[str, int]]


class OutlineLine(CodeLocation):
    """A declaration of a file; depth 0 is top level."""

    depth: int


class ExplainResult(ReplyBase):
    """Reply of ``coderag_explain``."""

    subject: str
    kind: NotRequired[str]
    language: NotRequired[str]
    role: NotRequired[str]
    summary: NotRequired[str]
    fits: NotRequired[str]
    definitions: NotRequired[list[CodePlace]]
    outline: NotRequired[list[OutlineLine]]
    neighbours: NotRequired[list[NeighbourPlace]]
    mentions: NotRequired[list[MentionPlace]]
    counts: NotRequired[dict[str, int]]


class BacklogResult(ReplyBase):
    """Reply of ``coderag_backlog``."""

    action: str
    configured: bool
    items: list[dict[str, str]]


class JobRecord(TypedDict):
    """An indexing job."""

    id: str
    state: str
    percent: NotRequired[int]
    stage: NotRequired[str]
    error: NotRequired[str]
    hint: NotRequired[str]


class StatusResult(ReplyBase):
    """Reply of ``coderag_status``."""

    root: str
    indexed: bool
    fresh: NotRequired[bool]
    created: NotRequired[str]
    embedding: NotRequired[str]
    counts: NotRequired[dict[str, int]]
    languages: NotRequired[dict[str, int]]
    skipped: NotRequired[dict[str, int]]
    changed: NotRequired[list[str]]
    failed: NotRequired[list[str]]
    restricted: NotRequired[list[str]]
    job: NotRequired[JobRecord]
    repositories: NotRequired[list[str]]


class IndexResult(ReplyBase):
    """Reply of ``coderag_index``."""

    job: JobRecord
    counts: NotRequired[dict[str, int]]
    elapsed_s: NotRequired[float]
