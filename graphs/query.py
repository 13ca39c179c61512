"""The query graph: analyze, look up or retrieve, rerank, widen once, expand, budget, answer."""

from typing import Final, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from coderag.nodes.analyze import analyze
from coderag.nodes.answer import answer
from coderag.nodes.budget import budget
from coderag.nodes.expand import expand
from coderag.nodes.lookup import lookup
from coderag.nodes.rerank import rerank
from coderag.nodes.retrieve import retrieve
from coderag.nodes.widen import widen
from coderag.state import QueryContext, QueryInput, QueryOutput, QueryState

LOOKUP_INTENTS = frozenset({"find_definition", "find_usage", "hierarchy", "find_tests", "find_similar"})
"""Intents that the symbol table or the code graph may answer; hybrid retrieval adds the rest."""

# A parent with the durability "sync" hands that down, and LangGraph 1.2.22 then waits for a checkpoint that this graph does
# not make (AttributeError: _put_checkpoint_fut). The name is private to LangGraph; `tests/unit/subagent` runs all three.
_WITHOUT_CHECKPOINTS: Final[RunnableConfig] = {"configurable": {"__pregel_durability": "async"}}


def route_intent(state: QueryState) -> Literal["lookup", "retrieve"]:
    """Ask what is known for certain first, where the intent allows it."""
    return "lookup" if state["analysis"]["intent"] in LOOKUP_INTENTS else "retrieve"


def route_evidence(state: QueryState) -> Literal["widen", "expand", "__end__"]:
    """Widen weak evidence once; a search ends with its results, other goals go on."""
    if state["evidence"] != "found" and not state["widened"]:
        return "widen"
    return "__end__" if state.get("goal", "search") == "search" else "expand"


def route_goal(state: QueryState) -> Literal["answer", "__end__"]:
    """Only an answer goes beyond the packed context."""
    return "answer" if state.get("goal") == "answer" else "__end__"


def build() -> CompiledStateGraph[QueryState, QueryContext, QueryInput, QueryOutput]:
    """Return the compiled graph."""
    builder = StateGraph(QueryState, context_schema=QueryContext, input_schema=QueryInput, output_schema=QueryOutput)
    for node in (analyze, lookup, retrieve, rerank, widen, expand, budget, answer):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "analyze")
    builder.add_conditional_edges("analyze", route_intent)
    builder.add_edge("lookup", "retrieve")
    builder.add_edge("retrieve", "rerank")
    builder.add_conditional_edges("rerank", route_evidence, {"widen": "widen", "expand": "expand", "__end__": END})
    builder.add_edge("widen", "retrieve")
    builder.add_edge("expand", "budget")
    builder.add_conditional_edges("budget", route_goal, {"answer": "answer", "__end__": END})
    builder.add_edge("answer", END)
    # A parent's checkpointer keeps what comes out; the steps take milliseconds, and are run again rather than stored.
    return builder.compile(name="query", checkpointer=False).with_config(_WITHOUT_CHECKPOINTS)


graph = build()
