"""Documents of a folder. Links are not followed, so nothing outside it is read."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from coderag.errors import SourceError
from coderag.sources.files.document_store import (
    MAX_DOCUMENT_BYTES,
    DocumentContent,
    DocumentEntry,
    DocumentFilter,
)

_HASH_BYTES = 8


class FolderStore:
    """Documents of a folder.

    Args:
        folder: The folder.
        document_filter: Choice of its files.
    """

    def __init__(self, folder: Path, document_filter: DocumentFilter) -> None:
        self._folder = folder
        self._filter = document_filter

    def describe(self) -> str:
        """Return the folder."""
        return str(self._folder)

    def find_version(self) -> str:
        """Return nothing: only the files themselves show whether they have changed."""
        return ""

    def list_entries(self) -> list[DocumentEntry]:
        """List the candidates; their contents are read for the hashes.

        Raises:
            SourceError: The folder is missing or cannot be read.
        """
        if not self._folder.is_dir():
            raise SourceError(f"the folder {self._folder} does not exist", hint="Check `path` of the source.")

        def fail(error: OSError) -> None:
            raise error

        entries = []
        try:
            for top, folders, names in os.walk(self._folder, onerror=fail):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                parent = Path(top)
                prefix = parent.relative_to(self._folder).as_posix()
                for name in names:
                    path = name if prefix == "." else f"{prefix}/{name}"
                    if self._filter.matches(path) and (entry := _make_entry(parent / name, path)) is not None:
                        entries.append(entry)
        except OSError as error:
            raise SourceError(f"the folder {self._folder} cannot be read: {error}") from error
        return sorted(entries)

    def read_contents(self, entries: Sequence[DocumentEntry]) -> Iterator[DocumentContent | str]:
        """Yield the content of each entry, or the reason why it cannot be read."""
        for entry in entries:
            try:
                with (self._folder / entry.path).open("rb") as file:
                    modified = datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
                    yield DocumentContent(file.read(MAX_DOCUMENT_BYTES + 1), modified)
            except (OSError, OverflowError, ValueError) as error:
                yield f"it cannot be read: {getattr(error, 'strerror', None) or error}"

    def close(self) -> None:
        """Do nothing."""


def _make_entry(file: Path, path: str) -> DocumentEntry | None:
    """Make the entry of a regular file. One that cannot be read has an entry, too, so that it becomes a failure."""
    try:
        if file.is_symlink() or not file.is_file():
            return None
        size = file.stat().st_size
        digest = hashlib.blake2b(digest_size=_HASH_BYTES)
        if size <= MAX_DOCUMENT_BYTES:
            digest.update(file.read_bytes())
        digest.update(str(size).encode())
        return DocumentEntry(path, digest.hexdigest(), size)
    except FileNotFoundError:  # removed meanwhile
        return None
    except OSError:
        return DocumentEntry(path, "", 0)
