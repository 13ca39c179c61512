"""What of a SCIP index matters to the code graph.

Source: https://github.com/sourcegraph/scip/blob/main/scip.proto
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from coderag.codegraph.scip.wire import DamagedError, Field, data, number, numbers, read_fields, stream_fields, text

DEFINITION: Final = 1
IMPORT: Final = 2
FORWARD_DEFINITION: Final = 64
"""Bits of `Occurrence.roles`."""

_METADATA, _DOCUMENTS = 1, 2
_MOST = 2**31
_TRAILER = re.compile(r"(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[\w+\-$]+))(?P<suffix>[/#.:!]|\([\w+\-$]*\)\.)$")
_BRACKETED = re.compile(r"[\])]$")


class Metadata(NamedTuple):
    """Who made an index, and of what.

    Attributes:
        project_root: URI of the folder that the documents' paths are relative to.
    """

    tool: str = ""
    version: str = ""
    project_root: str = ""


class Occurrence(NamedTuple):
    """A symbol in a document's text.

    Attributes:
        line: 1-based.
        start: First character, 0-based, in units that the index chooses.
        length: In characters; -1 if it goes over a line's end.
        roles: Bits, such as `DEFINITION`.
    """

    line: int
    start: int
    length: int
    symbol: str
    roles: int


class Relationship(NamedTuple):
    """What a symbol is to another one."""

    symbol: str
    is_implementation: bool = False
    is_type_definition: bool = False


class SymbolInformation(NamedTuple):
    """What is known of a symbol that a document defines."""

    symbol: str
    relationships: Sequence[Relationship] = ()


class Document(NamedTuple):
    """A file of the index, its occurrences in the order of their places."""

    path: str
    occurrences: Sequence[Occurrence]
    symbols: Sequence[SymbolInformation]


class Descriptor(NamedTuple):
    """The last part of a symbol.

    Attributes:
        suffix: ``/`` of a namespace, ``#`` of a type, ``.`` of a term, ``()`` of a function or method, ``:`` of a module,
            ``!`` of a macro; empty for what has no name elsewhere: a local, a parameter.
    """

    name: str
    suffix: str


def read_metadata(path: Path) -> Metadata:
    """Return who made an index.

    Raises:
        DamagedError: It is no SCIP index.
        StoreError: It cannot be read.
    """
    for field in stream_fields(path, frozenset({_METADATA})):
        return _metadata(data(field))
    raise DamagedError("it does not say what made it")


def read_documents(path: Path) -> Iterator[Document]:
    """Yield the documents of an index, holding one at a time.

    Raises:
        DamagedError: It is no SCIP index.
        StoreError: It cannot be read.
    """
    for field in stream_fields(path, frozenset({_DOCUMENTS})):
        yield _document(data(field))


def descriptor_of(symbol: str) -> Descriptor:
    """Return the last part of a symbol."""
    if symbol.startswith("local ") or _BRACKETED.search(symbol):
        return Descriptor("", "")
    found = _TRAILER.search(symbol)
    if not found:
        return Descriptor("", "")
    name = found["plain"] or found["quoted"].replace("``", "`")
    return Descriptor(name, "()" if found["suffix"].startswith("(") else found["suffix"])


def _metadata(message: bytes) -> Metadata:
    values = {"tool": "", "version": "", "project_root": ""}
    for field in read_fields(message):
        if field.number == 2:
            for part in read_fields(data(field)):
                if part.number in {1, 2}:
                    values["tool" if part.number == 1 else "version"] = text(part)
        elif field.number == 3:
            values["project_root"] = text(field)
    return Metadata(**values)


def _document(message: bytes) -> Document:
    path, occurrences, symbols = "", [], []
    for field in read_fields(message):
        if field.number == 1:
            path = text(field)
        elif field.number == 2:
            occurrences.append(_occurrence(data(field)))
        elif field.number == 3:
            symbols.append(_symbol(data(field)))
    if not path:
        raise DamagedError("a document has no path")
    return Document(path, sorted(occurrences), symbols)


def _occurrence(message: bytes) -> Occurrence:
    place: list[int] = []
    symbol, roles = "", 0
    for field in read_fields(message):
        if field.number == 1:
            place += numbers(field)  # packed or not, a range may come in pieces
        elif field.number == 2:
            symbol = text(field)
        elif field.number == 3:
            roles = number(field)
        elif field.number in {8, 9}:
            place = _typed_range(field)
    if len(place) not in {3, 4} or max(place) >= _MOST:
        raise DamagedError("an occurrence has no place")
    line, start, end = place[0], place[1], place[-1]
    one_line = len(place) == 3 or place[2] == line
    return Occurrence(line + 1, start, end - start if one_line else -1, symbol, roles)


def _typed_range(field: Field) -> list[int]:
    """Return a place that is a message: a line and two characters, or two lines with a character each."""
    place = [0, 0, 0] if field.number == 8 else [0, 0, 0, 0]
    for part in read_fields(data(field)):
        if part.number <= len(place):
            place[part.number - 1] = number(part)
    return place


def _symbol(message: bytes) -> SymbolInformation:
    symbol, relationships = "", []
    for field in read_fields(message):
        if field.number == 1:
            symbol = text(field)
        elif field.number == 4:
            relationships.append(_relationship(data(field)))
    return SymbolInformation(symbol, relationships)


def _relationship(message: bytes) -> Relationship:
    symbol, flags = "", {3: False, 4: False}
    for field in read_fields(message):
        if field.number == 1:
            symbol = text(field)
        elif field.number in flags:
            flags[field.number] = bool(number(field))
    return Relationship(symbol, flags[3], flags[4])
