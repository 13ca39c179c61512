"""Node ``retrieve``: what the channels propose, scored by the ranker."""

from coderag.nodes.trace import NodeTimer
from coderag.question.analysis import meant_terms
from coderag.retrieval.filters import NO_FILTERS, build_chunk_mask, filter_candidates
from coderag.retrieval.hybrid import merge_candidates
from coderag.retrieval.hybrid import retrieve_candidates as retrieve_hybrid
from coderag.retrieval.literals import build_literal_candidates, find_literal_matches
from coderag.retrieval.query_context import QueryRuntime
from coderag.schema.query import QueryState, QueryUpdate


def retrieve(state: QueryState, runtime: QueryRuntime) -> QueryUpdate:
    """Retrieve candidates and append them to those of the look-up."""
    context, corpus, analysis = runtime.context, runtime.context.corpus, state["analysis"]
    filters = state.get("filters") or NO_FILTERS
    with NodeTimer("retrieve") as step:
        candidates = state["candidates"]
        if not state["widened"] or analysis["expanded_terms"]:  # else the search would repeat itself
            allowed = build_chunk_mask(corpus, filters)
            matches = find_literal_matches(corpus, analysis, allowed)
            literals = build_literal_candidates(corpus, matches)
            looked_up = [candidate for candidate in candidates if "lookup" in candidate["channels"]]
            located = [*filter_candidates(corpus, allowed, looked_up), *literals]
            retrieved = []
            if analysis["terms"] or not analysis["literal_query"]:  # nothing is similar to signs alone
                retrieved = retrieve_hybrid(
                    corpus,
                    analysis["question"],
                    analysis,
                    context.embedder.embed_query(analysis["text"], meant_terms(analysis)),
                    filters,
                    context.settings,
                    state.get("top_k") or context.settings.top_k,
                    located=located,
                )
            candidates = merge_candidates(located, retrieved)
        step.add_detail(candidates=len(candidates))
    return {"candidates": candidates, "trace": step.trace_entries}
