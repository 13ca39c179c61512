"""Declarations of a file given as text, for example from an old revision, by CodeRAG's parser."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coderag.ingestion.files.roles import classify_role
from coderag.ingestion.parsing.chunking import parse_file
from coderag.ingestion.parsing.languages import detect_language
from coderag.schema.chunks import ChunkMetadata, SymbolRecord

from .history import MinedHunk

_MAX_CHARS = 500_000  # larger files are skipped
_FUNCTIONS = frozenset({"function", "method"})
MAX_TYPE_LINES: Final = 150  # longer types are too coarse as answers
_KINDS = frozenset(
    {"function", "method", "class", "interface", "struct", "trait", "enum", "union", "type_alias", "impl", "macro",
     "table", "resource"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileDeclaration:
    """Declaration with its lines, 1-based and inclusive."""

    qualified_name: str
    kind: str
    start_line: int
    end_line: int

    @property
    def lines(self) -> range:
        """Lines of the declaration."""
        return range(self.start_line, self.end_line + 1)


def extract_declarations(path: str, text: str) -> list[FileDeclaration]:
    """Return the functions and types that a file declares, in order; empty for an unknown language."""
    records: dict[tuple[str, int], SymbolRecord] = {
        (symbol["qualified_name"], symbol["start_line"]): symbol
        for chunk in _parse_chunks(path, text)
        for symbol in chunk["symbols"]
        if symbol["kind"] in _KINDS
    }
    return [
        FileDeclaration(record["qualified_name"], record["kind"], record["start_line"], record["end_line"])
        for record in sorted(records.values(), key=lambda record: (record["start_line"], -record["end_line"]))
    ]


def extract_docstrings(path: str, text: str) -> dict[str, str]:
    """Return the docstrings of a file's declarations by qualified name."""
    return {chunk["qualified_name"]: chunk["docstring"] for chunk in _parse_chunks(path, text) if chunk["docstring"]}


def _parse_chunks(path: str, text: str) -> list[ChunkMetadata]:
    """Parse a file into chunks, one for each declaration however small."""
    language = detect_language(path, text)
    if not language or len(text) > _MAX_CHARS:
        return []
    return [chunk.metadata for chunk in parse_file(path, text, language, classify_role(path), min_tokens=0).chunks]


def find_innermost(declarations: Sequence[FileDeclaration], hunk: MinedHunk) -> list[FileDeclaration]:
    """Return the innermost declarations that a change touches, in order."""
    touched = [declaration for declaration in declarations if hunk.has_overlap(declaration.lines)]
    return [declaration for declaration in touched if not any(_is_inside(other, declaration) for other in touched)]


def select_specific(declarations: Sequence[FileDeclaration]) -> list[FileDeclaration]:
    """Drop declarations of one file that are too coarse or redundant as answers.

    Dropped are long types, types that contain another of the declarations, and declarations inside another function.
    """
    short = [
        declaration
        for declaration in declarations
        if declaration.kind in _FUNCTIONS or len(declaration.lines) <= MAX_TYPE_LINES
    ]
    return [
        declaration
        for declaration in short
        if not any(
            (declaration.kind not in _FUNCTIONS and _is_inside(other, declaration))
            or (other.kind in _FUNCTIONS and _is_inside(declaration, other))
            for other in short
        )
    ]


def _is_inside(inner: FileDeclaration, outer: FileDeclaration) -> bool:
    return outer.start_line <= inner.start_line and inner.end_line <= outer.end_line and inner.lines != outer.lines
