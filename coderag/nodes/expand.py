"""Node ``expand``: code related to the results."""

from collections.abc import Iterator
from functools import partial

from coderag.answering.plan import choose_shape
from coderag.nodes.trace import NodeTimer
from coderag.retrieval.expansion import NeighbourTuple, Seed
from coderag.retrieval.expansion import expand_seeds as expand_results
from coderag.retrieval.filters import NO_FILTERS, build_related_mask
from coderag.retrieval.query_context import QueryContext, QueryRuntime
from coderag.schema.query import Candidate, QueryState, QueryUpdate

_MAX_SEEDS = 5  # code related to later results rarely earns one of ten places


def expand(state: QueryState, runtime: QueryRuntime) -> QueryUpdate:
    """Follow the relations of the first results, and the calls of a flow that the question asks for."""
    context = runtime.context
    corpus, settings, analysis = context.corpus, context.settings, state["analysis"]
    with NodeTimer("expand") as step:
        vector = context.embedder.embed_query(analysis["text"], analysis["terms"])
        similarity = corpus.compute_cosines(vector)
        best_rows = corpus.find_best_rows(similarity)
        allowed = build_related_mask(corpus, state.get("filters") or NO_FILTERS)
        results = [Seed(corpus.rows_by_id[result["chunk_id"]], result["symbol"]) for result in state["results"]]
        result_rows = {seed.row for seed in results}

        def iter_neighbours(row: int) -> Iterator[NeighbourTuple]:
            for neighbour in context.neighbours.find(row, best_rows):
                if neighbour[0] not in result_rows and (allowed is None or allowed[neighbour[0]]):
                    yield neighbour

        def compute_relevance(row: int) -> float:
            return max(float(similarity[row]), 0.0)

        related = expand_results(
            results[:_MAX_SEEDS],
            iter_neighbours,
            compute_relevance,
            partial(corpus.get_value, "qualified_name"),
            partial(corpus.get_value, "id"),
            depth=settings.expand_depth,
            limit=settings.max_related,
        )
        calls, candidates = _find_flow(context, {**state, "related": related})
        step.add_detail(related=len(related), calls=len(calls))
    return {"related": related, "to_read": candidates, "flow": calls, "trace": step.trace_entries}


def _find_flow(context: QueryContext, state: QueryState) -> tuple[list[str], list[Candidate]]:
    """Find the calls of a flow and the candidates of the context; without a flow, no calls and the same candidates."""
    is_packed = state.get("goal") != "answer" or context.language_model is not None
    if not is_packed or choose_shape(state) != "flow":
        return [], state["to_read"]
    from coderag.answering.evidence.context_flow import find_context_flow  # noqa: PLC0415  # it loads the parser

    return find_context_flow(context, state)
