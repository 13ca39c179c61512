"""The declarations of a file that is only a text, such as one of an old revision, by CodeRAG's own parser."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coderag.ingestion.files.roles import classify_role
from coderag.ingestion.parsing.chunking import parse_file
from coderag.ingestion.parsing.languages import detect_language
from coderag.schema.chunks import ChunkMetadata, SymbolRecord

from .history import Hunk

_LARGEST = 500_000  # characters; larger files are not looked into
_FUNCTIONS = frozenset({"function", "method"})
LONGEST_TYPE: Final = 150  # lines of a type that is an answer as a whole
_DECLARED = frozenset(
    {"function", "method", "class", "interface", "struct", "trait", "enum", "union", "type_alias", "impl", "macro",
     "table", "resource"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Declared:
    """A declaration with its lines, 1-based and inclusive."""

    qualified_name: str
    kind: str
    start_line: int
    end_line: int

    @property
    def lines(self) -> range:
        """Its lines."""
        return range(self.start_line, self.end_line + 1)


def outline(path: str, text: str) -> list[Declared]:
    """Return the functions, types and the like that a file declares, in order; none of a text in no known language."""
    records: dict[tuple[str, int], SymbolRecord] = {
        (symbol["qualified_name"], symbol["start_line"]): symbol
        for chunk in _parsed(path, text)
        for symbol in chunk["symbols"]
        if symbol["kind"] in _DECLARED
    }
    return [
        Declared(record["qualified_name"], record["kind"], record["start_line"], record["end_line"])
        for record in sorted(records.values(), key=lambda record: (record["start_line"], -record["end_line"]))
    ]


def docstrings(path: str, text: str) -> dict[str, str]:
    """Return the documentation of the declarations of a file that have some, by qualified name."""
    return {chunk["qualified_name"]: chunk["docstring"] for chunk in _parsed(path, text) if chunk["docstring"]}


def _parsed(path: str, text: str) -> list[ChunkMetadata]:
    """Return the chunks of a file, one for each declaration however small."""
    language = detect_language(path, text)
    if not language or len(text) > _LARGEST:
        return []
    return [chunk.metadata for chunk in parse_file(path, text, language, classify_role(path), min_tokens=0).chunks]


def innermost(declared: Sequence[Declared], hunk: Hunk) -> list[Declared]:
    """Return the innermost declarations that a change touches, in order."""
    touched = [one for one in declared if hunk.touches(one.lines)]
    return [one for one in touched if not any(_is_inside(other, one) for other in touched)]


def most_exact(declared: Sequence[Declared]) -> list[Declared]:
    """Return those of some declarations of one file that say where to look.

    Without long types, of which an attribute or the like was meant, without types that have another of them inside, and
    without what is inside of another function of them.
    """
    short = [one for one in declared if one.kind in _FUNCTIONS or len(one.lines) <= LONGEST_TYPE]
    return [
        one
        for one in short
        if not any(
            (one.kind not in _FUNCTIONS and _is_inside(other, one))
            or (other.kind in _FUNCTIONS and _is_inside(one, other))
            for other in short
        )
    ]


def _is_inside(inner: Declared, outer: Declared) -> bool:
    return outer.start_line <= inner.start_line and inner.end_line <= outer.end_line and inner.lines != outer.lines
