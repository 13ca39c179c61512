"""Node ``retrieve``: the dense, lexical and symbol channels, fused."""

from coderag.nodes.trace import NodeTimer
from coderag.question.analysis import meant_terms
from coderag.retrieval.filters import NO_FILTERS, filter_candidates
from coderag.retrieval.hybrid import merge_candidates
from coderag.retrieval.hybrid import retrieve_candidates as retrieve_hybrid
from coderag.retrieval.query_context import QueryRuntime
from coderag.schema.query import QueryState, QueryUpdate


def retrieve(state: QueryState, runtime: QueryRuntime) -> QueryUpdate:
    """Retrieve candidates and append them to those of the look-up."""
    context, analysis = runtime.context, state["analysis"]
    filters = state.get("filters") or NO_FILTERS
    with NodeTimer("retrieve") as step:
        candidates = state["candidates"]
        if not state["widened"] or analysis["expanded_terms"]:  # else the search would repeat itself
            vector = context.embedder.embed_query(analysis["text"], meant_terms(analysis))
            retrieved = retrieve_hybrid(
                context.corpus,
                analysis["question"],
                analysis,
                vector,
                filters,
                context.settings,
                state.get("top_k") or context.settings.top_k,
            )
            looked_up = [candidate for candidate in candidates if "lookup" in candidate["channels"]]
            candidates = merge_candidates(filter_candidates(context.corpus, filters, looked_up), retrieved)
        step.add_detail(candidates=len(candidates), fusion=context.settings.fusion)
    return {"candidates": candidates, "trace": step.trace_entries}
