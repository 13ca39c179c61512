"""Log of recent searches and questions of one repository: JSON lines beside the index, bounded in number and size.

Records are appended to one file. When it is full, it replaces the file of the older records.
"""

import json
import os
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, NamedTuple, cast, get_args

from coderag.schema.vocabulary import Evidence
from coderag.stores.disk import create_index_directory, map_storage_errors
from coderag.system.atomic_write import PRIVATE_MODE, atomic_write

QueryKind = Literal["search", "ask", "context"]

MAX_RECORDS: Final = 500
MAX_QUERY_CHARS: Final = 4_000
MAX_RECORDED_RESULTS: Final = 50

_FILE_NAME: Final = "queries.jsonl"
_OLDER_FILE_NAME: Final = "queries.1.jsonl"
_MAX_RESULT_CHARS: Final = 16_000  # in total: a page of 50 records stays below 2 MB
_MAX_FILTER_CHARS: Final = 4_000
_MAX_FILE_BYTES: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """A result of a recorded query.

    Attributes:
        location: Location as ``path:start-end``.
        name: Qualified name; may be empty.
    """

    location: str
    name: str


@dataclass(frozen=True, slots=True)
class QueryRecord:
    """A recorded search or question.

    Attributes:
        id: Unique id.
        time: When it was asked, ISO 8601 in UTC.
        query: Its text; the first 4,000 characters if `is_shortened`.
        evidence: The verdict.
        confidence: Probability that the repository answers the question.
        elapsed_ms: Milliseconds until the result.
        generation: Generation of the index that answered.
        results: The first results, best first, at most 50.
        result_count: Number of all results.
        filters: Filters of the request that were set.
        top_k: Requested number of results; None for the default.
        is_shortened: Whether the text or the filters were too long to keep.
    """

    id: str
    time: str
    kind: QueryKind
    query: str
    evidence: Evidence
    confidence: float
    elapsed_ms: float
    generation: int
    results: Sequence[RecordedResult]
    result_count: int
    filters: Mapping[str, Any]
    top_k: int | None
    is_shortened: bool

    @classmethod
    def build(
        cls,
        kind: QueryKind,
        query: str,
        results: Sequence[RecordedResult],
        *,
        filters: Mapping[str, Any],
        **values: Any,  # noqa: ANN401  # the other attributes
    ) -> "QueryRecord":
        """Build a record within the limits of a log.

        Args:
            kind: Kind of the query.
            query: Its text.
            results: All results, best first.
            filters: Filters that were set.
            values: Further attributes.
        """
        has_long_filters = len(json.dumps(filters)) > _MAX_FILTER_CHARS
        return cls(
            id=uuid.uuid4().hex[:16],
            time=datetime.now(UTC).isoformat(timespec="milliseconds"),
            kind=kind,
            query=query[:MAX_QUERY_CHARS],
            results=_limit_results(results),
            result_count=len(results),
            filters={} if has_long_filters else filters,
            is_shortened=has_long_filters or len(query) > MAX_QUERY_CHARS,
            **values,
        )


class _Tally(NamedTuple):
    """Number of lines of a file, as long as nothing else writes it."""

    inode: int
    bytes: int
    lines: int
    is_complete: bool  # whether the last line has its end


class QueryLog:
    """Log of the queries of one index, for one writer at a time. Readers always see complete records.

    An append reads nothing, except once to count the records that others wrote.

    Args:
        index_directory: Folder of the index.
    """

    def __init__(self, index_directory: Path) -> None:
        self._directory = index_directory
        self._path = index_directory / _FILE_NAME
        self._older_path = index_directory / _OLDER_FILE_NAME
        self._tally: _Tally | None = None

    def append(self, record: QueryRecord) -> None:
        """Append a record; beyond the limits the older half is removed. Nothing is written without an index.

        Raises:
            StoreError: It cannot be written.
        """
        if not self._directory.is_dir():
            return
        line = json.dumps(asdict(record)).encode() + b"\n"
        with map_storage_errors(f"write {self._path}"):
            create_index_directory(self._directory)
            file = self._open_to_append()
            tally = self._count_lines(file)
            if tally.lines >= MAX_RECORDS or tally.bytes + len(line) > _MAX_FILE_BYTES:
                file.close()
                self._path.replace(self._older_path)
                file = self._open_to_append()
                tally = self._count_lines(file)
            with file:
                file.write(line if tally.is_complete else b"\n" + line)  # else an append was interrupted
                file.flush()
                status = os.fstat(file.fileno())
        self._tally = _Tally(status.st_ino, status.st_size, tally.lines + 1, is_complete=True)

    def read_records(self) -> list[QueryRecord]:
        """Read the records, newest first, at most 500. Damaged lines are left out.

        Raises:
            StoreError: A file cannot be read.
        """
        with map_storage_errors(f"read {self._path}"):
            lines = _read_lines(self._path)
            if len(lines) < MAX_RECORDS:
                lines = _read_lines(self._older_path) + lines
        records = [record for line in lines[-MAX_RECORDS:] if (record := _parse_record(line)) is not None]
        return records[::-1]

    def delete(self, record_id: str | None = None) -> int:
        """Delete one record, or all of them; return the number of deleted records.

        Raises:
            StoreError: A file cannot be written.
        """
        n_deleted = len(self.read_records()) if record_id is None else 0
        with map_storage_errors(f"write {self._path}"):
            for path in (self._older_path, self._path):
                if record_id is None:
                    path.unlink(missing_ok=True)
                else:
                    n_deleted += _remove_record(path, record_id)
        return n_deleted

    def _open_to_append(self) -> BinaryIO:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        return cast("BinaryIO", os.fdopen(os.open(self._path, flags, PRIVATE_MODE), "ab"))

    def _count_lines(self, file: BinaryIO) -> _Tally:
        """Return the tally of the open file; it is read if it is not as the last append left it."""
        status = os.fstat(file.fileno())
        if self._tally is not None and (status.st_ino, status.st_size) == self._tally[:2]:
            return self._tally
        content = _read_bytes(self._path) if status.st_size else b""
        is_complete = not content or content.endswith(b"\n")
        return _Tally(status.st_ino, len(content), content.count(b"\n"), is_complete)


def _read_bytes(path: Path) -> bytes:
    with suppress(FileNotFoundError, NotADirectoryError):
        return path.read_bytes()
    return b""


def _read_lines(path: Path) -> list[bytes]:
    return [line for line in _read_bytes(path).split(b"\n") if line]


def _remove_record(path: Path, record_id: str) -> int:
    """Remove a record from a file, and return the number of removed records."""
    lines = _read_lines(path)
    remaining = [line for line in lines if (record := _parse_record(line)) is None or record.id != record_id]
    if len(remaining) == len(lines):
        return 0
    if remaining:
        atomic_write(path, [line + b"\n" for line in remaining], permissions=PRIVATE_MODE, is_durable=False)
    else:
        path.unlink(missing_ok=True)
    return len(lines) - len(remaining)


def _limit_results(results: Sequence[RecordedResult]) -> list[RecordedResult]:
    limited: list[RecordedResult] = []
    chars = 0
    for result in results[:MAX_RECORDED_RESULTS]:
        chars += len(result.location) + len(result.name)
        if chars > _MAX_RESULT_CHARS:
            break
        limited.append(result)
    return limited


def _parse_record(line: bytes) -> QueryRecord | None:
    """Parse a line; None for a truncated or foreign one."""
    try:
        raw = json.loads(line)
        record = QueryRecord(**{**raw, "results": [RecordedResult(**result) for result in raw["results"]]})
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    is_valid = (
        record.kind in get_args(QueryKind)
        and record.evidence in get_args(Evidence)
        and all(isinstance(value, str) for value in (record.query, record.id, record.time))
        and all(isinstance(value, int) for value in (record.generation, record.result_count))
        and all(isinstance(value, (int, float)) for value in (record.confidence, record.elapsed_ms))
        and all(isinstance(value, str) for result in record.results for value in (result.location, result.name))
        and isinstance(record.filters, dict)
        and isinstance(record.top_k, int | None)
    )
    return record if is_valid else None
