"""Node ``lookup``: what the symbol table and the code graph know for certain."""

from coderag.codegraph.lookup import look_up
from coderag.nodes.trace import Step
from coderag.retrieval.query_context import QueryRuntime
from coderag.schema.query import QueryState, QueryUpdate


def lookup(state: QueryState, runtime: QueryRuntime) -> QueryUpdate:
    """Find declarations, users, relatives or tests of what the question names, or the place that it points to."""
    with Step("lookup") as step:
        found = look_up(runtime.context.corpus, runtime.context.graph, state["analysis"])
        step.note(found=len(found.candidates))
    return {"candidates": found.candidates, "analysis": found.analysis, "trace": step.entries}
