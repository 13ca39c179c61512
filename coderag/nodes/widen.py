"""Node ``widen``: one retry with near spellings and synonyms, when the verdict is weak."""

from coderag.nodes.trace import NodeTimer
from coderag.question.widening import find_widening_terms as widen_terms
from coderag.retrieval.query_context import QueryRuntime
from coderag.schema.query import QueryState, QueryUpdate


def widen(state: QueryState, runtime: QueryRuntime) -> QueryUpdate:
    """Add terms to the question."""
    analysis = state["analysis"]
    with NodeTimer("widen") as step:
        added = widen_terms(runtime.context.corpus, analysis)
        step.add_detail(terms=added)
    return {
        "analysis": {**analysis, "expanded_terms": [*analysis["expanded_terms"], *added]},
        "widened": True,
        "trace": step.trace_entries,
    }
