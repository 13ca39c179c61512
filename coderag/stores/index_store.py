"""The index on disk: open it for reading, or become its one writer.

Inside the index's directory (normally ``<repository>/.coderag``)::

    .gitignore               *
    v1/                      the format's version
      CURRENT                the pointer, replaced atomically
      lance/chunks.lance     a generation is a version of each table
      lance/files.lance
      lexical-000007/        a generation's arrays
      writer.lock            one writer, many readers
      writer.json            who holds it

Imports numpy and the standard library; Lance, scipy and the file lock are loaded when they are first needed.
"""

from pathlib import Path

from coderag.errors import IndexNotFoundError, IndexVersionError
from coderag.stores.field_counts import FieldCounts
from coderag.stores.index_writer import IndexWriter
from coderag.stores.pointer import REBUILD_HINT, EmbeddingInfo, Pointer, read_pointer
from coderag.stores.snapshot import Snapshot
from coderag.text.tokenizer import TOKENIZER_VERSION

__all__ = ["EmbeddingInfo", "FieldCounts", "IndexStore", "IndexWriter", "Pointer", "Snapshot"]


class IndexStore:
    """The index of one repository.

    Args:
        directory: The index's directory; it is made by the first writer.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = Path(directory)

    def read_pointer(self) -> Pointer | None:
        """Return what the current generation is, without opening it; None if nothing is indexed. Takes 0.1 ms.

        Raises:
            IndexVersionError: There is an index, but only in other formats.
            StoreError: The pointer cannot be read or is damaged.
        """
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
        """Return a writer; use it in a ``with`` statement, which takes and gives back the lock.

        Args:
            timeout_s: Seconds to wait for another writer to finish.
            is_brief: Whether others need wait but a moment for this one, and so do.

        Raises:
            IndexLockedError: (on entering) Another process, or another writer in this one, is writing.
        """
        return IndexWriter(self.directory, timeout_s=timeout_s, is_brief=is_brief)
