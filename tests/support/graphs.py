"""Run the query graph, or make the state that its nodes get."""

from typing import Any

from coderag.engine.graph_loader import load_query_graph
from coderag.question.analysis import analyze
from coderag.retrieval.query_context import QueryContext
from coderag.schema.answers import Answer
from coderag.schema.query import QueryOutput, QueryState
from coderag.schema.records import to_answer


def run(context: QueryContext, query: str, goal: str = "search", **given: Any) -> QueryOutput:
    """Return the graph's output for goals that need no language model."""
    return load_query_graph().invoke({"query": query, "goal": goal, **given}, context=context)


async def ask(context: QueryContext, query: str, **given: Any) -> Answer:
    """Return the answer to a question."""
    output = await load_query_graph().ainvoke({"query": query, "goal": "answer", **given}, context=context)
    return to_answer(output["answer"], [])


def state(query: str, **values: Any) -> QueryState:
    """Return a state as it is after `analyze`, with some values of later nodes."""
    return {
        "query": query,
        "analysis": analyze(query),
        "candidates": [],
        "results": [],
        "related": [],
        "widened": False,
        "evidence": "found",
        "trace": [],
        **values,
    }


def steps(output: QueryOutput) -> list[str]:
    """Return the nodes that ran, in order."""
    return [entry["node"] for entry in output["trace"]]
