"""Chunks and files as an index records them."""

from dataclasses import dataclass
from typing import Final, TypedDict

from coderag.schema.vocabulary import Outcome


def get_module_name(path: str) -> str:
    """Return the name of module-level code: its path without the last extension."""
    dot = path.rfind(".")
    return path[:dot] if path.rfind("/") + 1 < dot < len(path) - 1 else path


class SymbolRecord(TypedDict):
    """A declaration inside a chunk, with its lines."""

    name: str
    qualified_name: str
    kind: str
    start_line: int
    end_line: int


class ChunkMetadata(TypedDict):
    """Metadata of a chunk (its ``TextNode.metadata``)."""

    path: str
    language: str
    kind: str
    name: str
    qualified_name: str
    signature: str
    docstring: str
    summary: str
    summary_source: str  # docstring | derived | llm
    parent: str  # qualified name of the enclosing declaration
    context: str  # header of the enclosing declaration, e.g. "class Session(Base):"
    symbols: list[SymbolRecord]
    imports: list[str]  # modules or paths imported by this chunk's text, as written
    calls: list[str]  # distinct names called, in order of first call
    bases: list[str]  # names of extended and implemented types
    complexity: int  # cyclomatic: 1 + branches; 0 for text without code
    role: str
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    content_hash: str  # SHA-256 of the chunk's text


LINE_DATA_NOTE: Final = "data of long lines left out"
"""Beginning of the remark on an indexed file without the data of its long lines."""


@dataclass(frozen=True, slots=True)
class FileRecord:
    """Indexing outcome of a candidate file.

    Attributes:
        hash: SHA-256 of the bytes on disk; empty if never read.
        size: Bytes on disk.
        mtime_ns: Modification time in nanoseconds.
        ctime_ns, inode: Status change time and inode; 0 where the system has none.
        reason: Reason for skipping, or the error; empty if indexed.
        note: Remark on an indexed file, such as a syntax error.
    """

    path: str
    outcome: Outcome
    reason: str = ""
    hash: str = ""
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    inode: int = 0
    language: str = ""
    role: str = "source"
    encoding: str = ""
    chunks: int = 0
    symbols: int = 0
    lines: int = 0
    note: str = ""


def format_location(path: str, start_line: int, end_line: int) -> str:
    """Format lines of a file as ``path:10-42``, one line as ``path:10``."""
    return f"{path}:{start_line}" if start_line == end_line else f"{path}:{start_line}-{end_line}"
