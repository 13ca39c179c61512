"""Decoder for Protocol Buffers, limited to the parts that SCIP uses.

Source: https://protobuf.dev/programming-guides/encoding/
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from coderag.stores.disk import map_storage_errors

VARINT: Final = 0
LENGTH_DELIMITED: Final = 2
_FIXED_SIZES: Final = {1: 8, 5: 4}
_MAX_VARINT_BYTES: Final = 10


class ProtobufError(Exception):
    """Bytes that are not a valid message."""


class WireField(NamedTuple):
    """One field of a message.

    Attributes:
        value: An unsigned number for the wire type `VARINT`, else bytes.
    """

    number: int
    wire_type: int
    value: int | bytes


def read_fields(message: bytes) -> Iterator[WireField]:
    """Yield the fields of a message.

    Raises:
        ProtobufError: The message is truncated or invalid.
    """
    position, end = 0, len(message)
    while position < end:
        key, position = _decode_varint(message, position)
        number, wire_type = key >> 3, key & 7
        if number == 0:
            raise ProtobufError("a field has the number 0")
        if wire_type == VARINT:
            value, position = _decode_varint(message, position)
            yield WireField(number, wire_type, value)
            continue
        if wire_type == LENGTH_DELIMITED:
            size, position = _decode_varint(message, position)
        else:
            size = _get_fixed_size(wire_type)
        if size > end - position:
            raise ProtobufError("a field is longer than its message")
        yield WireField(number, wire_type, message[position : position + size])
        position += size


def stream_fields(path: Path, field_numbers: frozenset[int]) -> Iterator[WireField]:
    """Yield selected fields of the message in a file, one at a time in memory.

    Args:
        path: The file.
        field_numbers: Numbers of the fields to read; all others are skipped unread.

    Raises:
        ProtobufError: The message is truncated or invalid.
        StoreError: The file cannot be read.
    """
    with map_storage_errors(f"read {path}"), path.open("rb") as file:
        remaining = path.stat().st_size
        while remaining:
            key, n_read = _read_varint(file)
            remaining -= n_read
            number, wire_type = key >> 3, key & 7
            if number == 0:
                raise ProtobufError("a field has the number 0")
            if wire_type == VARINT:
                value, n_read = _read_varint(file)
                remaining -= n_read
                if number in field_numbers:
                    yield WireField(number, wire_type, value)
                continue
            if wire_type == LENGTH_DELIMITED:
                size, n_read = _read_varint(file)
                remaining -= n_read
            else:
                size = _get_fixed_size(wire_type)
            if size > remaining:
                raise ProtobufError("it ends in the middle of a field")
            if number in field_numbers:
                yield WireField(number, wire_type, file.read(size))
            else:
                file.seek(size, 1)
            remaining -= size


def decode_numbers(field: WireField) -> list[int]:
    """Return the values of a repeated number, packed or not, as unsigned numbers.

    Raises:
        ProtobufError: The field is not numeric.
    """
    if isinstance(field.value, int):
        return [field.value]
    values, position = [], 0
    while position < len(field.value):
        value, position = _decode_varint(field.value, position)
        values.append(value)
    return values


def decode_number(field: WireField) -> int:
    """Return the value of a numeric field.

    Raises:
        ProtobufError: The field is not numeric.
    """
    if not isinstance(field.value, int):
        raise ProtobufError(f"field {field.number} is not a number")
    return field.value


def decode_bytes(field: WireField) -> bytes:
    """Return the bytes of a message or string.

    Raises:
        ProtobufError: The field has another type.
    """
    if isinstance(field.value, int) or field.wire_type != LENGTH_DELIMITED:
        raise ProtobufError(f"field {field.number} is not text or a message")
    return field.value


def decode_text(field: WireField) -> str:
    """Return a string.

    Raises:
        ProtobufError: The field has another type or is not UTF-8.
    """
    try:
        return decode_bytes(field).decode()
    except UnicodeDecodeError as error:
        raise ProtobufError(f"field {field.number} is not UTF-8") from error


def _get_fixed_size(wire_type: int) -> int:
    if wire_type not in _FIXED_SIZES:
        raise ProtobufError(f"unknown wire type {wire_type}")
    return _FIXED_SIZES[wire_type]


def _decode_varint(message: bytes, position: int) -> tuple[int, int]:
    """Return the number at a position, and the position after it."""
    value = shift = 0
    for byte in message[position : position + _MAX_VARINT_BYTES]:
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise ProtobufError("a number is truncated or too long")


def _read_varint(file: BinaryIO) -> tuple[int, int]:
    """Return the next number of a file and its length in bytes."""
    encoded = b""
    while not encoded or encoded[-1] >= 0x80:
        byte = file.read(1)
        if not byte or len(encoded) == _MAX_VARINT_BYTES:
            raise ProtobufError("a number is truncated or too long")
        encoded += byte
    return _decode_varint(encoded, 0)
