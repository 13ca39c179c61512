"""The types of the query graph: input, output, state and context.

State holds plain values (strings, numbers, lists, dicts), so that any checkpointer can keep it; texts and vectors stay in
the index. Every node returns a `QueryUpdate` with the keys it changed.
"""

import operator
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Protocol, runtime_checkable

from typing_extensions import TypedDict  # LangGraph makes schemas of these; before Python 3.12 pydantic takes no other

from coderag.privacy import MaskedPaths
from coderag.prompting import PACKAGED, Prompts
from coderag.schema import Completion, ContextFormat, Evidence, Intent, ModelPrompt
from coderag.settings import SearchSettings

if TYPE_CHECKING:
    import numpy as np

Goal = Literal["search", "context", "answer"]
"""How far a query goes: ranked results, a packed context, or an answer."""


class FilterValues(TypedDict):
    """`coderag.schema.Filters` as plain lists.

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
        features: By name, see `coderag.retrieval.evidence.evidence_features`.
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
        shown: Keys of what earlier contexts showed, as `coderag.schema.AssembledContext.shown` has them.
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
    """What a query returns. ``context`` and ``answer`` are the dataclasses of `coderag.schema` as plain dicts."""

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


class QueryEmbedder(Protocol):
    """Turns a question into a vector of the index's space."""

    def embed_query(self, query: str, terms: Sequence[str]) -> "np.ndarray":
        """Return a normalised float32 vector, shape (dimension,); zeros where nothing is known of the question."""
        ...


@runtime_checkable
class LanguageModel(Protocol):
    """A language model, wherever it runs. It may be used from several event loops.

    Attributes:
        name: Such as ``ollama/qwen2.5-coder``.
        context_window: Tokens of a prompt and its reply together, at most.
    """

    name: str
    context_window: int

    def stream(self, prompt: ModelPrompt) -> AsyncIterator[str]:
        """Yield the reply in pieces as they come; at least one is not blank.

        A reply that reached the limit of its length ends with a `CutOff`, from models that can tell.

        Raises:
            ModelError: The prompt is too long, the model failed, or the reply broke off or is empty.
        """
        ...

    async def complete(self, prompt: ModelPrompt) -> Completion:
        """Return the whole reply, which is not blank. Raises as `stream`."""
        ...


@dataclass(frozen=True, slots=True)
class Rescored:
    """What a reranker made of some texts.

    Attributes:
        scores: One a text, higher is better; None leaves their order.
        note: Why the order stands.
    """

    scores: Sequence[float] | None
    note: str = ""


class Reranker(Protocol):
    """A model that scores texts against a question within a time budget of its own.

    Attributes:
        name: For the trace.
        candidates: Number of texts that it is to see, at most.
        remote: Whether the texts leave this machine's process, so that paths are masked if the settings say so.
    """

    name: str
    candidates: int
    remote: bool

    def rerank(self, query: str, texts: Sequence[str]) -> Rescored:
        """Return one score a text, or none if the budget is spent before all have one.

        Raises:
            ModelError: The model cannot be reached or loaded.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContext:
    """The collaborators and limits of one query, given to the graph by its caller.

    Attributes:
        corpus: The open index, a `coderag.stores.corpus.Corpus`.
        graph: Its relations, a `coderag.codegraph.graph.CodeGraph`.
        neighbours: Steps between its chunks, a `coderag.codegraph.neighbours.Neighbours`.
        root: Folder of the repository, to check citations against the bytes on disk.
        project: Name of the repository.
        language_model: Writes answers; None answers from the evidence alone.
        prompts: What it is asked, and what other models are.
        masked_paths: How models on servers see paths; None shows them as they are.
    """

    corpus: Any
    graph: Any
    neighbours: Any
    root: str
    embedder: QueryEmbedder
    settings: SearchSettings
    project: str = ""
    language_model: LanguageModel | None = None
    masked_paths: MaskedPaths | None = None
    reranker: Reranker | None = None
    prompts: Prompts = PACKAGED


class QueryRuntime(Protocol):
    """What a node of the query graph is given beside the state: LangGraph's ``Runtime``, or as much of it."""

    @property
    def context(self) -> QueryContext:
        """The collaborators and limits of the query."""
        ...


class StreamingRuntime(QueryRuntime, Protocol):
    """What a node is given that streams."""

    @property
    def stream_writer(self) -> Callable[[Any], None]:
        """Writes to the stream of the graph."""
        ...
