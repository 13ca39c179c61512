"""Protocol Buffers as bytes, as far as SCIP needs them.

Source: https://protobuf.dev/programming-guides/encoding/
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from coderag.stores.disk import map_storage_errors

VARINT: Final = 0
LENGTH_DELIMITED: Final = 2
_FIXED: Final = {1: 8, 5: 4}
_LONGEST_VARINT: Final = 10


class DamagedError(Exception):
    """These bytes are no message."""


class Field(NamedTuple):
    """One field of a message.

    Attributes:
        value: An unsigned number for the wire type `VARINT`, else the bytes.
    """

    number: int
    wire_type: int
    value: int | bytes


def read_fields(message: bytes) -> Iterator[Field]:
    """Yield the fields of a message.

    Raises:
        DamagedError: It is cut off, or no message.
    """
    position, end = 0, len(message)
    while position < end:
        key, position = _varint(message, position)
        number, wire_type = key >> 3, key & 7
        if number == 0:
            raise DamagedError("a field has the number 0")
        if wire_type == VARINT:
            value, position = _varint(message, position)
            yield Field(number, wire_type, value)
            continue
        if wire_type == LENGTH_DELIMITED:
            size, position = _varint(message, position)
        else:
            size = _fixed_size(wire_type)
        if size > end - position:
            raise DamagedError("a field is longer than what is around it")
        yield Field(number, wire_type, message[position : position + size])
        position += size


def stream_fields(path: Path, wanted: frozenset[int]) -> Iterator[Field]:
    """Yield some fields of the message that a file is, holding one at a time.

    Args:
        path: The file.
        wanted: Numbers of the fields; others are passed over without reading them.

    Raises:
        DamagedError: It is cut off, or no message.
        StoreError: It cannot be read.
    """
    with map_storage_errors(f"read {path}"), path.open("rb") as file:
        left = path.stat().st_size
        while left:
            key, used = _read_varint(file)
            left -= used
            number, wire_type = key >> 3, key & 7
            if number == 0:
                raise DamagedError("a field has the number 0")
            if wire_type == VARINT:
                value, used = _read_varint(file)
                left -= used
                if number in wanted:
                    yield Field(number, wire_type, value)
                continue
            if wire_type == LENGTH_DELIMITED:
                size, used = _read_varint(file)
                left -= used
            else:
                size = _fixed_size(wire_type)
            if size > left:
                raise DamagedError("it ends in the middle of a field")
            if number in wanted:
                yield Field(number, wire_type, file.read(size))
            else:
                file.seek(size, 1)
            left -= size


def numbers(field: Field) -> list[int]:
    """Return the values of a repeated number, packed or one alone, as unsigned numbers.

    Raises:
        DamagedError: The field holds no numbers.
    """
    if isinstance(field.value, int):
        return [field.value]
    found, position = [], 0
    while position < len(field.value):
        value, position = _varint(field.value, position)
        found.append(value)
    return found


def number(field: Field) -> int:
    """Return the value of a number.

    Raises:
        DamagedError: The field is something else.
    """
    if not isinstance(field.value, int):
        raise DamagedError(f"field {field.number} is not a number")
    return field.value


def data(field: Field) -> bytes:
    """Return the bytes of a message or text.

    Raises:
        DamagedError: The field is something else.
    """
    if isinstance(field.value, int) or field.wire_type != LENGTH_DELIMITED:
        raise DamagedError(f"field {field.number} is not text or a message")
    return field.value


def text(field: Field) -> str:
    """Return a text.

    Raises:
        DamagedError: The field is something else, or not UTF-8.
    """
    try:
        return data(field).decode()
    except UnicodeDecodeError as error:
        raise DamagedError(f"field {field.number} is not UTF-8") from error


def _fixed_size(wire_type: int) -> int:
    if wire_type not in _FIXED:
        raise DamagedError(f"there is no wire type {wire_type}")
    return _FIXED[wire_type]


def _varint(message: bytes, position: int) -> tuple[int, int]:
    """Return the number that starts at a position, and the position behind it."""
    value = shift = 0
    for byte in message[position : position + _LONGEST_VARINT]:
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise DamagedError("a number is cut off or too long")


def _read_varint(file: BinaryIO) -> tuple[int, int]:
    """Return the next number of a file, and how many bytes it takes."""
    read = b""
    while not read or read[-1] >= 0x80:
        byte = file.read(1)
        if not byte or len(read) == _LONGEST_VARINT:
            raise DamagedError("a number is cut off or too long")
        read += byte
    return _varint(read, 0)
