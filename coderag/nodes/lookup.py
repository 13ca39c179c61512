"""Node ``lookup``: what the symbol table and the code graph know for certain."""

from coderag.codegraph.lookup import look_up
from coderag.nodes.trace import NodeTimer
from coderag.retrieval.query_context import QueryRuntime
from coderag.schema.query import QueryState, QueryUpdate


def lookup(state: QueryState, runtime: QueryRuntime) -> QueryUpdate:
    """Find declarations, users, relatives or tests of what the question names, or the place that it points to."""
    with NodeTimer("lookup") as step:
        result = look_up(runtime.context.corpus, runtime.context.graph, state["analysis"])
        step.add_detail(found=len(result.candidates))
    return {"candidates": result.candidates, "analysis": result.analysis, "trace": step.trace_entries}
