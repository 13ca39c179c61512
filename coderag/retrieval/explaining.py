"""Why a result is where it is: its rank in every channel."""

from collections.abc import Sequence

from coderag.question.analysis import meant_terms
from coderag.retrieval.filters import NO_FILTERS, chunk_mask
from coderag.retrieval.hybrid import run_channels
from coderag.retrieval.query_context import QueryContext
from coderag.schema.query import Candidate, QueryState


def with_ranks(context: QueryContext, state: QueryState, results: Sequence[Candidate]) -> list[Candidate]:
    """Return results with their rank in every channel that found them, among all chunks or files that may be results.

    The channels are run once more, so that nobody pays for ranks who does not ask for them.
    """
    corpus, analysis = context.corpus, state["analysis"]
    if not results:
        return []
    vector = context.embedder.embed_query(analysis["text"], meant_terms(analysis))
    allowed = chunk_mask(corpus, state.get("filters") or NO_FILTERS)
    rows = [corpus.row_of[result["chunk_id"]] for result in results]
    ranks: list[dict[str, int]] = [{} for _ in results]
    for channel in run_channels(corpus, analysis, vector, allowed, context.settings):
        for row, own in zip(rows, ranks, strict=True):
            value = channel.values[row if channel.level == "chunk" else corpus.file_of[row]]
            if value > 0:
                own[channel.name] = 1 + int((channel.values > value).sum())
    return [{**result, "ranks": own} for result, own in zip(results, ranks, strict=True)]
