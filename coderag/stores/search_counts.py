"""Counts of search results by location, never of questions, in a small file beside the index.

A search appends a line to a buffer; only a reader of the counts parses the file.
"""

import json
import threading
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coderag.stores.disk import create_index_directory

if TYPE_CHECKING:
    from coderag.schema.query import Candidate
    from coderag.stores.corpus import Corpus

_LOG_FILE: Final = "returned.jsonl"
_ROTATED_LOG_FILE: Final = "returned.earlier.jsonl"
_MAX_LOG_BYTES: Final = 1_000_000  # about 2,000 searches; then the file is rotated
_FLUSH_LINES: Final = 16

ResultKey = tuple[str, str]
"""A file's path and the qualified name of a chunk in it, stable under edits elsewhere."""


class SearchCounts:
    """Counter of the results of an index's searches. It does nothing if the folder is not writable.

    Args:
        index_directory: Folder of the index.
        is_enabled: Whether to count; earlier counts are readable in any case.
    """

    def __init__(self, index_directory: Path, *, is_enabled: bool = True) -> None:
        self._is_enabled = is_enabled
        self._log = _BufferedLog(index_directory)
        weakref.finalize(self, self._log.flush)  # also at process exit

    def record_keys(self, keys: Iterable[ResultKey]) -> None:
        """Count the results of one search, by key."""
        self._log.add(json.dumps([*keys], ensure_ascii=False))

    def record_results(self, corpus: "Corpus", results: "Sequence[Candidate]") -> None:
        """Count the results of one search."""
        if not self._is_enabled:
            return
        rows = [corpus.rows_by_id[result["chunk_id"]] for result in results]
        self.record_keys((corpus.get_value("path", row), corpus.get_value("qualified_name", row)) for row in rows)

    def read_counts(self) -> Counter[ResultKey]:
        """Return how often each key was returned, as far as recorded."""
        self._log.flush()
        return Counter(key for line in self._log.read_lines() for key in _parse_keys(line))


class _BufferedLog:
    """Log file whose lines are buffered in memory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lines: list[str] = []
        self._lock = threading.Lock()
        self._is_disabled = False

    def add(self, line: str) -> None:
        with self._lock:
            if not self._is_disabled:
                self._lines.append(line)
            is_full = len(self._lines) >= _FLUSH_LINES
        if is_full:
            self.flush()

    def flush(self) -> None:
        with self._lock:
            lines, self._lines = self._lines, []
            if not lines or not self._directory.is_dir():
                return
            path = self._directory / _LOG_FILE
            try:
                create_index_directory(self._directory)
                with path.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                    file.write("".join(f"{line}\n" for line in lines))
                    size = file.tell()
                if size > _MAX_LOG_BYTES:
                    path.replace(self._directory / _ROTATED_LOG_FILE)
            except OSError:
                self._is_disabled = True

    def read_lines(self) -> Iterator[str]:
        for name in (_ROTATED_LOG_FILE, _LOG_FILE):
            with suppress(OSError):
                yield from (self._directory / name).read_text(encoding="utf-8", errors="replace").splitlines()


def _parse_keys(line: str) -> list[ResultKey]:
    """Parse the keys of a line; empty for a truncated or foreign line."""
    try:
        return [(str(path), str(name)) for path, name in json.loads(line)]
    except (ValueError, TypeError):
        return []
