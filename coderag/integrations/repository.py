"""Repository shared by nodes, tools and retrievers, optionally indexed on the first call."""

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
    """Repository for a host program. Safe for threads and event loops.

    Args:
        repository: The repository, or the path of its folder.
        index: Whether the first call updates the index.

    Raises:
        IngestionError: The folder cannot be indexed, as of `CodeRAG`.
        ConfigurationError: Its settings cannot be used.
    """

    def __init__(self, repository: RepositoryLike, *, index: bool = False) -> None:
        self._rag = repository if isinstance(repository, CodeRAG) else CodeRAG(repository)
        self._needs_index = index
        self._lock = threading.Lock()

    def prepare(self) -> CodeRAG:
        """Return the repository, indexed on the first call if configured. Raises as `CodeRAG.index`."""
        if self._needs_index:
            with self._lock:
                if self._needs_index:
                    self._rag.index()
                    self._needs_index = False
        return self._rag

    async def prepare_async(self) -> CodeRAG:
        """As `prepare`, without blocking the event loop."""
        return await asyncio.to_thread(self.prepare) if self._needs_index else self._rag

    def redact(self, text: str) -> str:
        """Redact the secrets of a text for the host's model, which may be remote, if the settings say so."""
        if not self._rag.settings.privacy.redact_secrets:
            return text
        from coderag.models.redaction.redactor import get_redactor  # noqa: PLC0415  # importing its patterns is slow

        return get_redactor().redact(text).text


@contextmanager
def append_hints(unindexed_hint: str = "Or give `index=True`: then the first call does it.") -> Iterator[None]:
    """Append the hint of an error to its text, as host programs show only the text.

    Args:
        unindexed_hint: Additional advice if nothing is indexed yet.
    """
    try:
        yield
    except CodeRAGError as error:
        if isinstance(error, IndexNotFoundError):
            error.hint = f"{error.hint} {unindexed_hint}".strip()
        if error.hint:
            error.args = (f"{error}. {error.hint}",)
        raise
