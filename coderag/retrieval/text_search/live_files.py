"""Indexed files in their current state on disk."""

import hashlib
import os
import stat
from dataclasses import dataclass
from functools import cached_property

from coderag.schema.chunks import FileRecord
from coderag.text.indexed_text import decode_indexed_text
from coderag.text.notebooks import NOTEBOOK_SUFFIX

_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)  # Windows: no newline translation
    | getattr(os, "O_NONBLOCK", 0)  # opening a pipe would block
    | getattr(os, "O_NOFOLLOW", 0)
)
_UTF8_ENCODINGS = frozenset({"", "utf-8", "utf-8-sig"})


@dataclass(frozen=True)
class LiveFile:
    """Current bytes of an indexed file, with its record."""

    record: FileRecord
    data: bytes

    @property
    def is_plain_utf8(self) -> bool:
        """True if a text is in the file exactly when its UTF-8 is in the bytes, apart from line ends."""
        return self.record.encoding in _UTF8_ENCODINGS and not self.record.path.endswith(NOTEBOOK_SUFFIX)

    @cached_property
    def is_changed(self) -> bool:
        """True if the bytes differ from those that were indexed."""
        return hashlib.sha256(self.data).hexdigest() != self.record.hash

    def decode_text(self) -> str:
        """Decode the text as it would be indexed; of a notebook, its cells."""
        return decode_indexed_text(self.record, self.data)


def read_live_file(root: str, record: FileRecord, max_bytes: int) -> LiveFile:
    """Read a file if it is still a regular one.

    Args:
        root: Folder of the repository.
        record: The file as indexed.
        max_bytes: Maximum size.

    Raises:
        OSError: It cannot be read, is not a regular file, or is too large.
    """
    descriptor = os.open(f"{root}/{record.path}", _OPEN_FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a regular file")
        if status.st_size > max_bytes:
            raise OSError(f"larger than {max_bytes:,} bytes")
        blocks = [os.read(descriptor, status.st_size + 1)]
        while blocks[-1] and sum(map(len, blocks)) < status.st_size:
            blocks.append(os.read(descriptor, status.st_size + 1))
    finally:
        os.close(descriptor)
    return LiveFile(record, blocks[0] if len(blocks) == 1 else b"".join(blocks))
