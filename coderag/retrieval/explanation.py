"""Explanation of a query: ranks in the channels, contributions of signals, and outcome in the context."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from coderag.retrieval.understanding import Understanding, build_understanding
from coderag.schema.context import AssembledContext, ContextItem, Omission
from coderag.schema.query import Candidate, QueryOutput, RelatedChunk
from coderag.schema.records import to_context
from coderag.schema.vocabulary import Evidence, Intent
from coderag.stores.corpus import Corpus
from coderag.stores.snippets import Snippet, build_related_snippets, build_result_snippets


@dataclass(frozen=True, slots=True)
class ExplainedSnippet:
    """Explained result or related code.

    Attributes:
        rank: Rank among the results, or among the related code; 1 is first.
        score: Score of the order.
        channels: Score in each channel that found it, relative to that channel's best, 0 to 1.
        ranks: Rank in each of these channels, among all chunks, or all files for a file channel.
        signals: Contribution of each feature to the sum of which the score is the probability. ``reranker`` is the score
            of a model that reordered the first results.
        hop: Steps from a result; 0 for a result.
        relation: Relation to the result `related_to`; empty for a result.
        budget: Level of detail in the context: ``full``, ``elided``, ``signature``, ``line``, ``omitted`` for lack of
            tokens, or ``not taken``.
        tokens: Tokens in the context, or those it would need if omitted.
        overviews: Model-written summaries of its file and folder, by ``file`` and ``folder``.
    """

    rank: int
    path: str
    start_line: int
    end_line: int
    name: str
    kind: str
    score: float
    channels: Mapping[str, float] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)
    signals: Mapping[str, float] = field(default_factory=dict)
    hop: int = 0
    relation: str = ""
    related_to: str = ""
    budget: str = "not taken"
    tokens: int = 0
    overviews: Mapping[str, str] = field(default_factory=dict)

    @property
    def location(self) -> str:
        """Location as ``path:start-end``."""
        return f"{self.path}:{self.start_line}-{self.end_line}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explanation of a query: understanding, retrieval, ranking, verdict and packing.

    Attributes:
        intent_confidence: Confidence of the intent, 0 to 1.
        terms: Index terms of the search; ``expanded_terms`` were added because the verdict was weak.
        confidence: Probability that the repository answers the question, if half of all questions were answerable.
        features: Features of the verdict, by name.
        not_indexed: Unindexed files that the question may be about, as ``path: reason``.
        trace: Trace of the nodes, in order: ``node``, ``start_ns``, ``ms`` and ``detail``.
        understanding: How the question was understood.
    """

    query: str
    intent: Intent
    intent_confidence: float
    terms: Sequence[str]
    expanded_terms: Sequence[str]
    evidence: Evidence
    confidence: float
    features: Mapping[str, float]
    not_indexed: Sequence[str]
    results: Sequence[ExplainedSnippet]
    related: Sequence[ExplainedSnippet]
    tokens: int
    token_budget: int
    trace: Sequence[Mapping[str, Any]]
    understanding: Understanding | None = None


def explain_output(corpus: Corpus, query: str, output: QueryOutput, top_k: int) -> Explanation:
    """Explain the output of a query whose goal was a context.

    Args:
        corpus: Corpus of the query.
        query: The question.
        output: Output of the query graph.
        top_k: Number of results to explain.
    """
    analysis, judgement = output["analysis"], output["judgement"]
    context = to_context(output["context"])
    results, related = output["results"][:top_k], output["related"]
    return Explanation(
        query=query,
        intent=analysis["intent"],
        intent_confidence=analysis["confidence"],
        terms=list(dict.fromkeys(analysis["terms"])),
        expanded_terms=analysis["expanded_terms"],
        evidence=judgement["verdict"],
        confidence=judgement["confidence"],
        features=judgement["features"],
        not_indexed=judgement["not_indexed"],
        results=[
            replace(_explain_result(rank, snippet, result, context), overviews=corpus.get_overviews(snippet.path))
            for rank, (snippet, result) in enumerate(
                zip(build_result_snippets(corpus, results), results, strict=True), 1
            )
        ],
        related=[
            _explain_related(rank, snippet, related_chunk, context)
            for rank, (snippet, related_chunk) in enumerate(
                zip(build_related_snippets(corpus, related), related, strict=True), 1
            )
        ],
        tokens=context.tokens,
        token_budget=context.token_budget,
        trace=[dict(entry) for entry in output["trace"]],
        understanding=build_understanding(corpus, analysis),
    )


def _explain_result(rank: int, snippet: Snippet, result: Candidate, context: AssembledContext) -> ExplainedSnippet:
    return replace(
        _build_explained(rank, snippet, result["score"], context),
        channels={name: round(value, 4) for name, value in result["channels"].items()},
        ranks=result.get("ranks", {}),
        signals={name: round(value, 4) for name, value in result["signals"].items()},
    )


def _explain_related(
    rank: int, snippet: Snippet, related_chunk: RelatedChunk, context: AssembledContext
) -> ExplainedSnippet:
    return replace(
        _build_explained(rank, snippet, related_chunk["score"], context),
        hop=related_chunk["depth"],
        relation=related_chunk["relation"],
        related_to=related_chunk["related_to"],
    )


def _build_explained(rank: int, snippet: Snippet, score: float, context: AssembledContext) -> ExplainedSnippet:
    budget, tokens = _find_budget_outcome(snippet, context)
    return ExplainedSnippet(
        rank=rank,
        path=snippet.path,
        start_line=snippet.start_line,
        end_line=snippet.end_line,
        name=snippet.name,
        kind=snippet.kind,
        score=round(score, 4),
        budget=budget,
        tokens=tokens,
    )


def _find_budget_outcome(snippet: Snippet, context: AssembledContext) -> tuple[str, int]:
    """Find a snippet's level of detail in the context by its lines, as snippets may have been joined."""
    items = [item for section in context.sections for item in section.items]
    best_item = max(items, key=lambda item: _count_shared_lines(snippet, item), default=None)
    if best_item and _count_shared_lines(snippet, best_item):
        return best_item.detail, best_item.tokens
    if omitted := next((omission for omission in context.omitted if _count_shared_lines(snippet, omission)), None):
        return "omitted", omitted.tokens
    return "not taken", 0


def _count_shared_lines(snippet: Snippet, item: ContextItem | Omission) -> int:
    if item.path != snippet.path:
        return 0
    return max(0, min(snippet.end_line, item.end_line) - max(snippet.start_line, item.start_line) + 1)
