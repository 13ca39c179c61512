"""State of the query graph as plain values that any checkpointer can keep: analysis, candidates, judgement, trace."""

import operator
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict  # LangGraph makes schemas of these; before Python 3.12 pydantic takes no other

from coderag.schema.vocabulary import (
    AnswerForm,
    AskedAspect,
    AskedDirection,
    AskedRelation,
    ContextFormat,
    Evidence,
    HistoryAspect,
    HistoryEvent,
    HumanLanguage,
    Intent,
    QuestionKind,
)

if TYPE_CHECKING:
    pass


Goal = Literal["search", "context", "answer"]
"""Extent of a query: ranked results, a packed context, or an answer."""


class FilterValues(TypedDict):
    """`coderag.schema.search.Filters` as plain lists.

    Attributes:
        complexity: Minimum, or minimum and maximum.
        changed: Paths that may be results; absent if all may.
    """

    languages: list[str]
    kinds: list[str]
    paths: list[str]
    roles: list[str]
    complexity: NotRequired[list[int]]
    changed: NotRequired[list[str]]


class Entity(TypedDict):
    """Name or fragment that a question mentions.

    ``kind`` is ``identifier``, ``qualified_name``, ``path``, ``location`` (``path:line``), ``quoted`` or ``snippet``.
    """

    kind: str
    text: str


class ReportFrame(TypedDict):
    """Frame of a stack trace: ``line`` is 1-based, 0 if unknown; ``name`` may be empty."""

    path: str
    line: int
    name: str


class ReportQuery(TypedDict):
    """Search query derived from a problem report.

    Attributes:
        terms: Index terms with their weights, over all parts of the report.
        name_terms: Index terms that may be part of a declared name, with their weights.
        names: Identifiers with their weights, 0 to 1.
        frames: Frames of its stack traces, the innermost of each first.
        paths: Files that it names or links to.
        messages: Lines with error messages of a program.
    """

    terms: dict[str, float]
    name_terms: dict[str, float]
    names: dict[str, float]
    frames: list[ReportFrame]
    paths: list[str]
    messages: list[str]


class HistoryReading(TypedDict):
    """Reading of a question about the history of code.

    Attributes:
        topic: Words of the question in English that say what is asked about, without those that only ask.
        since, until: Its period as it puts it: revisions, versions or dates; empty where it does not say.
        tickets: Keys and numbers of tickets and pull requests that it names.
        commits: Words that may be commit ids.
    """

    aspect: HistoryAspect
    event: HistoryEvent
    topic: str
    since: str
    until: str
    tickets: list[str]
    commits: list[str]


class QuestionReading(TypedDict):
    """Reading of a question's wording, the only one, which all nodes share.

    Attributes:
        kind: Its kind; ``general`` if it is not understood with enough confidence.
        relation, direction: Relation that is asked for, seen from the subjects.
        form: Form of the answer.
        subjects: Names that it is about, as they are declared where the index has them.
        ends: The two sides of a comparison, or where a flow begins and ends, as it puts them; else empty.
        coordinated: Several subjects that are asked about alike, as in "who calls A and B"; absent or empty otherwise.
        is_of_whole: Whether it asks for an overview of the whole repository.
        aspect: Part of the subjects that it asks for, such as their signature; absent or empty for all of them.
        history: What it asks of the history of code; absent if nothing.
        topic_probabilities: Probabilities of the topics that evidence can decide; absent if syntax decides what is asked.
    """

    kind: QuestionKind
    relation: AskedRelation
    direction: AskedDirection
    form: AnswerForm
    subjects: list[str]
    ends: list[str]
    is_of_whole: bool
    aspect: NotRequired[AskedAspect]
    coordinated: NotRequired[list[str]]
    history: NotRequired[HistoryReading]
    topic_probabilities: NotRequired[dict[str, float]]


class Analysis(TypedDict):
    """Analysis of a question.

    Attributes:
        human_language: Human language of the question; terms and text are in English.
        unknown_words: Words of another language that neither the lexicon nor the index has.
        reading: What it asks, finer than its intent.
        confidence: Confidence of the intent, 0 to 1.
        terms: Index terms to search for; ``expanded_terms`` were added by widening or translation.
        literals: Names and texts that it gives as they are written, see `coderag.question.literals`.
        literal_query: Whether it consists of one of them.
        question: The question without the repository's own name.
        text: Text that is compared by meaning: the question, or the code that it refers to.
        similar_to: Id of the chunk it refers to, which is not a result; empty if none.
        about_unused: ``name`` if it asks whether something is unused, ``list`` if it asks for what is; else empty.
        languages, roles: Preferred languages and roles of files, such as "in the tests"; they do not filter.
        messages: What may be messages of a program in it; ``is_statement``: it asks nothing, such as a message alone.
        report: Parsed problem report; None for a question.
    """

    human_language: HumanLanguage
    unknown_words: list[str]
    intent: Intent
    reading: QuestionReading
    confidence: float
    entities: list[Entity]
    terms: list[str]
    expanded_terms: list[str]
    about_tests: bool
    symbol_query: bool
    literals: list[str]
    literal_query: bool
    question: str
    text: str
    similar_to: str
    about_unused: NotRequired[Literal["", "name", "list"]]
    languages: list[str]
    roles: list[str]
    messages: list[str]
    is_statement: bool
    report: ReportQuery | None


class Candidate(TypedDict):
    """Chunk that may be a result.

    Attributes:
        score: Score, higher is better, comparable within one query.
        channels: Score in each channel that found it, relative to that channel's best, 0 to 1.
        signals: Contribution of each feature of the ranker.
        start_line, end_line: Lines to show: those of the chunk, or of the requested member.
        symbol: Qualified name of that member, or of the chunk.
        parts: Ids of the chunks that make up the lines, in order, if there are several.
        duplicates: Other locations with the same text, as ``path:start-end``.
        ranks: Rank in each channel that found it, 1 is first; only with ``explain``.
    """

    chunk_id: str
    score: float
    channels: dict[str, float]
    signals: dict[str, float]
    start_line: int
    end_line: int
    symbol: str
    parts: NotRequired[list[str]]
    duplicates: NotRequired[list[str]]
    ranks: NotRequired[dict[str, int]]


class RelatedChunk(TypedDict):
    """Chunk reached from a candidate: it is the `relation` of `related_to`.

    Attributes:
        origin: Id of the chunk that it was reached from; several chunks may have the name `related_to`.
        line: Line of evidence, in the file of the chunk or of its origin; 0 without one.
    """

    chunk_id: str
    relation: str
    related_to: str
    origin: str
    depth: int
    score: float
    line: int


class FoundItem(TypedDict):
    """Mirrored page or ticket, with its best section.

    Attributes:
        path: Its mirrored file, relative to the repository or absolute outside of it.
        content_hash: SHA-256 of that file.
        heading: Headings of the section below the title.
        text: Lines ``start_line`` to ``end_line`` of the file, the section.
        snippet: Those of them that are nearest to the question, from ``snippet_line`` on.
    """

    source: str
    id: str
    kind: str
    title: str
    url: str
    revision: str
    type: str
    status: str
    path: str
    content_hash: str
    heading: str
    start_line: int
    end_line: int
    text: str
    snippet: str
    snippet_line: int
    score: float


class FoundItems(TypedDict):
    """Items for a question, best first, with the verdict on them.

    Attributes:
        notes: What was not synchronised, a sentence each.
        repository_verdict: Verdict on what the repository itself has.
    """

    hits: list[FoundItem]
    verdict: Evidence
    repository_verdict: NotRequired[Evidence]
    confidence: float
    notes: list[str]


class Judgement(TypedDict):
    """Verdict on the results, and its features.

    Attributes:
        confidence: Probability that the repository answers the question, if half of all questions were answerable.
        features: By name, see `coderag.retrieval.verdict.judgement.compute_features`.
        not_indexed: Unindexed files that the question may be about, as ``path: reason``.
    """

    verdict: Evidence
    confidence: float
    features: dict[str, float]
    not_indexed: list[str]


class TraceEntry(TypedDict):
    """Trace of one node: its start (nanoseconds since 1970), milliseconds and details."""

    node: str
    start_ns: int
    ms: float
    detail: dict[str, Any]


class QueryInput(TypedDict):
    """Input of a query; only ``query`` is required.

    Attributes:
        shown: Keys of earlier contexts, see `coderag.schema.context.AssembledContext.shown`.
        format: Format of the context's text.
        history: Earlier conversation, for the language model that writes the answer.
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
    """Output of a query. ``relations``, ``context`` and ``answer`` are dataclasses as plain dicts.

    Attributes:
        relations: Relations that the question asks for, with their neighbours in the code graph that the filters let
            through, see `coderag.schema.graph.RelationQuery`.
        notes: What a question in another language was read as, what the filters match, which files have more results.
        items: Mirrored pages or tickets; None unless the question asks for documentation or the backlog.
    """

    analysis: Analysis
    results: list[Candidate]
    related: list[RelatedChunk]
    relations: list[dict[str, Any]]
    evidence: Evidence
    judgement: Judgement
    notes: list[str]
    items: FoundItems | None
    context: dict[str, Any]
    answer: dict[str, Any]
    trace: Annotated[list[TraceEntry], operator.add]


class QueryState(QueryInput, QueryOutput):
    """State shared by the nodes.

    Attributes:
        to_read: Candidates for the context, best first, with more of one file than the results.
        flow: Calls between the ends of a flow that the question asks for, in their order, one line each.
        lineage: What the history of code has for the question, see `coderag.schema.history_evidence.HistoryEvidence`; absent
            if it is not asked for.
    """

    candidates: list[Candidate]
    to_read: list[Candidate]
    flow: list[str]
    lineage: dict[str, Any]
    widened: bool


class QueryUpdate(TypedDict, total=False):
    """Keys that a node changed."""

    analysis: Analysis
    results: list[Candidate]
    related: list[RelatedChunk]
    relations: list[dict[str, Any]]
    lineage: dict[str, Any]
    evidence: Evidence
    judgement: Judgement
    notes: list[str]
    items: FoundItems | None
    context: dict[str, Any]
    answer: dict[str, Any]
    trace: list[TraceEntry]
    candidates: list[Candidate]
    to_read: list[Candidate]
    flow: list[str]
    widened: bool
