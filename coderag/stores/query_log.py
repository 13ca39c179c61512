"""Log of recent searches and questions of one repository: JSON lines beside the index, bounded in number and size."""

import json
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, get_args

from coderag.schema.vocabulary import Evidence
from coderag.stores.disk import create_index_directory, map_storage_errors
from coderag.system.atomic_write import PRIVATE_MODE, atomic_write

QueryKind = Literal["search", "ask", "context"]

MAX_RECORDS: Final = 500
MAX_QUERY_CHARS: Final = 4_000
MAX_RECORDED_RESULTS: Final = 50

_FILE_NAME: Final = "queries.jsonl"
_MAX_RESULT_CHARS: Final = 16_000  # in total: a page of 50 records stays below 2 MB
_MAX_FILTER_CHARS: Final = 4_000
_MAX_BYTES: Final = 4_000_000
_SLACK_RECORDS: Final = 50  # the file is rewritten only once in so many appends


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


class QueryLog:
    """Log of the queries of one index, for one writer at a time. Readers always see complete records.

    Args:
        index_directory: Folder of the index.
    """

    def __init__(self, index_directory: Path) -> None:
        self._directory = index_directory
        self._path = index_directory / _FILE_NAME

    def append(self, record: QueryRecord) -> None:
        """Append a record; beyond the limit the oldest are removed. Nothing is written without an index.

        Raises:
            StoreError: It cannot be written.
        """
        if not self._directory.is_dir():
            return
        line = json.dumps(asdict(record)).encode() + b"\n"
        with map_storage_errors(f"write {self._path}"):
            create_index_directory(self._directory)
            content = self._read_bytes()
            if content and not content.endswith(b"\n"):  # an append was interrupted
                line = b"\n" + line
            if content.count(b"\n") >= MAX_RECORDS + _SLACK_RECORDS or len(content) + len(line) > _MAX_BYTES:
                self._replace((content + line).splitlines())
                return
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, PRIVATE_MODE)
            with os.fdopen(descriptor, "ab") as file:
                file.write(line)

    def read_records(self) -> list[QueryRecord]:
        """Read the records, newest first. Damaged lines are left out.

        Raises:
            StoreError: The file cannot be read.
        """
        with map_storage_errors(f"read {self._path}"):
            lines = self._read_bytes().splitlines()
        records = [record for line in lines[-MAX_RECORDS:] if (record := _parse_record(line)) is not None]
        return records[::-1]

    def delete(self, record_id: str | None = None) -> int:
        """Delete one record, or all of them; return the number of deleted records.

        Raises:
            StoreError: The file cannot be written.
        """
        records = self.read_records()
        remaining = [record for record in records if record_id is not None and record.id != record_id]
        with map_storage_errors(f"write {self._path}"):
            if not remaining:
                self._path.unlink(missing_ok=True)
            elif len(remaining) < len(records):
                self._replace(json.dumps(asdict(record)).encode() for record in reversed(remaining))
        return len(records) - len(remaining)

    def _read_bytes(self) -> bytes:
        with suppress(FileNotFoundError, NotADirectoryError):
            return self._path.read_bytes()
        return b""

    def _replace(self, lines: Iterable[bytes]) -> None:
        """Replace the file by the last lines that fit, with room for some appends."""
        size, latest = 0, []
        for line in reversed([line for line in lines if line][-MAX_RECORDS:]):
            size += len(line) + 1
            if size > _MAX_BYTES // 2:
                break
            latest.append(line + b"\n")
        atomic_write(self._path, latest[::-1], permissions=PRIVATE_MODE, is_durable=False)


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
