"""Feedback on results: which of them answer a query, one case per query, in a small file beside the index."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from coderag.errors import InvalidQueryError, StoreError, UnknownNameError
from coderag.stores.disk import create_index_directory, map_storage_errors, replace_file

MAX_CASES: Final = 1_000
MAX_THUMBS: Final = 100
MAX_BYTES: Final = 1_500_000

_FILE: Final = "feedback.json"
_LOCK_FILE: Final = "feedback.lock"
_LOCK_TIMEOUT_S: Final = 10.0
_LIMIT_HINT: Final = "Export the cases, and delete those that you do not need any more."

ThumbVerdict = Literal["up", "down"]


@dataclass(frozen=True, slots=True)
class FeedbackPlace:
    """Result that a thumb is about.

    Attributes:
        symbol: Qualified name; empty for a part of a file without one.
    """

    path: str
    start_line: int
    end_line: int
    symbol: str = ""

    @property
    def key(self) -> tuple[str, str | int]:
        """Identity: the name, as lines move with edits; without one, the first line."""
        return self.path, self.symbol or self.start_line


@dataclass(frozen=True, slots=True)
class Thumb:
    """Verdict on one result: whether it answers the query."""

    place: FeedbackPlace
    verdict: ThumbVerdict


@dataclass(frozen=True, slots=True)
class FeedbackCase:
    """All feedback on one query.

    Attributes:
        id: Derived from the query: its words in their order.
        intent: Intent of the query when the last thumb was given.
        is_unanswerable: Whether the repository is said to have no answer.
        updated: Time of the last change, ISO 8601.
    """

    id: str
    query: str
    intent: str
    thumbs: Sequence[Thumb]
    is_unanswerable: bool
    updated: str

    @property
    def is_complete(self) -> bool:
        """Return whether it is a golden question: it has an answer, or is marked as unanswerable."""
        return self.is_unanswerable or any(thumb.verdict == "up" for thumb in self.thumbs)


class FeedbackStore:
    """Feedback on the results of one repository, safe for use by several threads and processes.

    Args:
        index_directory: Folder of the index.
    """

    def __init__(self, index_directory: Path) -> None:
        self._directory = index_directory
        self._path = index_directory / _FILE

    def list_cases(self) -> list[FeedbackCase]:
        """List all cases, last changed first.

        Raises:
            StoreError: The file cannot be read.
        """
        with map_storage_errors("read the feedback", hint=f"Delete {self._path} to start over."):
            return _read_cases(self._path)

    def set_thumb(self, query: str, intent: str, place: FeedbackPlace, verdict: ThumbVerdict | None) -> FeedbackCase:
        """Set the verdict on one result; None withdraws it. A case without any feedback is deleted.

        Raises:
            InvalidQueryError: There are too many cases, or thumbs of the query.
            StoreError: The file cannot be written.
        """

        def change(case: FeedbackCase) -> FeedbackCase:
            thumbs = [thumb for thumb in case.thumbs if thumb.place.key != place.key]
            if verdict:
                thumbs.append(Thumb(place, verdict))
            if len(thumbs) > MAX_THUMBS:
                raise InvalidQueryError(f"a query can have at most {MAX_THUMBS} thumbs", hint=_LIMIT_HINT)
            is_unanswerable = case.is_unanswerable and verdict != "up"
            return replace(case, thumbs=thumbs, intent=intent or case.intent, is_unanswerable=is_unanswerable)

        return self._update(query, change)

    def set_unanswerable(self, query: str, *, is_unanswerable: bool) -> FeedbackCase:
        """Mark that the repository has no answer to a query, which withdraws its thumbs up; or take the mark back.

        Raises as `set_thumb`.
        """

        def change(case: FeedbackCase) -> FeedbackCase:
            thumbs = [thumb for thumb in case.thumbs if not is_unanswerable or thumb.verdict == "down"]
            return replace(case, thumbs=thumbs, is_unanswerable=is_unanswerable)

        return self._update(query, change)

    def delete(self, case_id: str) -> None:
        """Delete a case.

        Raises:
            UnknownNameError: There is no such case.
            StoreError: The file cannot be written.
        """
        with self._lock():
            cases = self.list_cases()
            remaining = [case for case in cases if case.id != case_id]
            if len(remaining) == len(cases):
                raise UnknownNameError(f"there is no feedback case {case_id!r}")
            self._write(remaining)

    def _update(self, query: str, change: Callable[[FeedbackCase], FeedbackCase]) -> FeedbackCase:
        case_id = identify_query(query)
        with self._lock():
            cases = self.list_cases()
            empty = FeedbackCase(case_id, query.strip(), "general", (), is_unanswerable=False, updated="")
            case = change(next((case for case in cases if case.id == case_id), empty))
            case = replace(case, updated=datetime.now(UTC).isoformat(timespec="seconds"))
            remaining = [existing for existing in cases if existing.id != case_id]
            if case.thumbs or case.is_unanswerable:
                remaining.insert(0, case)
            if len(remaining) > MAX_CASES:
                raise InvalidQueryError(f"a repository can have at most {MAX_CASES:,} cases", hint=_LIMIT_HINT)
            self._write(remaining)
        return case

    def _write(self, cases: Sequence[FeedbackCase]) -> None:
        text = json.dumps([asdict(case) for case in cases], ensure_ascii=False, indent=0)
        content = text.encode("utf-8", "backslashreplace")
        if len(content) > MAX_BYTES:
            raise InvalidQueryError(f"the feedback would exceed {MAX_BYTES:,} bytes", hint=_LIMIT_HINT)
        with map_storage_errors("write the feedback"):
            replace_file(self._path, content)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        import filelock  # noqa: PLC0415  # 0.07 s

        with map_storage_errors("write the feedback"):
            create_index_directory(self._directory)
        try:
            with filelock.FileLock(self._directory / _LOCK_FILE, timeout=_LOCK_TIMEOUT_S):
                yield
        except filelock.Timeout as error:
            raise StoreError("Cannot write the feedback: another process is writing it") from error


def identify_query(query: str) -> str:
    """Return the id of a query's case: the same for queries that differ only in white space."""
    return hashlib.sha256(" ".join(query.split()).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _read_cases(path: Path) -> list[FeedbackCase]:
    try:
        records = json.loads(path.read_bytes())
    except FileNotFoundError:
        return []
    try:
        return [_parse_case(record) for record in records]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a list of feedback: {error!r}") from error


def _parse_case(record: Mapping[str, Any]) -> FeedbackCase:
    thumbs = [Thumb(FeedbackPlace(**thumb["place"]), thumb["verdict"]) for thumb in record["thumbs"]]
    return FeedbackCase(**{**record, "thumbs": thumbs})
