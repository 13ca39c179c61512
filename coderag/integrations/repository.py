"""The repository that nodes, tools and retrievers ask: opened once, indexed on the first call if that is wanted."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coderag.app import CodeRAG
from coderag.errors import CodeRAGError, IndexNotFoundError

RepositoryLike = CodeRAG | str | Path
"""A repository, or the path of its folder."""


class AgentRepository:
    """A repository as a parent program asks it. It may be used by several threads and event loops.

    Args:
        repository: The repository, or the path of its folder.
        index: Whether the first call brings the index up to date.

    Raises:
        IngestionError: The folder cannot be indexed, as of `CodeRAG`.
        ConfigurationError: Its settings cannot be used.
    """

    def __init__(self, repository: RepositoryLike, *, index: bool = False) -> None:
        self._rag = repository if isinstance(repository, CodeRAG) else CodeRAG(repository)
        self._needs_index = index
        self._lock = threading.Lock()

    def prepare(self) -> CodeRAG:
        """Return the repository, indexed if this call was to do it. Raises as `CodeRAG.index`."""
        if self._needs_index:
            with self._lock:
                if self._needs_index:
                    self._rag.index()
                    self._needs_index = False
        return self._rag

    async def prepare_async(self) -> CodeRAG:
        """Return what `ready` does, without blocking the event loop."""
        return await asyncio.to_thread(self.prepare) if self._needs_index else self._rag

    def redact(self, text: str) -> str:
        """Return a text as a parent's model, which may be on a server, is to see it: without secrets, if so set."""
        if not self._rag.settings.privacy.redact_secrets:
            return text
        from coderag.models.redaction import redactor  # noqa: PLC0415  # its patterns take a moment

        return redactor().redact(text).text


@contextmanager
def append_hints(unindexed_hint: str = "Or give `index=True`: then the first call does it.") -> Iterator[None]:
    """Put the hint of an error of CodeRAG into its text: a parent program shows that, and knows nothing of hints.

    Args:
        unindexed: What else can be done where nothing is indexed yet.
    """
    try:
        yield
    except CodeRAGError as error:
        if isinstance(error, IndexNotFoundError):
            error.hint = f"{error.hint} {unindexed_hint}".strip()
        if error.hint:
            error.args = (f"{error}. {error.hint}",)
        raise
