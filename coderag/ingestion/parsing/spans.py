"""Spans of a file without declarations: of documents, data and languages without a query."""

from dataclasses import dataclass, field
from typing import Final

from coderag.schema.chunks import SymbolRecord
from coderag.schema.vocabulary import Kind

MAX_CALLS: Final = 64
"""Maximum number of called names stored for a chunk."""


@dataclass(slots=True)
class Span:
    """Bytes ``[start, end)`` of a file with their metadata. An empty name stands for the file's own name."""

    start: int
    end: int
    kind: Kind = "block"
    name: str = ""
    qualified_name: str = ""
    parent: str = ""
    context: str = ""
    signature: str = ""
    complexity: int = 0
    symbols: list[SymbolRecord] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
