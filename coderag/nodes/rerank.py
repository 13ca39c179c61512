"""Node ``rerank``: the ranking signals, the choice of results, and how well they answer."""

from collections.abc import Sequence

from coderag.nodes.trace import Step
from coderag.retrieval.evidence import judge
from coderag.retrieval.explaining import with_ranks
from coderag.retrieval.filters import NO_FILTERS
from coderag.retrieval.query_context import QueryRuntime
from coderag.retrieval.ranking import narrow_to_kinds, rank
from coderag.retrieval.reranking import apply_model
from coderag.schema.query import Candidate, QueryState, QueryUpdate

_CONTEXT_CANDIDATES = 40  # ten results are often too small to fill a context


def rerank(state: QueryState, runtime: QueryRuntime) -> QueryUpdate:
    """Order the candidates and keep the best."""
    context, analysis = runtime.context, state["analysis"]
    corpus, reranker = context.corpus, context.reranker
    with Step("rerank") as step:
        top_k = state.get("top_k") or context.settings.top_k
        wanted = max(top_k, reranker.candidates) if reranker else top_k
        ranking = rank(corpus, analysis["question"], analysis, state["candidates"], context.settings)
        kinds = (state.get("filters") or NO_FILTERS)["kinds"]
        results = narrow_to_kinds(corpus, ranking.best(wanted), kinds)
        vector = context.embedder.embed_query(analysis["text"], analysis["terms"])
        judgement = judge(corpus, analysis, results, vector)
        is_last = judgement["verdict"] == "found" or state["widened"]  # else they are searched once more
        if reranker and is_last:
            results, told = apply_model(reranker, corpus, state["query"], results, context.masked_paths)
            step.note(**told)
        to_read: list[Candidate] = []
        if is_last and state.get("goal", "search") != "search":
            to_read = narrow_to_kinds(corpus, ranking.best_to_read(max(wanted, _CONTEXT_CANDIDATES)), kinds)
            if reranker:
                to_read = _led_by(results, to_read)
        results = results[:top_k]
        if state.get("explain"):
            results = with_ranks(context, state, results)
        step.note(
            candidates=len(state["candidates"]),
            results=len(results),
            evidence=judgement["verdict"],
            confidence=judgement["confidence"],
            not_indexed=len(judgement["not_indexed"]),
        )
    return {
        "results": results,
        "to_read": to_read,
        "evidence": judgement["verdict"],
        "judgement": judgement,
        "trace": step.entries,
    }


def _led_by(first: Sequence[Candidate], others: Sequence[Candidate]) -> list[Candidate]:
    """Return some candidates and behind them those of the others that are not among them."""
    taken = {(one["chunk_id"], one["start_line"]) for one in first}
    return [*first, *(one for one in others if (one["chunk_id"], one["start_line"]) not in taken)]
