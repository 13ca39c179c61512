"""Decoding of an indexed file's bytes to the text that the index has."""

from coderag.schema.chunks import FileRecord
from coderag.text.readable_text import to_readable_text


def decode_indexed_text(record: FileRecord, data: bytes) -> str:
    """Decode a file's bytes in the encoding of its record; a notebook becomes its cells."""
    encoding, _, fallback = record.encoding.partition("+")
    if fallback:
        text = "\n".join(_decode_line(line, encoding, fallback) for line in data.split(b"\n"))
    else:
        text = data.decode(encoding or "utf-8", "replace").removeprefix("\ufeff")
    return to_readable_text(record.path, text)


def _decode_line(line: bytes, encoding: str, fallback: str) -> str:
    try:
        return line.decode(encoding)
    except UnicodeDecodeError:
        return line.decode(fallback, "replace")
