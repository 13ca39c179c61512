"""Node ``lookup``: answers of the symbol table and the code graph."""

from coderag.codegraph.lookup import look_up
from coderag.nodes.trace import NodeTimer
from coderag.retrieval.query_context import QueryRuntime
from coderag.schema.query import QueryState, QueryUpdate


def lookup(state: QueryState, runtime: QueryRuntime) -> QueryUpdate:
    """Find declarations, usages, relatives or tests of the question's names, or the location it refers to."""
    with NodeTimer("lookup") as step:
        result = look_up(runtime.context.corpus, runtime.context.graph, state["analysis"])
        step.add_detail(found=len(result.candidates))
    return {"candidates": result.candidates, "analysis": result.analysis, "trace": step.trace_entries}
