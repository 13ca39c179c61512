"""The messages of a SCIP index that the code graph uses.

Source: https://github.com/sourcegraph/scip/blob/main/scip.proto
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from coderag.codegraph.scip.protobuf import (
    ProtobufError,
    WireField,
    decode_bytes,
    decode_number,
    decode_numbers,
    decode_text,
    read_fields,
    stream_fields,
)

DEFINITION: Final = 1
IMPORT: Final = 2
FORWARD_DEFINITION: Final = 64
"""Bits of `Occurrence.roles`."""

_METADATA, _DOCUMENTS = 1, 2
_MAX_COORDINATE = 2**31
_DESCRIPTOR = re.compile(r"(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[\w+\-$]+))(?P<suffix>[/#.:!]|\([\w+\-$]*\)\.)$")
_BRACKETED = re.compile(r"[\])]$")


class ScipMetadata(NamedTuple):
    """The indexer that created an index, and the indexed project.

    Attributes:
        project_root: URI of the folder to which document paths are relative.
    """

    tool: str = ""
    version: str = ""
    project_root: str = ""


class Occurrence(NamedTuple):
    """An occurrence of a symbol in a document.

    Attributes:
        line: 1-based.
        start: First character, 0-based, in the index's units.
        length: In characters; -1 if the occurrence spans lines.
        roles: Bits, such as `DEFINITION`.
    """

    line: int
    start: int
    length: int
    symbol: str
    roles: int


class Relationship(NamedTuple):
    """A relationship of a symbol to another one."""

    symbol: str
    is_implementation: bool = False
    is_type_definition: bool = False


class SymbolInformation(NamedTuple):
    """A symbol that a document defines, with its relationships."""

    symbol: str
    relationships: Sequence[Relationship] = ()


class ScipDocument(NamedTuple):
    """A file of the index; occurrences are ordered by position."""

    path: str
    occurrences: Sequence[Occurrence]
    symbols: Sequence[SymbolInformation]


class Descriptor(NamedTuple):
    """The last part of a symbol.

    Attributes:
        suffix: ``/`` for a namespace, ``#`` for a type, ``.`` for a term, ``()`` for a function or method, ``:`` for a module,
            ``!`` for a macro; empty for locals and parameters, which other documents cannot name.
    """

    name: str
    suffix: str


def read_metadata(path: Path) -> ScipMetadata:
    """Return the metadata of an index.

    Raises:
        ProtobufError: The file is not a SCIP index.
        StoreError: The file cannot be read.
    """
    for field in stream_fields(path, frozenset({_METADATA})):
        return _parse_metadata(decode_bytes(field))
    raise ProtobufError("the metadata is missing")


def read_documents(path: Path) -> Iterator[ScipDocument]:
    """Yield the documents of an index, one at a time in memory.

    Raises:
        ProtobufError: The file is not a SCIP index.
        StoreError: The file cannot be read.
    """
    for field in stream_fields(path, frozenset({_DOCUMENTS})):
        yield _parse_document(decode_bytes(field))


def parse_descriptor(symbol: str) -> Descriptor:
    """Return the last part of a symbol."""
    if symbol.startswith("local ") or _BRACKETED.search(symbol):
        return Descriptor("", "")
    match = _DESCRIPTOR.search(symbol)
    if not match:
        return Descriptor("", "")
    name = match["plain"] or match["quoted"].replace("``", "`")
    return Descriptor(name, "()" if match["suffix"].startswith("(") else match["suffix"])


def _parse_metadata(message: bytes) -> ScipMetadata:
    values = {"tool": "", "version": "", "project_root": ""}
    for field in read_fields(message):
        if field.number == 2:
            for part in read_fields(decode_bytes(field)):
                if part.number in {1, 2}:
                    values["tool" if part.number == 1 else "version"] = decode_text(part)
        elif field.number == 3:
            values["project_root"] = decode_text(field)
    return ScipMetadata(**values)


def _parse_document(message: bytes) -> ScipDocument:
    path, occurrences, symbols = "", [], []
    for field in read_fields(message):
        if field.number == 1:
            path = decode_text(field)
        elif field.number == 2:
            occurrences.append(_parse_occurrence(decode_bytes(field)))
        elif field.number == 3:
            symbols.append(_parse_symbol(decode_bytes(field)))
    if not path:
        raise ProtobufError("a document has no path")
    return ScipDocument(path, sorted(occurrences), symbols)


def _parse_occurrence(message: bytes) -> Occurrence:
    span: list[int] = []
    symbol, roles = "", 0
    for field in read_fields(message):
        if field.number == 1:
            span += decode_numbers(field)  # a range may be packed or repeated
        elif field.number == 2:
            symbol = decode_text(field)
        elif field.number == 3:
            roles = decode_number(field)
        elif field.number in {8, 9}:
            span = _parse_typed_range(field)
    if len(span) not in {3, 4} or max(span) >= _MAX_COORDINATE:
        raise ProtobufError("an occurrence has no valid range")
    line, start, end = span[0], span[1], span[-1]
    is_single_line = len(span) == 3 or span[2] == line
    return Occurrence(line + 1, start, end - start if is_single_line else -1, symbol, roles)


def _parse_typed_range(field: WireField) -> list[int]:
    """Return a range given as a message: a line and two characters, or two pairs of line and character."""
    span = [0, 0, 0] if field.number == 8 else [0, 0, 0, 0]
    for part in read_fields(decode_bytes(field)):
        if part.number <= len(span):
            span[part.number - 1] = decode_number(part)
    return span


def _parse_symbol(message: bytes) -> SymbolInformation:
    symbol, relationships = "", []
    for field in read_fields(message):
        if field.number == 1:
            symbol = decode_text(field)
        elif field.number == 4:
            relationships.append(_parse_relationship(decode_bytes(field)))
    return SymbolInformation(symbol, relationships)


def _parse_relationship(message: bytes) -> Relationship:
    symbol, flags = "", {3: False, 4: False}
    for field in read_fields(message):
        if field.number == 1:
            symbol = decode_text(field)
        elif field.number in flags:
            flags[field.number] = bool(decode_number(field))
    return Relationship(symbol, flags[3], flags[4])
