"""Node ``rerank``: ranking, choice of results and verdict."""

from collections.abc import Sequence
from pathlib import Path

from coderag.nodes.trace import NodeTimer
from coderag.retrieval.filters import NO_FILTERS
from coderag.retrieval.query_context import QueryRuntime
from coderag.retrieval.ranking.channel_ranks import add_channel_ranks
from coderag.retrieval.ranking.ranker import narrow_to_kinds, rank_candidates
from coderag.retrieval.ranking.reranking import rerank_results
from coderag.retrieval.search_notes import describe_index, describe_reading, describe_scope, describe_withheld
from coderag.retrieval.verdict.judgement import judge
from coderag.schema.query import Candidate, QueryState, QueryUpdate

_MIN_CONTEXT_CANDIDATES = 40  # ten results are often too small to fill a context


def rerank(state: QueryState, runtime: QueryRuntime) -> QueryUpdate:
    """Rank the candidates, select results and judge them."""
    context, analysis = runtime.context, state["analysis"]
    corpus, reranker = context.corpus, context.reranker
    with NodeTimer("rerank") as step:
        top_k = state.get("top_k") or context.settings.top_k
        candidate_count = max(top_k, reranker.candidates) if reranker else top_k
        ranking = rank_candidates(corpus, analysis, state["candidates"], context.settings)
        kinds = (state.get("filters") or NO_FILTERS)["kinds"]
        results = narrow_to_kinds(corpus, ranking.select_results(candidate_count, top_k), kinds)
        vector = context.embedder.embed_query(analysis["text"], analysis["terms"])
        judgement = judge(Path(context.root), corpus, analysis, results, vector)
        is_last = judgement["verdict"] == "found" or state["widened"]  # else a wider search follows
        if reranker and is_last:
            results, rerank_details = rerank_results(reranker, corpus, state["query"], results, context.masked_paths)
            step.add_detail(**rerank_details)
        context_candidates: list[Candidate] = []
        if is_last and state.get("goal", "search") != "search":
            context_candidates = narrow_to_kinds(
                corpus, ranking.select_for_context(max(candidate_count, _MIN_CONTEXT_CANDIDATES)), kinds
            )
            if reranker:
                context_candidates = _prepend(results, context_candidates)
        results = results[:top_k]
        notes = [*describe_reading(analysis), *describe_index(corpus)]
        notes += describe_scope(corpus, state.get("filters") or NO_FILTERS)
        notes += describe_withheld(ranking.count_withheld(results) if len(results) <= context.settings.top_k else {})
        if state.get("explain"):
            results = add_channel_ranks(context, state, results)
        step.add_detail(
            candidates=len(state["candidates"]),
            results=len(results),
            evidence=judgement["verdict"],
            confidence=judgement["confidence"],
            not_indexed=len(judgement["not_indexed"]),
        )
    return {
        "results": results,
        "to_read": context_candidates,
        "evidence": judgement["verdict"],
        "judgement": judgement,
        "notes": notes,
        "trace": step.trace_entries,
    }


def _prepend(leading: Sequence[Candidate], candidates: Sequence[Candidate]) -> list[Candidate]:
    """Put leading candidates before the others, without duplicates."""
    leading_keys = {(candidate["chunk_id"], candidate["start_line"]) for candidate in leading}
    return [
        *leading,
        *(
            candidate
            for candidate in candidates
            if (candidate["chunk_id"], candidate["start_line"]) not in leading_keys
        ),
    ]
