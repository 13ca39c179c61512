"""The chat graph: resolve what a follow-up refers to, rewrite it, ask the query graph (or show lines), remember."""

from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from coderag.answering.chat.state import ChatContext, ChatInput, ChatOutput, ChatState
from coderag.nodes.approve import approve
from coderag.nodes.ask import ask
from coderag.nodes.remember import remember
from coderag.nodes.resolve import resolve
from coderag.nodes.rewrite import rewrite
from coderag.nodes.show import show


def route_question(state: ChatState) -> Literal["show", "rewrite", "ask"]:
    """Route to the cited lines, to the rewriting of a follow-up, or to the query graph."""
    if state["places"] or state["remark"]:
        return "show"
    return "ask" if state["follow_up"] == "no" else "rewrite"


def route_approval(state: ChatState) -> Literal["approve", "remember"]:
    """Route to the approval of a long prompt by a person, if it needs one."""
    return "approve" if state["approved"] == "needed" else "remember"


def build() -> CompiledStateGraph[ChatState, ChatContext, ChatInput, ChatOutput]:
    """Return the compiled graph; its caller adds the checkpointer."""
    builder = StateGraph(ChatState, context_schema=ChatContext, input_schema=ChatInput, output_schema=ChatOutput)
    for node in (resolve, rewrite, ask, approve, show, remember):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "resolve")
    builder.add_conditional_edges("resolve", route_question)
    builder.add_edge("rewrite", "ask")
    builder.add_conditional_edges("ask", route_approval)
    builder.add_edge("approve", "ask")
    builder.add_edge("show", "remember")
    builder.add_edge("remember", END)
    return builder.compile(name="chat")


graph = build()
