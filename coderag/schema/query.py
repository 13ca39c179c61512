"""State of the query graph as plain values that any checkpointer can keep: analysis, candidates, judgement, trace."""

import operator
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict  # LangGraph makes schemas of these; before Python 3.12 pydantic takes no other

from coderag.schema.vocabulary import ContextFormat, Evidence, Intent

if TYPE_CHECKING:
    pass


Goal = Literal["search", "context", "answer"]
"""How far a query goes: ranked results, a packed context, or an answer."""


class FilterValues(TypedDict):
    """`coderag.schema.search.Filters` as plain lists.

    Attributes:
        complexity: The least, or the least and the most.
        changed: The paths that may be results; absent if all may.
    """

    languages: list[str]
    kinds: list[str]
    paths: list[str]
    roles: list[str]
    complexity: NotRequired[list[int]]
    changed: NotRequired[list[str]]


class Entity(TypedDict):
    """Something that a question names.

    ``kind`` is ``identifier``, ``qualified_name``, ``path``, ``location`` (``path:line``), ``quoted`` or ``snippet``.
    """

    kind: str
    text: str


class ReportFrame(TypedDict):
    """A call of a stack trace: ``line`` is 1-based, 0 if not given; ``name`` may be empty."""

    path: str
    line: int
    name: str


class ReportQuery(TypedDict):
    """What a report of a problem is searched with.

    Attributes:
        terms: Index terms with their weights, over all parts of the report.
        name_terms: Index terms that may be part of a declared name, with their weights.
        names: Identifiers with their weights, 0 to 1.
        frames: Calls of its stack traces, the innermost of each first.
        paths: Files that it names or links to.
        messages: Lines of it in which a program says what went wrong.
    """

    terms: dict[str, float]
    name_terms: dict[str, float]
    names: dict[str, float]
    frames: list[ReportFrame]
    paths: list[str]
    messages: list[str]


class Analysis(TypedDict):
    """What a question asks for.

    Attributes:
        confidence: Of the intent, 0 to 1.
        terms: Index terms to search for; ``expanded_terms`` were added by widening.
        question: The question without the repository's own name.
        text: What is compared by meaning: the question, or the code that it points to.
        similar_to: Id of the chunk it points to, which is no result; empty if none.
        languages, roles: Of the files that the question asks for, such as "in the tests"; preferred, not filtered.
        report: A long input taken apart; None for a question.
    """

    intent: Intent
    confidence: float
    entities: list[Entity]
    terms: list[str]
    expanded_terms: list[str]
    about_tests: bool
    symbol_query: bool
    question: str
    text: str
    similar_to: str
    languages: list[str]
    roles: list[str]
    report: ReportQuery | None


class Candidate(TypedDict):
    """A chunk that may be a result.

    Attributes:
        score: Higher is better, comparable within one query.
        file_score: Fused score of its whole file, 0 to 1.
        channels: Score in each channel that found it, 0 to 1 of that channel's best.
        signals: What each ranking signal added; empty before ``rerank``.
        start_line, end_line: The lines to show: those of the chunk, or of the one member that was asked for.
        symbol: Qualified name of that member, or of the chunk.
        parts: Ids of the chunks that make up the lines, in their order, if it is more than one.
        duplicates: Other places with the same text, as ``path:start-end``.
        ranks: Where it stands in each channel that found it, 1 is first; only where ``explain`` was asked for.
    """

    chunk_id: str
    score: float
    file_score: float
    channels: dict[str, float]
    signals: dict[str, float]
    start_line: int
    end_line: int
    symbol: str
    parts: NotRequired[list[str]]
    duplicates: NotRequired[list[str]]
    ranks: NotRequired[dict[str, int]]


class RelatedChunk(TypedDict):
    """A chunk reached from a candidate: "it is the `relation` of `related_to`"."""

    chunk_id: str
    relation: str
    related_to: str
    depth: int
    score: float
    line: int


class Judgement(TypedDict):
    """How well the results answer the question, and what that was told from.

    Attributes:
        confidence: Probability that the repository answers the question, were half of all questions answerable.
        features: By name, see `coderag.retrieval.verdict.judgement.compute_features`.
        not_indexed: Files that the question may be about and that are not in the index, as ``path: reason``.
    """

    verdict: Evidence
    confidence: float
    features: dict[str, float]
    not_indexed: list[str]


class TraceEntry(TypedDict):
    """What one node did: when it began (nanoseconds since 1970), milliseconds, and numbers or words worth knowing."""

    node: str
    start_ns: int
    ms: float
    detail: dict[str, Any]


class QueryInput(TypedDict):
    """What a caller gives; only ``query`` is required.

    Attributes:
        shown: Keys of what earlier contexts showed, as `coderag.schema.context.AssembledContext.shown` has them.
        format: Of the context's text.
        history: What was said before in a conversation, for the language model that writes the answer.
    """

    query: str
    goal: NotRequired[Goal]
    top_k: NotRequired[int]
    token_budget: NotRequired[int]
    filters: NotRequired[FilterValues]
    explain: NotRequired[bool]
    shown: NotRequired[list[str]]
    format: NotRequired[ContextFormat]
    history: NotRequired[str]


class QueryOutput(TypedDict):
    """What a query returns. ``context`` and ``answer`` are the dataclasses as plain dicts."""

    analysis: Analysis
    results: list[Candidate]
    related: list[RelatedChunk]
    evidence: Evidence
    judgement: Judgement
    context: dict[str, Any]
    answer: dict[str, Any]
    trace: Annotated[list[TraceEntry], operator.add]


class QueryState(QueryInput, QueryOutput):
    """Everything the nodes share.

    Attributes:
        to_read: What a context is packed from, best first: more of one file than the results have.
    """

    candidates: list[Candidate]
    to_read: list[Candidate]
    widened: bool


class QueryUpdate(TypedDict, total=False):
    """What a node returns: the keys it changed."""

    analysis: Analysis
    results: list[Candidate]
    related: list[RelatedChunk]
    evidence: Evidence
    judgement: Judgement
    context: dict[str, Any]
    answer: dict[str, Any]
    trace: list[TraceEntry]
    candidates: list[Candidate]
    to_read: list[Candidate]
    widened: bool
