"""Loader of the LangGraph graphs by name: the only place that knows their modules."""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from coderag.retrieval.query_context import QueryContext
from coderag.schema.query import QueryInput, QueryOutput, QueryState

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    from coderag.answering.chat.state import ChatContext, ChatInput, ChatOutput, ChatState


@cache
def load_query_graph() -> "CompiledStateGraph[QueryState, QueryContext, QueryInput, QueryOutput]":
    """Load the compiled query graph. Only this function knows the name of its module."""
    graph: CompiledStateGraph[QueryState, QueryContext, QueryInput, QueryOutput]
    graph = import_module("coderag.graphs.query").graph
    return graph


@cache
def load_chat_graph() -> "CompiledStateGraph[ChatState, ChatContext, ChatInput, ChatOutput]":
    """Load the compiled chat graph, likewise."""
    graph: CompiledStateGraph[ChatState, ChatContext, ChatInput, ChatOutput]
    graph = import_module("coderag.graphs.chat").graph
    return graph
