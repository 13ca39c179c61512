"""Messages between the workspace and its writer process: one JSON object per line.

The workspace sends tasks, one at a time. The writer sends progress, then a report or an error.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import IO, Any

from coderag.errors import CodeRAGError, find_error_class
from coderag.schema.indexing import IndexProgress, IndexReport


@dataclass(frozen=True, slots=True)
class IndexTask:
    """One run of indexing.

    Attributes:
        root: Folder of the repository.
        trusted: Whether the user trusts it, which affects its settings.
        full: Whether everything is rebuilt.
        edited: Paths that may have been edited since the last run of this process, relative to the root; None if
            unknown, which requires a scan.
    """

    root: str
    trusted: bool
    full: bool = False
    edited: Sequence[str] | None = None


WriterReply = IndexProgress | IndexReport | CodeRAGError


def write_task(stream: IO[bytes], task: IndexTask) -> None:
    """Write a task. Raises `OSError` if the other side is gone."""
    _write_line(stream, asdict(task))


def parse_task(line: bytes) -> IndexTask:
    """Parse a task."""
    return IndexTask(**json.loads(line))


def write_reply(stream: IO[bytes], reply: WriterReply) -> None:
    """Write a reply. Raises `OSError` if the other side is gone."""
    match reply:
        case IndexProgress():
            _write_line(stream, {"progress": asdict(reply)})
        case IndexReport():
            _write_line(stream, {"report": asdict(reply)})
        case CodeRAGError():
            error = {"class": type(reply).__name__, "message": str(reply), "hint": reply.hint}
            _write_line(stream, {"error": error})


def parse_reply(line: bytes) -> WriterReply:
    """Parse a reply.

    Raises:
        ValueError: The line is not a reply.
    """
    record: Mapping[str, Any] = json.loads(line)
    match record:
        case {"progress": fields}:
            return IndexProgress(**fields)
        case {"report": fields}:
            failed = [(str(path), str(reason)) for path, reason in fields["failed"]]
            return IndexReport(**{**fields, "failed": failed})
        case {"error": {"class": name, "message": message, "hint": hint}}:
            return (find_error_class(name) or CodeRAGError)(message, hint=hint)
        case _:
            raise ValueError(f"the writer process sent {line[:200]!r}")


def _write_line(stream: IO[bytes], record: Mapping[str, object]) -> None:
    stream.write(json.dumps(record).encode() + b"\n")
    stream.flush()
