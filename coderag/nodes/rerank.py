"""Node ``rerank``: the ranking signals, the choice of results, and how well they answer."""

from langgraph.runtime import Runtime

from coderag.observability import Step
from coderag.retrieval.evidence import judge
from coderag.retrieval.explaining import with_ranks
from coderag.retrieval.filters import NO_FILTERS
from coderag.retrieval.ranking import narrow_to_kinds, rank
from coderag.retrieval.reranking import apply_model
from coderag.state import QueryContext, QueryState, QueryUpdate

_CONTEXT_CANDIDATES = 40  # ten results are often too small to fill a context


def rerank(state: QueryState, runtime: Runtime[QueryContext]) -> QueryUpdate:
    """Order the candidates and keep the best."""
    context, analysis = runtime.context, state["analysis"]
    corpus, reranker = context.corpus, context.reranker
    with Step("rerank") as step:
        top_k = state.get("top_k") or context.settings.top_k
        wanted = max(top_k, reranker.candidates) if reranker else top_k
        most = wanted if state.get("goal", "search") == "search" else max(wanted, _CONTEXT_CANDIDATES)
        results = rank(corpus, analysis["question"], analysis, state["candidates"], context.settings, most)
        if kinds := (state.get("filters") or NO_FILTERS)["kinds"]:
            results = narrow_to_kinds(corpus, results, kinds)
        results, reserve = results[:wanted], results[wanted:]
        vector = context.embedder.embed_query(analysis["text"], analysis["terms"])
        judgement = judge(corpus, analysis, results, vector)
        if reranker and (judgement["verdict"] == "found" or state["widened"]):  # else they are searched once more
            results, told = apply_model(reranker, corpus, state["query"], results, context.masked_paths)
            step.note(**told)
        results, reserve = results[:top_k], [*results[top_k:], *reserve]
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
        "reserve": reserve,
        "evidence": judgement["verdict"],
        "judgement": judgement,
        "trace": step.entries,
    }
