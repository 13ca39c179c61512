"""Node ``lookup``: answers of the symbol table and the code graph."""

from coderag.codegraph.lookup import NeighbourFilter, look_up
from coderag.nodes.trace import NodeTimer
from coderag.retrieval.filters import NO_FILTERS, build_chunk_mask
from coderag.retrieval.query_context import QueryRuntime
from coderag.schema.query import QueryState, QueryUpdate
from coderag.schema.records import to_relation_records


def lookup(state: QueryState, runtime: QueryRuntime) -> QueryUpdate:
    """Find declarations, usages, relatives or tests of the question's names, or the location it refers to."""
    corpus = runtime.context.corpus
    filters = state.get("filters") or NO_FILTERS
    with NodeTimer("lookup") as step:
        result = look_up(
            corpus,
            runtime.context.graph,
            state["analysis"],
            NeighbourFilter(build_chunk_mask(corpus, filters), filters["kinds"]),
            in_full=state.get("goal", "search") != "search",
        )
        step.add_detail(found=len(result.candidates))
        if result.relations:
            step.add_detail(
                relation=result.relations[0].relation,
                direction=result.relations[0].direction,
                neighbours=sum(len(query.neighbours) for query in result.relations),
            )
    return {
        "candidates": result.candidates,
        "analysis": result.analysis,
        "relations": to_relation_records(result.relations),
        "trace": step.trace_entries,
    }
