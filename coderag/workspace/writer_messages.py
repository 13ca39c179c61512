"""What the workspace and its writer process say to one another: a JSON object a line.

To the writer go tasks, one at a time; from it come, for the task under way, how far it is and last its report or its error.
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
        trusted: Whether the user trusts it, which decides on its settings.
        full: Whether everything is built anew.
        edited: All that may have been edited since the last run of this process, relative to the root; None if that is
            not known, so that only a walk can tell.
    """

    root: str
    trusted: bool
    full: bool = False
    edited: Sequence[str] | None = None


WriterReply = IndexProgress | IndexReport | CodeRAGError


def write_task(stream: IO[bytes], task: IndexTask) -> None:
    """Write a task. Raises `OSError` if nobody reads it."""
    _write_line(stream, asdict(task))


def parse_task(line: bytes) -> IndexTask:
    """Return the task of a line."""
    return IndexTask(**json.loads(line))


def write_reply(stream: IO[bytes], reply: WriterReply) -> None:
    """Write a reply. Raises `OSError` if nobody reads it."""
    match reply:
        case IndexProgress():
            _write_line(stream, {"progress": asdict(reply)})
        case IndexReport():
            _write_line(stream, {"report": asdict(reply)})
        case CodeRAGError():
            error = {"class": type(reply).__name__, "message": str(reply), "hint": reply.hint}
            _write_line(stream, {"error": error})


def parse_reply(line: bytes) -> WriterReply:
    """Return the reply of a line.

    Raises:
        ValueError: It is none.
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
            raise ValueError(f"the writer process said {line[:200]!r}")


def _write_line(stream: IO[bytes], record: Mapping[str, object]) -> None:
    stream.write(json.dumps(record).encode() + b"\n")
    stream.flush()
