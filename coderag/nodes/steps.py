"""The steps of a query, and which comes after which: what `graphs/query.py` draws, and what is walked without LangGraph."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, cast

from coderag.nodes.analyze import analyze
from coderag.nodes.answer import answer
from coderag.nodes.budget import budget
from coderag.nodes.expand import expand
from coderag.nodes.lookup import lookup
from coderag.nodes.rerank import rerank
from coderag.nodes.retrieve import retrieve
from coderag.nodes.widen import widen
from coderag.retrieval.query_context import QueryContext
from coderag.schema.query import QueryInput, QueryOutput, QueryState

LOOKUP_INTENTS: Final = frozenset({"find_definition", "find_usage", "hierarchy", "find_tests", "find_similar"})
"""Intents that the symbol table or the code graph may answer; hybrid retrieval adds the rest."""

FIRST_NODE: Final = "analyze"
END_NODE: Final = "__end__"  # as LangGraph calls it


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


NODES: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {node.__name__: node for node in (analyze, lookup, retrieve, rerank, widen, expand, budget, answer)}
)
NEXT_NODE: Final[Mapping[str, str | Callable[[QueryState], str]]] = MappingProxyType(
    {
        "analyze": route_intent,
        "lookup": "retrieve",
        "retrieve": "rerank",
        "rerank": route_evidence,
        "widen": "retrieve",
        "expand": "budget",
        "budget": route_goal,
        "answer": END_NODE,
    }
)
"""The node after each one, or what tells it from the state."""


@dataclass(frozen=True, slots=True)
class _StepRuntime:
    context: QueryContext


def walk(query_input: QueryInput, context: QueryContext) -> QueryOutput:
    """Return the output of a search or of a context: the steps of the graph, one after the other, in this thread.

    LangGraph would take 2 ms for it and 0.4 s to load. An answer is written by its graph: it streams, and waits for a model.
    """
    state = cast("QueryState", {**query_input, "trace": []})
    runtime = _StepRuntime(context)
    node = FIRST_NODE
    while node != END_NODE:
        update = NODES[node](state, runtime)
        state = cast("QueryState", {**state, **update, "trace": [*state["trace"], *update["trace"]]})
        successor = NEXT_NODE[node]
        node = successor if isinstance(successor, str) else successor(state)
    return cast("QueryOutput", {name: value for name, value in state.items() if name in QueryOutput.__annotations__})
