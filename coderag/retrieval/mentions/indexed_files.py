"""Texts of the indexed files that contain a word, with edits on disk as far as the snapshot has them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from coderag.retrieval.filters import NO_FILTERS
from coderag.retrieval.mentions.name_pattern import NamePattern
from coderag.retrieval.text_search.file_declarations import FileDeclarations
from coderag.retrieval.text_search.file_filter import filter_records
from coderag.schema.chunks import LINE_DATA_NOTE, FileRecord
from coderag.schema.query import FilterValues
from coderag.stores.protocols import IndexSnapshot

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_MAX_BATCH_ROWS = 50_000
"""Chunks whose text is held at once in an index that is larger."""


@dataclass(frozen=True, slots=True)
class MatchingFile:
    """A file with occurrences of a name.

    Attributes:
        lines: Its lines; those that are in no chunk are empty.
        spans: Line number (1-based), first and last column (0-based) of each occurrence, in order.
    """

    record: FileRecord
    lines: Sequence[str]
    spans: Sequence[tuple[int, int, int]]


class IndexedFiles:
    """Indexed files of a snapshot.

    Args:
        snapshot: The snapshot.
        filters: Filters of the files.
    """

    def __init__(self, snapshot: IndexSnapshot, filters: FilterValues = NO_FILTERS) -> None:
        self._snapshot = snapshot
        self._filters = filters
        self.declarations = FileDeclarations(snapshot)

    @cached_property
    def records(self) -> dict[str, FileRecord]:
        """Records of the indexed files, by path."""
        records = [record for record in self._snapshot.read_files() if record.outcome == "indexed"]
        records = filter_records(records, self._filters, lambda _: "", self._snapshot.read_files)
        return {record.path: record for record in records}

    @cached_property
    def n_left_out(self) -> int:
        """Number of files that are not indexed, or without the data of long lines; binary and empty ones do not count."""
        return sum(
            LINE_DATA_NOTE in record.note
            if record.outcome == "indexed"
            else not record.reason.startswith(("binary", "empty"))
            for record in self._snapshot.read_files()
        )

    def find_files(self, pattern: NamePattern) -> Iterator[MatchingFile]:
        """Yield the files that mention a name, in the order of the index."""
        matching = (int(number) for rows in self._find_rows(pattern) for number in self._file_numbers[rows])
        numbers = sorted({*matching, *self._find_cut_files(pattern)})
        names = self._paths.dictionary.to_pylist()
        for number in numbers:
            record = self.records.get(names[number])
            if record is not None and (file := self._read_file(record, number, pattern)):
                yield file

    def count_files(self, pattern: NamePattern) -> int:
        """Count the files whose text contains a spelling, also inside of a longer word; faster than `find_files`."""
        return len({number for rows in self._find_rows(pattern) for number in self._file_numbers[rows].tolist()})

    def _find_rows(self, pattern: NamePattern) -> "Iterator[NDArray[np.int64]]":
        """Yield rows of chunks whose text contains a spelling, batch by batch."""
        import pyarrow.compute as pc  # noqa: PLC0415  # 0.1 s

        for start, texts in self._iterate_texts():
            for word in pattern.spellings:
                mask = pc.match_substring(texts, word, ignore_case=pattern.ignores_case)
                yield np.flatnonzero(mask.to_numpy(zero_copy_only=False)) + start

    def _iterate_texts(self) -> "Iterator[tuple[int, pa.Array | pa.ChunkedArray]]":
        """Yield the texts of all chunks in batches, each with its first row."""
        n_rows = len(self._file_numbers)
        if n_rows <= _MAX_BATCH_ROWS:
            yield 0, self._texts
            return
        import pyarrow as pa  # noqa: PLC0415  # 0.1 s

        for start in range(0, n_rows, _MAX_BATCH_ROWS):
            yield start, pa.array(self._snapshot.read_texts(range(start, min(start + _MAX_BATCH_ROWS, n_rows))))

    def iterate_files(self) -> Iterator[tuple[FileRecord, list[str]]]:
        """Yield all indexed files with their lines; those that are in no chunk are empty."""
        names = self._paths.dictionary.to_pylist()
        for number, name in enumerate(names):
            if name in self.records:
                yield self.records[name], self._read_lines(number)

    def read_lines(self, path: str) -> list[str]:
        """Return the lines of an indexed file; empty if it has no chunks."""
        number = self._numbers_by_path.get(path)
        return [] if number is None else self._read_lines(number)

    @cached_property
    def _numbers_by_path(self) -> dict[str, int]:
        return {path: number for number, path in enumerate(self._paths.dictionary.to_pylist())}

    def _read_file(self, record: FileRecord, number: int, pattern: NamePattern) -> MatchingFile | None:
        lines = self._read_lines(number)
        spans = [
            (line, start, end)
            for line, text in enumerate(lines, 1)
            if text
            for start, end in pattern.find_spans(text, record.language)
        ]
        return MatchingFile(record, lines, spans) if spans else None

    def _read_lines(self, number: int) -> list[str]:
        rows = np.arange(*np.searchsorted(self._sorted_numbers, [number, number + 1]))
        rows = self._rows_by_file[rows].tolist()
        texts = self._read_texts(rows)
        lines: dict[int, str] = {}
        for row, text in zip(rows, texts, strict=True):
            for line, part in enumerate(text.removesuffix("\n").split("\n"), int(self._start_lines[row])):
                earlier = lines.get(line, "")  # chunks overlap in lines, or a long line is cut into several
                lines[line] = part if part == earlier else f"{earlier}{part}"
        return [lines.get(line, "") for line in range(1, max(lines, default=0) + 1)]

    def _read_texts(self, rows: Sequence[int]) -> list[str]:
        if len(self._file_numbers) > _MAX_BATCH_ROWS:
            return self._snapshot.read_texts(rows)
        return [self._texts[row].as_py() for row in rows]

    @cached_property
    def _table(self) -> "pa.Table":
        return self._snapshot.read_chunks(["path", "start_line", "end_line"])

    @cached_property
    def _texts(self) -> "pa.Array":
        return self._snapshot.read_chunks(["text"])["text"].combine_chunks()

    @cached_property
    def _paths(self) -> "pa.DictionaryArray":
        return self._table["path"].combine_chunks().dictionary_encode()

    @cached_property
    def _file_numbers(self) -> "NDArray[np.int64]":
        """int64 (n_chunks,): number of each chunk's file."""
        return np.asarray(self._paths.indices.to_numpy(zero_copy_only=False), np.int64)

    def _find_cut_files(self, pattern: NamePattern) -> list[int]:
        """Return the numbers of the files where a spelling may be cut between two chunks of one long line."""
        reach = max(map(len, pattern.spellings))
        same_file = self._file_numbers[1:] == self._file_numbers[:-1]
        same_line = self._start_lines[1:] == self._end_lines[:-1]
        rows: list[int] = np.flatnonzero(same_file & same_line).tolist()
        numbers = []
        for row in rows:
            before, after = self._read_texts([row, row + 1])
            seam = before[-reach:] + after[:reach]
            if not before.endswith("\n") and any(pattern.find_spans(seam, "")):
                numbers.append(int(self._file_numbers[row]))
        return numbers

    @cached_property
    def _rows_by_file(self) -> "NDArray[np.int64]":
        return np.argsort(self._file_numbers, kind="stable")

    @cached_property
    def _sorted_numbers(self) -> "NDArray[np.int64]":
        return self._file_numbers[self._rows_by_file]

    @cached_property
    def _start_lines(self) -> "NDArray[np.int64]":
        return np.asarray(self._table["start_line"].to_numpy(), np.int64)

    @cached_property
    def _end_lines(self) -> "NDArray[np.int64]":
        return np.asarray(self._table["end_line"].to_numpy(), np.int64)
