"""Conversations about a repository, with follow-up questions (docs/chat.md)."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from coderag.answering.chat.export import ExportFormat, export_conversation
from coderag.answering.chat.state import ChatContext, ChatInput, ChatOutput, ChatState, RunQuery
from coderag.config.settings import Settings
from coderag.engine.query_runs import to_stage
from coderag.errors import InvalidQueryError, ModelError, RetrievalError
from coderag.question.question_text import check_length
from coderag.retrieval.hits import build_hits
from coderag.retrieval.query_context import QueryContext
from coderag.schema.answers import Answer, AnswerEvent
from coderag.schema.records import to_answer
from coderag.stores.chat_storage import ChatMemory, validate_thread
from coderag.system.event_loop import run_sync

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    ChatGraph = CompiledStateGraph[ChatState, ChatContext, ChatInput, ChatOutput]

_MAX_TITLE_CHARS = 80  # characters


def make_chat_context(query: QueryContext, run_query: RunQuery, settings: Settings) -> ChatContext:
    """Make the context of the chat graph."""
    return ChatContext(
        query=query,
        run_query=run_query,
        history_tokens=settings.chat.history_tokens,
        reply_tokens=settings.llm.max_output_tokens,
        confirm_tokens=settings.chat.confirm_tokens,
        price_per_million_tokens=settings.llm.price_per_million_input_tokens,
    )


@dataclass(frozen=True, slots=True)
class Approval:
    """A prompt that needs approval before it is sent; ``astream("", approve=...)`` continues.

    Attributes:
        prompt_tokens: Size of the prompt.
        limit: ``chat.confirm_tokens``.
        cost: Cost of the prompt in the currency of ``llm.price_per_million_input_tokens``; None without a price.
        reason: Purpose of the prompt, a sentence.
    """

    prompt_tokens: int
    limit: int
    cost: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One turn of a conversation.

    Attributes:
        text: Text as typed by the user, or the answer in Markdown.
        question: For the user: the standalone question that was searched; empty if lines were shown.
        cited: For an answer: its citations as ``path:10-42`` or ``path:10``; number 1 is the first.
        created: Time of the question, ISO 8601.
    """

    role: Literal["user", "assistant"]
    text: str
    question: str = ""
    cited: Sequence[str] = ()
    created: str = ""


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """A stored conversation.

    Attributes:
        title: Beginning of its first question.
        turns: Number of answered questions.
        updated: Time of its last question, ISO 8601.
    """

    id: str
    title: str
    turns: int
    updated: str


class Chat:
    """A conversation. It can be continued, also in another process.

    Args:
        thread: Its id; None starts a new conversation.
        memory: Storage of conversations.
        context: Returns the context of the graph; may open the index.
        graph: Returns the compiled chat graph.

    Raises:
        InvalidQueryError: The id is invalid.

    Example:
        >>> chat = rag.chat()
        >>> chat.ask("where are passwords hashed?").text
        >>> chat.ask("who calls that?").text
    """

    def __init__(
        self,
        thread: str | None,
        memory: ChatMemory,
        context: Callable[[], ChatContext],
        graph: Callable[[], "ChatGraph"],
    ) -> None:
        self.thread = secrets.token_hex(4) if thread is None else validate_thread(thread)
        self._memory = memory
        self._context = context
        self._graph = graph
        self._running: AsyncGenerator[AnswerEvent | Approval] | None = None
        self._closing = asyncio.Lock()

    async def astream(self, text: str, *, approve: bool | None = None) -> AsyncIterator[AnswerEvent | Approval]:
        """Yield the steps of an answer, the whole answer last; or only an `Approval` if one is needed.

        Args:
            text: Text typed by the user.
            approve: Continues after an `Approval`, with empty `text`: True sends the prompt, False answers from the
                evidence without the language model.

        Raises:
            InvalidQueryError: There is no question, or no prompt waits for an approval.
            IndexNotFoundError: Nothing is indexed yet.
            ModelError: The language model failed; the conversation is unchanged.
            StoreError: The conversation cannot be read or stored, or is in use elsewhere.
        """
        events = self._running = self._stream_events(text, approve)
        try:
            async for event in events:
                yield event
        finally:
            await self._close(events)

    async def aask(self, text: str) -> Answer:
        """Return the answer. Raises as `astream`, and `ModelError` if the prompt needs approval."""
        answer = None
        async for event in self.astream(text):
            if isinstance(event, Approval):
                hint = 'Raise chat.confirm_tokens, or use `astream` and continue with `astream("", approve=True)`.'
                raise ModelError(f"the language model was not asked: {event.reason}", hint=hint)
            answer = event.answer
        if answer is None:
            raise RetrievalError("the chat graph ended without an answer")
        return answer

    def ask(self, text: str) -> Answer:
        """Return the answer, also inside a running event loop. Raises as `aask`."""
        return run_sync(self.aask(text))

    async def read_turns(self) -> list[ChatTurn]:
        """Read the turns so far, alternating questions and answers. Raises `StoreError`."""
        return _to_turns(await self._memory.read_state(self.thread))

    async def find_unanswered(self) -> str:
        """Return the last question if it has no answer, such as after a failure; otherwise an empty text."""
        return _find_unanswered(await self._memory.read_state(self.thread))

    async def aclose(self) -> None:
        """Cancel the answer that is being written, if there is one."""
        if self._running is not None:
            await self._close(self._running)

    async def _close(self, events: AsyncGenerator[AnswerEvent | Approval]) -> None:
        """Close a stream; who left it without closing it and `aclose` may do so at the same time."""
        async with self._closing:
            await events.aclose()

    async def _stream_events(self, text: str, approve: bool | None) -> AsyncGenerator[AnswerEvent | Approval]:
        from langgraph.types import Command  # noqa: PLC0415  # 0.1 s

        if approve is None:
            check_length(text)
        chat_input = ChatInput(text=text.strip(), asked=datetime.now(UTC).isoformat(timespec="milliseconds"))
        context = await asyncio.to_thread(self._context)
        async with self._memory.open_conversation(self.thread) as (saver, config):
            graph = self._graph().copy({"checkpointer": saver})
            if approve is not None and not (await graph.aget_state(config)).interrupts:
                raise InvalidQueryError("no prompt waits for an approval", hint="Ask the question again.")
            final: dict[str, Any] = {}
            stream = graph.astream(
                chat_input if approve is None else Command(resume=approve),
                config,
                context=context,
                stream_mode=["custom", "updates", "values"],
                subgraphs=True,
            )
            chunks = cast("AsyncGenerator[tuple[tuple[str, ...], str, dict[str, Any]]]", stream)
            async with aclosing(chunks):  # its tasks end before the saver's connection closes
                async for namespace, mode, chunk in chunks:
                    if mode == "values":
                        final = final if namespace else chunk
                    else:
                        for event in _to_events(mode, chunk):
                            yield event
            if "answer" in final:
                await self._memory.prune(saver, self.thread)
        for interrupt in final.get("__interrupt__", ()):
            yield Approval(**interrupt.value)
        if "answer" in final:
            hits = build_hits(context.query.corpus, final["results"])
            yield AnswerEvent("answer", answer=to_answer(final["answer"], hits))


class ChatThreads:
    """Stored conversations of a repository.

    Args:
        memory: Storage of conversations.
    """

    def __init__(self, memory: ChatMemory) -> None:
        self._memory = memory

    def list(self) -> "list[ThreadInfo]":
        """List all conversations with a question, last used first. Raises `StoreError`."""
        states = run_sync(self._memory.list_threads())
        infos = [_to_info(thread, state) for thread, state in states.items() if state.get("text")]
        return sorted(infos, key=lambda info: (info.updated, info.id), reverse=True)

    def export(self, thread: str, format: ExportFormat = "markdown") -> str:  # noqa: A002  # as in `context`
        """Export a conversation as Markdown or JSON.

        Raises:
            InvalidQueryError: The conversation does not exist.
            StoreError: It cannot be read.
        """
        state = run_sync(self._memory.read_state(validate_thread(thread)))
        if not state:
            raise InvalidQueryError(f"no conversation {thread!r}", hint="`coderag chat --list` shows them.")
        return export_conversation(thread, state.get("exchanges", []), format)

    def delete(self, thread: str) -> bool:
        """Delete a conversation permanently; return whether it existed. Raises `StoreError`."""
        return run_sync(self._memory.delete(validate_thread(thread)))


def _to_events(mode: str, chunk: Mapping[str, Any]) -> "list[AnswerEvent]":
    """Convert a chunk of the graph's stream to events."""
    if mode == "custom":
        return [AnswerEvent(chunk["kind"], chunk["text"])]
    return [to_stage(node, update) for node, update in chunk.items() if not node.startswith("__")]


def _to_turns(state: Mapping[str, Any]) -> "list[ChatTurn]":
    turns = []
    for exchange in state.get("exchanges", ()):
        cited = tuple(cited["place"] for cited in exchange["cited"])
        turns.append(ChatTurn("user", exchange["text"], question=exchange["question"], created=exchange["asked"]))
        turns.append(ChatTurn("assistant", exchange["answer"], cited=cited, created=exchange["asked"]))
    return turns


def _find_unanswered(state: Mapping[str, Any]) -> str:
    """Return the question of a state that `remember` has not processed; empty if there is none."""
    exchanges = state.get("exchanges", ())
    if exchanges and exchanges[-1]["asked"] == state["asked"] and exchanges[-1]["text"] == state["text"]:
        return ""
    return str(state.get("text", ""))


def _to_info(thread: str, state: Mapping[str, Any]) -> ThreadInfo:
    exchanges = state.get("exchanges", ())
    first = " ".join((exchanges[0] if exchanges else state)["text"].split())
    title = first if len(first) <= _MAX_TITLE_CHARS else first[: _MAX_TITLE_CHARS - 1] + "…"
    return ThreadInfo(thread, title, len(exchanges), state["asked"])
