"""The bytes of an indexed file as the text that was, or would be, indexed."""

from coderag.schema.chunks import FileRecord
from coderag.text.notebooks import readable_text


def indexed_text(record: FileRecord, data: bytes) -> str:
    """Return the text of a file's bytes in the encoding that its record names; of a notebook its cells."""
    encoding, _, of_single_lines = record.encoding.partition("+")
    if of_single_lines:
        text = "\n".join(_decoded(line, encoding, of_single_lines) for line in data.split(b"\n"))
    else:
        text = data.decode(encoding or "utf-8", "replace").removeprefix("\ufeff")
    return readable_text(record.path, text)


def _decoded(line: bytes, encoding: str, other: str) -> str:
    try:
        return line.decode(encoding)
    except UnicodeDecodeError:
        return line.decode(other, "replace")
