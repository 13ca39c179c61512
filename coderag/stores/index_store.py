"""Entry point to the index on disk, for readers and for its one writer.

Layout of the index directory (normally ``<repository>/.coderag``)::

    .gitignore               *
    v1/                      the format's version
      CURRENT                the pointer, replaced atomically
      lance/chunks.lance     a generation is a version of each table
      lance/files.lance
      lexical-000007/        a generation's arrays
      writer.lock            one writer, many readers
      writer.json            who holds it

Imports only numpy and the standard library; Lance, scipy and filelock load on first use.
"""

from collections.abc import Callable
from pathlib import Path

from coderag.errors import IndexNotFoundError, IndexVersionError
from coderag.stores.field_counts import FieldCounts
from coderag.stores.index_writer import IndexWriter
from coderag.stores.pointer import REBUILD_HINT, EmbeddingInfo, Pointer, read_pointer
from coderag.stores.snapshot import Snapshot
from coderag.text.tokenizer import TOKENIZER_VERSION

__all__ = ["EmbeddingInfo", "FieldCounts", "IndexStore", "IndexWriter", "Pointer", "Snapshot"]


class IndexStore:
    """Index of one repository.

    Args:
        directory: Directory of the index, created by the first writer.
        refresh: Called before the pointer is read; it may replace the index by a newer one from elsewhere.
    """

    def __init__(self, directory: Path, *, refresh: Callable[[], None] | None = None) -> None:
        self.directory = Path(directory)
        self._refresh = refresh

    def read_pointer(self) -> Pointer | None:
        """Return the pointer of the current generation, or None if nothing is indexed. Takes 0.1 ms.

        Raises:
            IndexVersionError: An index exists, but only in other formats.
            StoreError: The pointer cannot be read or is damaged.
        """
        if self._refresh is not None:
            self._refresh()
        return read_pointer(self.directory)

    def open(self) -> Snapshot:
        """Open the current generation.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
            IndexVersionError: The index has another format, or terms of another tokenizer.
            StoreError: The pointer cannot be read or is damaged.
        """
        pointer = self.read_pointer()
        if pointer is None:
            message = f"There is no index in {self.directory}"
            raise IndexNotFoundError(message, hint="Run `coderag index` first.")
        if pointer.tokenizer != TOKENIZER_VERSION:
            message = (
                f"The index in {self.directory} has terms of tokenizer {pointer.tokenizer}, not {TOKENIZER_VERSION}"
            )
            raise IndexVersionError(message, hint=REBUILD_HINT)
        return Snapshot(self.directory, pointer)

    def open_writer(self, *, timeout_s: float = 0, is_brief: bool = False) -> IndexWriter:
        """Open a writer; use it in a ``with`` statement, which acquires and releases the lock.

        Args:
            timeout_s: Seconds to wait for another writer.
            is_brief: Whether the writer finishes soon; others then wait for it.

        Raises:
            IndexLockedError: (on entering) Another process, or another writer in this one, is writing.
        """
        return IndexWriter(self.directory, timeout_s=timeout_s, is_brief=is_brief)
