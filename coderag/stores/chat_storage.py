"""Storage of conversations: LangGraph checkpoints in SQLite, in PostgreSQL or in memory.

A conversation is a thread of checkpoints. Only the newest is kept: it holds the whole conversation.
"""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from coderag.config.sections import ChatSettings
from coderag.errors import InvalidQueryError

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
    from langgraph.checkpoint.memory import InMemorySaver

    Saver = BaseCheckpointSaver[str]
from coderag.stores.chat_serialization import build_busy_error, build_serializer

_THREAD_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9_])?")


class ChatStorage(Protocol):
    """A storage backend for conversations. A saver belongs to the event loop that opened it."""

    def open(self) -> "AbstractAsyncContextManager[Saver | None]":
        """Open a saver for reading; None if nothing was ever stored."""
        ...

    def hold(self, key: str) -> "AbstractAsyncContextManager[Saver]":
        """Open a saver to continue a thread, with exclusive access to it.

        Raises:
            StoreError: The thread is in use elsewhere.
        """
        ...

    async def prune(self, saver: "Saver", key: str) -> None:
        """Delete all checkpoints of a thread but the newest; no step of it may be running."""
        ...

    async def delete(self, saver: "Saver", key: str) -> None:
        """Delete a thread that is held."""
        ...


class ChatMemory:
    """Conversations of one repository. Threads and processes may share them, each in its own event loop.

    Args:
        settings: The section ``chat``.
        directory: Directory of the index.
        project: Name of the repository; it separates conversations of several repositories on one server.
        namespace: Reader to whom the conversations belong; others cannot name them. Empty for the owner of the index.
    """

    def __init__(self, settings: ChatSettings, directory: Path, project: str, namespace: str = "") -> None:
        self._settings = settings
        self._directory = directory
        self._project = project
        self._prefix = f"{project}/" if settings.memory == "postgres" else ""
        if namespace:  # ids of threads have no slash, so that nobody can name those of others
            self._prefix += f"reader-{namespace}/"

    def with_namespace(self, namespace: str) -> "ChatMemory":
        """Return the conversations of a reader in the same storage."""
        variant = ChatMemory(self._settings, self._directory, self._project, namespace)
        variant._storage = self._storage
        return variant

    @asynccontextmanager
    async def open_conversation(self, thread: str) -> "AsyncIterator[tuple[Saver, RunnableConfig]]":
        """Open a conversation: the saver, and the config that names the thread.

        Raises:
            ConfigurationError: The storage is not configured.
            StoreError: The storage fails, or the conversation is in use elsewhere.
        """
        key = self._prefix + thread
        async with self._storage.hold(key) as saver:
            yield saver, {"configurable": {"thread_id": key}}

    async def prune(self, saver: "Saver", thread: str) -> None:
        """Delete all checkpoints of a conversation but the newest; no answer may be in progress."""
        await self._storage.prune(saver, self._prefix + thread)

    async def read_state(self, thread: str) -> Mapping[str, Any]:
        """Return the state of a conversation, empty if there is none. Raises as `open_conversation`."""
        async with self._storage.open() as saver:
            checkpoint = (
                await saver.aget_tuple({"configurable": {"thread_id": self._prefix + thread}}) if saver else None
            )
            return _extract_state(checkpoint) if checkpoint else {}

    async def list_threads(self) -> dict[str, Mapping[str, Any]]:
        """Return the states of all conversations. Raises as `open_conversation`."""
        newest: dict[str, CheckpointTuple] = {}
        async with self._storage.open() as saver:
            if saver is None:
                return {}
            async for checkpoint in saver.alist(None):
                configurable = checkpoint.config["configurable"]
                key = configurable["thread_id"]
                if configurable["checkpoint_ns"] or not key.startswith(self._prefix):
                    continue
                if key not in newest or newest[key].checkpoint["id"] < checkpoint.checkpoint["id"]:
                    newest[key] = checkpoint
        states = {key.removeprefix(self._prefix): _extract_state(checkpoint) for key, checkpoint in newest.items()}
        return {thread: state for thread, state in states.items() if "/" not in thread}  # the rest are other readers'

    async def delete(self, thread: str) -> bool:
        """Delete a conversation; return whether it existed. Raises as `open_conversation`."""
        if not await self.read_state(thread):
            return False
        async with self._storage.hold(self._prefix + thread) as saver:
            await self._storage.delete(saver, self._prefix + thread)
        return True

    @cached_property
    def _storage(self) -> ChatStorage:
        match self._settings.memory:
            case "sqlite":
                from coderag.stores.chat_sqlite import SqliteChatStorage  # noqa: PLC0415  # loads LangGraph

                return SqliteChatStorage(self._directory)
            case "postgres":
                from coderag.stores.chat_postgres import PostgresChatStorage  # noqa: PLC0415  # an extra

                return PostgresChatStorage(self._settings.url)
            case "none":
                return InProcessChatStorage()


class InProcessChatStorage:
    """Conversations that last as long as the process."""

    def __init__(self) -> None:
        from langgraph.checkpoint.memory import InMemorySaver  # noqa: PLC0415  # loads LangGraph

        self._saver = InMemorySaver(serde=build_serializer())
        self._held_keys: set[str] = set()

    @asynccontextmanager
    async def open(self) -> "AsyncIterator[InMemorySaver]":
        """Return the saver."""
        yield self._saver

    @asynccontextmanager
    async def hold(self, key: str) -> "AsyncIterator[InMemorySaver]":
        """Return the saver; one holder per thread."""
        if key in self._held_keys:
            raise build_busy_error(key)
        self._held_keys.add(key)
        try:
            yield self._saver
        finally:
            self._held_keys.discard(key)

    async def prune(self, saver: "Saver", key: str) -> None:
        """Drop all checkpoints but the newest."""
        config: RunnableConfig = {"configurable": {"thread_id": key, "checkpoint_ns": ""}}
        checkpoint = await saver.aget_tuple(config)
        if checkpoint is not None:
            await saver.adelete_thread(key)
            await saver.aput(
                config, checkpoint.checkpoint, checkpoint.metadata, checkpoint.checkpoint["channel_versions"]
            )

    async def delete(self, saver: "Saver", key: str) -> None:
        """Delete a thread."""
        await saver.adelete_thread(key)


def validate_thread(thread: str) -> str:
    """Return the normalized id of a conversation.

    Raises:
        InvalidQueryError: The id is invalid.
    """
    if not _THREAD_NAME.fullmatch(thread):
        hint = "Use letters, digits, '-', '_' and '.', at most 64 characters."
        raise InvalidQueryError(f"{thread[:80]!r} is not a valid conversation name", hint=hint)
    return thread.lower()


def _extract_state(checkpoint: "CheckpointTuple") -> Mapping[str, Any]:
    """Return the values of a checkpoint; the first one keeps its input in a separate channel."""
    values = checkpoint.checkpoint["channel_values"]
    return {**values, **values.get("__start__", {})}
