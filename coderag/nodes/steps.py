"""Steps of a query and their order, drawn by `graphs/query.py` and walked without LangGraph."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, cast

from coderag.nodes.analyze import analyze
from coderag.nodes.answer import answer
from coderag.nodes.budget import budget
from coderag.nodes.expand import expand
from coderag.nodes.find_items import find_items
from coderag.nodes.lineage import lineage
from coderag.nodes.lookup import lookup
from coderag.nodes.rerank import rerank
from coderag.nodes.retrieve import retrieve
from coderag.nodes.widen import widen
from coderag.retrieval.items.item_finder import ITEM_SCOPES
from coderag.retrieval.query_context import QueryContext
from coderag.schema.query import QueryInput, QueryOutput, QueryState

LOOKUP_INTENTS: Final = frozenset({"find_definition", "find_usage", "hierarchy", "find_tests", "find_similar"})
"""Intents that the symbol table or the code graph may answer; hybrid retrieval adds more results."""

FIRST_NODE: Final = "analyze"
END_NODE: Final = "__end__"  # LangGraph's name


def route_intent(state: QueryState) -> Literal["lookup", "retrieve"]:
    """Route intents that allow it to the look-up first."""
    return "lookup" if state["analysis"]["intent"] in LOOKUP_INTENTS else "retrieve"


def route_evidence(state: QueryState) -> Literal["widen", "find_items", "lineage", "expand", "__end__"]:
    """Route a weak verdict to one wider search; a search then ends, other goals go on, some of them over items or commits."""
    if state["evidence"] != "found" and not state["widened"]:
        return "widen"
    if state.get("goal", "search") == "search":
        return "__end__"
    if state["analysis"]["intent"] in ITEM_SCOPES:
        return "find_items"
    return "lineage" if _asks_history(state) else "expand"


def _asks_history(state: QueryState) -> bool:
    """Return whether commits answer, or say why code is as it is; the latter is read for answers only, not for a context."""
    analysis = state["analysis"]
    is_answer = state.get("goal") == "answer"
    return analysis["intent"] == "history" or (is_answer and "history" in analysis["reading"])


def route_goal(state: QueryState) -> Literal["answer", "__end__"]:
    """Route answers beyond the packed context."""
    return "answer" if state.get("goal") == "answer" else "__end__"


NODES: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {
        node.__name__: node
        for node in (analyze, lookup, retrieve, rerank, widen, find_items, lineage, expand, budget, answer)
    }
)
NEXT_NODE: Final[Mapping[str, str | Callable[[QueryState], str]]] = MappingProxyType(
    {
        "analyze": route_intent,
        "lookup": "retrieve",
        "retrieve": "rerank",
        "rerank": route_evidence,
        "widen": "retrieve",
        "find_items": "expand",
        "lineage": "expand",
        "expand": "budget",
        "budget": route_goal,
        "answer": END_NODE,
    }
)
"""Successor of each node, or a function that routes by the state."""


@dataclass(frozen=True, slots=True)
class _StepRuntime:
    context: QueryContext


def walk(query_input: QueryInput, context: QueryContext) -> QueryOutput:
    """Run the steps of a search or a context one by one in this thread, and return the output.

    LangGraph would take 2 ms for it, and 0.4 s to load. Answers run in their graph: they stream, and wait for a
    model.
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
