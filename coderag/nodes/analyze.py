"""Node ``analyze``: what does the question ask for?"""

from langgraph.runtime import Runtime

from coderag.observability import Step
from coderag.retrieval.analysis import analyze as analyze_query
from coderag.state import QueryContext, QueryState, QueryUpdate


def analyze(state: QueryState, runtime: Runtime[QueryContext]) -> QueryUpdate:
    """Find the question's intent, entities and terms."""
    with Step("analyze") as step:
        analysis = analyze_query(state["query"], runtime.context.project)
        step.note(intent=analysis["intent"], confidence=analysis["confidence"], entities=len(analysis["entities"]))
    return {"analysis": analysis, "candidates": [], "widened": False, "related": [], "trace": step.entries}
