"""SCIP indexes as bytes, encoded by hand: https://github.com/sourcegraph/scip/blob/main/scip.proto"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

DEFINITION = 1
IMPORT = 2


@dataclass
class ScipDocument:
    """A file of an index.

    Attributes:
        occurrences: (line, first character, length, symbol, roles = 0) each, the line 1-based.
        relationships: Of a symbol: (symbol, related symbol, kind of relationship) each.
    """

    path: str
    occurrences: Sequence[tuple] = ()
    relationships: Sequence[tuple[str, str, str]] = ()


@dataclass
class ScipIndex:
    documents: Sequence[ScipDocument] = field(default_factory=list)
    project_root: str = ""
    tool: str = "scip-test"
    version: str = "1.2"

    def to_bytes(self) -> bytes:
        tool = message((1, self.tool), (2, self.version), (3, "--all"))
        metadata = message((2, tool), (3, self.project_root), (4, 1))
        external = message((1, symbol("json/", "dumps().")), (3, "Documentation."))
        return message((1, metadata), *((2, _document(one)) for one in self.documents), (3, external))


def symbol(*descriptors: str) -> str:
    return f"scip-test pip shop 1.0 {''.join(descriptors)}"


def message(*fields: tuple[int, int | str | bytes]) -> bytes:
    return b"".join(_field(number, value) for number, value in fields)


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def packed(values: Iterable[int]) -> bytes:
    return b"".join(map(varint, values))


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def _document(document: ScipDocument) -> bytes:
    occurrences = []
    for line, start, length, name, *roles in document.occurrences:
        place = packed((line - 1, start, start + length))
        occurrences.append((2, message((1, place), (2, name), *((3, role) for role in roles))))
    number = {"reference": 2, "implementation": 3, "type_definition": 4}
    symbols = [
        (3, message((1, name), (4, message((1, other), (number[kind], 1)))))
        for name, other, kind in document.relationships
    ]
    return message((4, "python"), (1, document.path), *occurrences, *symbols)
