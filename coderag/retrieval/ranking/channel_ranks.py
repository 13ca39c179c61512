"""Ranks of results in every channel, for explanations."""

from collections.abc import Sequence

from coderag.question.analysis import meant_terms
from coderag.retrieval.filters import NO_FILTERS, build_chunk_mask
from coderag.retrieval.hybrid import run_channels
from coderag.retrieval.query_context import QueryContext
from coderag.schema.query import Candidate, QueryState


def add_channel_ranks(context: QueryContext, state: QueryState, results: Sequence[Candidate]) -> list[Candidate]:
    """Add to results their rank in each channel that found them, among all allowed chunks or files.

    The channels run a second time, so that other searches do not pay for ranks.
    """
    corpus, analysis = context.corpus, state["analysis"]
    if not results:
        return []
    vector = context.embedder.embed_query(analysis["text"], meant_terms(analysis))
    allowed = build_chunk_mask(corpus, state.get("filters") or NO_FILTERS)
    rows = [corpus.rows_by_id[result["chunk_id"]] for result in results]
    ranks: list[dict[str, int]] = [{} for _ in results]
    for channel in run_channels(corpus, analysis, vector, allowed, context.settings):
        for row, result_ranks in zip(rows, ranks, strict=True):
            value = channel.values[row if channel.level == "chunk" else corpus.chunk_files[row]]
            if value > 0:
                result_ranks[channel.name] = 1 + int((channel.values > value).sum())
    return [{**result, "ranks": result_ranks} for result, result_ranks in zip(results, ranks, strict=True)]
