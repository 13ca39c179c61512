"""Text of a file as it is on disk, by lines."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coderag.ingestion.files.regular_files import describe_os_error, read_regular_file
from coderag.ingestion.parsing.languages import detect_language
from coderag.schema.browse import FileState, FileView
from coderag.schema.chunks import FileRecord
from coderag.text.encodings import decode
from coderag.text.indexed_text import decode_indexed_text
from coderag.text.readable_text import to_readable_text

MAX_FILE_BYTES: Final = 16_000_000
"""Maximum size of a file that is shown, whether it is indexed or not."""

_MAX_REPLY_BYTES: Final = 700_000
"""Maximum UTF-8 length of the text of one reply; JSON escapes at most double the usual text. A longer line is cut."""

_ESCAPED_BYTE: Final = re.compile(r"\\udc([89a-f][0-9a-f])")
"""Byte of a file name that is not UTF-8, as the index spells it."""


@dataclass(frozen=True, slots=True)
class DiskText:
    """Text of a file on disk.

    Attributes:
        lines: Its lines without line ends; empty if it has no text.
        is_edited: Whether its bytes differ from those of the record.
        problem: Why it has no text; empty if it has.
    """

    state: FileState
    lines: list[str]
    size: int
    encoding: str
    is_edited: bool
    problem: str = ""


def read_disk_text(root: Path, record: FileRecord, max_bytes: int = MAX_FILE_BYTES) -> DiskText:
    """Read a file of the index as it is now; an error of the system is a state, not raised.

    Args:
        root: Folder of the repository.
        record: Record of the file in the last index run.
        max_bytes: A larger file is not read.
    """
    path = _locate(root, record.path)
    try:
        if not path.parent.resolve().is_relative_to(root.resolve()):  # a folder became a link
            return DiskText("gone", [], 0, "", is_edited=True)
        data, status = read_regular_file(path, max_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return DiskText("gone", [], 0, "", is_edited=True)
    except (OSError, ValueError) as error:
        problem = describe_os_error(error) if isinstance(error, OSError) else str(error)
        return DiskText("unreadable", [], record.size, "", is_edited=False, problem=problem)
    if len(data) > max_bytes:
        return DiskText("too_large", [], status.st_size, "", is_edited=status.st_size != record.size)
    is_edited = bool(record.hash) and hashlib.sha256(data).hexdigest() != record.hash
    if record.outcome == "indexed" and not is_edited:
        text, encoding = decode_indexed_text(record, data), record.encoding
    elif (decoded := decode(data, record.encoding.partition("+")[0])) is not None:
        text, encoding = to_readable_text(record.path, decoded.text), decoded.encoding
    else:
        return DiskText("binary", [], len(data), "", is_edited)
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
    return DiskText("text", lines, len(data), encoding, is_edited)


def view_file(root: Path, record: FileRecord, current: FileRecord, start_line: int, end_line: int | None) -> FileView:
    """Return lines of a file, as many as fit a reply.

    Args:
        root: Folder of the repository.
        record: Record of the file in the last index run.
        current: Record of its current state, where edits are followed; else the same.
        start_line: First line.
        end_line: Last line; None for the last one of the file.
    """
    disk = read_disk_text(root, record)
    last = min(end_line or len(disk.lines), len(disk.lines))
    text, end = join_lines(disk.lines[start_line - 1 : last])
    has_lines = end > 0
    return FileView(
        root=str(root),
        path=record.path,
        state=disk.state,
        text=text,
        start_line=start_line if has_lines else 0,
        end_line=start_line + end - 1 if has_lines else 0,
        total_lines=len(disk.lines),
        next_line=start_line + end if has_lines and start_line + end - 1 < len(disk.lines) else None,
        size=disk.size,
        language=current.language or detect_language(record.path, text),
        role=current.role,
        encoding=disk.encoding,
        is_edited=disk.is_edited,
        outcome=current.outcome,
        reason=disk.problem or current.reason,
        note=current.note,
    )


def join_lines(lines: list[str], max_bytes: int = _MAX_REPLY_BYTES) -> tuple[str, int]:
    """Join the first lines that fit; return them and their number. A single line that does not fit is cut."""
    size = 0
    for number, line in enumerate(lines):
        size += len(line.encode("utf-8", "replace")) + 1
        if size > max_bytes:
            if number:
                return "\n".join(lines[:number]), number
            return line.encode("utf-8", "replace")[:max_bytes].decode("utf-8", "ignore"), 1
    return "\n".join(lines), len(lines)


def _locate(root: Path, path: str) -> Path:
    r"""Return where a file is; ``\udcff`` in its name may stand for a byte that is not UTF-8."""
    place = root / path
    if "\\udc" in path and not place.exists():
        return root / _ESCAPED_BYTE.sub(lambda match: chr(0xDC00 + int(match[1], 16)), path)
    return place
