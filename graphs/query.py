"""The query graph: analyze, look up or retrieve, rerank, widen once, find items, expand, budget, answer."""

from typing import Final

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from coderag.nodes.steps import FIRST_NODE, NEXT_NODE, NODES
from coderag.retrieval.query_context import QueryContext
from coderag.schema.query import QueryInput, QueryOutput, QueryState

# A parent with the durability "sync" passes it on, and LangGraph 1.2.22 then waits for a checkpoint that this graph does not
# write (AttributeError: _put_checkpoint_fut). The key is private to LangGraph; `tests/unit/integrations` runs all three.
_WITHOUT_CHECKPOINTS: Final[RunnableConfig] = {"configurable": {"__pregel_durability": "async"}}


def build() -> CompiledStateGraph[QueryState, QueryContext, QueryInput, QueryOutput]:
    """Return the compiled graph."""
    builder = StateGraph(QueryState, context_schema=QueryContext, input_schema=QueryInput, output_schema=QueryOutput)
    builder.add_edge(START, FIRST_NODE)
    for name, node in NODES.items():
        builder.add_node(name, node)
    for name, target in NEXT_NODE.items():
        if isinstance(target, str):
            builder.add_edge(name, target)
        else:
            builder.add_conditional_edges(name, target)
    # A parent's checkpointer keeps the output. The steps take milliseconds: they run again rather than being stored.
    return builder.compile(name="query", checkpointer=False).with_config(_WITHOUT_CHECKPOINTS)


graph = build()
