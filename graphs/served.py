"""The query graph as LangGraph's own server and Studio run it: it opens the repository that the input names.

`coderag.graphs.query` needs an open index in its context, which a server cannot take from a request.
"""

import asyncio
from functools import lru_cache
from typing import NotRequired

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from coderag.app import CodeRAG
from coderag.state import QueryInput, QueryOutput

_OPEN_REPOSITORIES = 8


class ServedInput(QueryInput):
    """A question, and the repository to ask; by default the folder that the server runs in."""

    repository: NotRequired[str]


class ServedState(ServedInput, QueryOutput):
    """Input and output."""


@lru_cache(_OPEN_REPOSITORIES)
def open_repository(path: str) -> CodeRAG:
    """Return the repository at a path, opened once."""
    return CodeRAG(path)


async def query(state: ServedState) -> QueryOutput:
    """Run the query graph on the repository's index."""
    repository = await asyncio.to_thread(open_repository, state.get("repository") or ".")
    given: QueryInput = {"query": state["query"], "goal": state.get("goal", "answer")}
    for key in ("top_k", "token_budget", "filters"):
        if key in state:
            given[key] = state[key]
    return await repository.aquery(given)


def build() -> CompiledStateGraph[ServedState, None, ServedInput, QueryOutput]:
    """Return the compiled graph."""
    builder = StateGraph(ServedState, input_schema=ServedInput, output_schema=QueryOutput)
    builder.add_node("query", query)
    builder.add_edge(START, "query")
    builder.add_edge("query", END)
    return builder.compile(name="coderag")


graph = build()
