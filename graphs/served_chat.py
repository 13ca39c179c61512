"""Chat graph for LangGraph's own server and Studio: a thread of the server is a conversation.

`coderag.graphs.chat` needs an open index in its context, which a server cannot take from a request. The server keeps the
conversation, so nothing is written beside the index.
"""

import asyncio
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, NotRequired

from langgraph.channels import EphemeralValue
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict  # the server's schemas take no other before Python 3.12

from coderag.answering.chat.state import ChatInput, Exchange
from coderag.app import CodeRAG
from coderag.engine.graph_loader import load_chat_graph
from coderag.errors import CodeRAGError

_MAX_OPEN_REPOSITORIES = 8


class ServedChatError(RuntimeError):
    """Error of CodeRAG with a text that the client sees: the server hides the text of unknown classes."""


class ServedChatInput(TypedDict):
    """Message of a person, and its repository; by default the folder that the server runs in."""

    text: Annotated[str, EphemeralValue]
    repository: NotRequired[Annotated[str, EphemeralValue]]


class ServedChatOutput(TypedDict):
    """The conversation, and its last answer: a `coderag.schema.answers.Answer` as a plain dict."""

    exchanges: list[Exchange]
    answer: dict[str, Any]


class ServedChatState(ServedChatInput):
    """Input of the node: the message and the conversation so far."""

    exchanges: list[Exchange]


@lru_cache(_MAX_OPEN_REPOSITORIES)
def open_repository(path: str) -> CodeRAG:
    """Return the repository at a path, opened once."""
    return CodeRAG(path)


async def chat(state: ServedChatState) -> ServedChatOutput:
    """Run a turn of the conversation; its steps, its words and its interrupts reach the client.

    Raises:
        ServedChatError: CodeRAG raised an error.
    """
    timestamp = datetime.now(UTC).isoformat(timespec="milliseconds")
    chat_input = ChatInput(text=state.get("text", ""), asked=timestamp, exchanges=state.get("exchanges", []))
    try:
        repository = await asyncio.to_thread(open_repository, state.get("repository", "."))
        context = await asyncio.to_thread(repository.build_chat_context)
        turn = await asyncio.to_thread(load_chat_graph)
        output = await turn.ainvoke(chat_input, context=context)
    except CodeRAGError as error:
        raise ServedChatError(f"{type(error).__name__}: {error} {error.hint}".strip()) from error
    return {"exchanges": output["exchanges"], "answer": output["answer"]}


def build() -> CompiledStateGraph[ServedChatOutput, None, ServedChatInput, ServedChatOutput]:
    """Return the compiled graph."""
    builder = StateGraph(ServedChatOutput, input_schema=ServedChatInput, output_schema=ServedChatOutput)
    builder.add_node("chat", chat, input_schema=ServedChatState)
    builder.add_edge(START, "chat")
    builder.add_edge("chat", END)
    return builder.compile(name="coderag chat")


graph = build()
