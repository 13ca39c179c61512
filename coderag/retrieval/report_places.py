"""Find the places of a report in the index: the files it names, and the declarations that its stack traces ran through."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from coderag.schema.query import ReportFrame
from coderag.stores.corpus import Corpus
from coderag.stores.symbol_table import split_qualified

_SURE_SEGMENTS = 2  # folder and name: another package may well have a file of the same name


class Called(NamedTuple):
    """A call of a trace that is in this repository: the file, and the chunk that has it (None if none does)."""

    file: int
    row: int | None


class Places:
    """Resolves paths as reports write them: from another machine, of an installed package, of another version.

    Args:
        corpus: The open index.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._by_name: dict[str, list[int]] = {}
        for file, path in enumerate(corpus.paths):
            self._by_name.setdefault(path.rpartition("/")[2], []).append(file)

    def file_of(self, path: str) -> int | None:
        """Return the file whose path ends like another; None if that is no more than the name of a file elsewhere."""
        wanted = path.split("/")
        best, best_shared = None, 0
        for file in self._by_name.get(wanted[-1], ()):
            own = self._corpus.paths[file].split("/")
            shared = _shared_end(own, wanted)
            if shared > best_shared and (shared >= _SURE_SEGMENTS or shared in (len(own), len(wanted))):
                best, best_shared = file, shared
        return best

    def called(self, frames: Sequence[ReportFrame]) -> list[Called]:
        """Return the calls that ran through this repository, in their order, each once."""
        return list(dict.fromkeys(self._called(frames)))

    def _called(self, frames: Sequence[ReportFrame]) -> Iterator[Called]:
        for frame in frames:
            file = self.file_of(frame["path"])
            if file is not None:
                yield Called(file, self._row_of(file, frame))

    def _row_of(self, file: int, frame: ReportFrame) -> int | None:
        """Return the chunk of a call: by its name, for lines move between versions, then by its line."""
        corpus = self._corpus
        name = (split_qualified(frame["name"]) or [""])[-1]
        rows = [
            row
            for row in corpus.get_chunk_rows(file)
            if any(member["name"] == name for member in corpus.chunk_symbols[row])
        ] or [row for row in corpus.get_chunk_rows(file) if _has_line(corpus, row, frame["line"])]
        return min(rows, key=lambda row: _distance(corpus, row, frame["line"]), default=None)


def _shared_end(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many segments two paths share at their end."""
    shared = 0
    for one, other in zip(reversed(first), reversed(second), strict=False):
        if one != other:
            break
        shared += 1
    return shared


def _has_line(corpus: Corpus, row: int, line: int) -> bool:
    return bool(corpus.start_lines[row] <= line <= corpus.end_lines[row])


def _distance(corpus: Corpus, row: int, line: int) -> int:
    """Return how many lines a chunk is away from a line."""
    return max(int(corpus.start_lines[row]) - line, line - int(corpus.end_lines[row]), 0)
