"""Node ``expand``: code that belongs to the results."""

from collections.abc import Iterator
from functools import partial

from coderag.nodes.trace import Step
from coderag.retrieval.expansion import NeighbourTuple, Seed
from coderag.retrieval.expansion import expand as expand_results
from coderag.retrieval.filters import NO_FILTERS, related_mask
from coderag.retrieval.query_context import QueryRuntime
from coderag.schema.query import QueryState, QueryUpdate

_SEEDS = 5  # what is related to the sixth result is rarely worth a place among ten


def expand(state: QueryState, runtime: QueryRuntime) -> QueryUpdate:
    """Follow the relations of the first results."""
    context = runtime.context
    corpus, settings, analysis = context.corpus, context.settings, state["analysis"]
    with Step("expand") as step:
        vector = context.embedder.embed_query(analysis["text"], analysis["terms"])
        similarity = corpus.cosines(vector)
        best_rows = corpus.best_rows(similarity)
        allowed = related_mask(corpus, state.get("filters") or NO_FILTERS)
        results = [Seed(corpus.row_of[result["chunk_id"]], result["symbol"]) for result in state["results"]]
        known = {seed.row for seed in results}

        def neighbours(row: int) -> Iterator[NeighbourTuple]:
            for near in context.neighbours.of(row, best_rows):
                if near[0] not in known and (allowed is None or allowed[near[0]]):
                    yield near

        def relevance(row: int) -> float:
            return max(float(similarity[row]), 0.0)

        related = expand_results(
            results[:_SEEDS],
            neighbours,
            relevance,
            partial(corpus.value, "qualified_name"),
            partial(corpus.value, "id"),
            depth=settings.expand_depth,
            limit=settings.max_related,
        )
        step.note(related=len(related))
    return {"related": related, "trace": step.entries}
