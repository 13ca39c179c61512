"""What of a generation a language model is to write of, the most used first."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.ingestion.summaries.kept import SOURCE
from coderag.ingestion.summaries.overviews import OVERVIEW_COLUMNS, Overview, Overviews, file_overviews
from coderag.ingestion.summaries.subjects import SUBJECT_COLUMNS, Level, Piece, chunk_subjects
from coderag.schema.chunks import get_module_name
from coderag.schema.vocabulary import FILE_NAMED_KINDS
from coderag.stores.search_counts import ResultKey
from coderag.stores.snapshot import Snapshot
from coderag.stores.summary_cache import IMPORTED_MAKER_PREFIX, SummaryCache

LEFT_OUT: Final = ("test", "generated", "vendored")
"""Roles of files whose code is not summarised unless it is asked for."""

_COLUMNS: Final = (
    *dict.fromkeys((*SUBJECT_COLUMNS, *OVERVIEW_COLUMNS)),
    "id", "role", "start_line", "end_line", "start_byte", "end_byte", "docstring",
)  # fmt: skip
_LEAST_BYTES: Final = 40  # of a chunk: of less there is nothing to say
_DOCUMENTED: Final = 0.5  # what has a docstring is found by that already
_UNRANKED: Final = (
    0.001  # centrality of what the graph does not know, such as documents: that of a seldom used function
)
_READ_AT_ONCE: Final = 64  # texts
_LINE_BITS: Final = 32

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Share:
    """How much of the code has its sentence.

    Attributes:
        written: Chunks with a sentence of a language model, of all `total` that are to have one.
    """

    written: int
    total: int


@dataclass(frozen=True, slots=True)
class Todo:
    """Pieces of one level to write of.

    Attributes:
        fresh: Those that were not tried before, in the order to write of them.
        again: Those that have failed before.
        subjects: Of all of them.
        outdated: Of other pieces, which the maker wrote of once, but somebody else since.
    """

    fresh: Iterable[Piece]
    again: Iterable[Piece]
    subjects: Set[str]
    outdated: Collection[str] = ()


class Work:
    """What is to be done in one generation.

    Args:
        snapshot: The generation.
        cache: The sentences that there are.
        include: Roles of `LEFT_OUT` to summarise nevertheless.
        failed_before_ns: Only what has failed earlier than that, in nanoseconds of the epoch, is tried again; None tries all.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        cache: SummaryCache,
        include: Collection[str] = (),
        failed_before_ns: int | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._cache = cache
        self._failed_before_ns = failed_before_ns
        self._columns = snapshot.read_chunks(_COLUMNS)
        left_out = set(LEFT_OUT) - set(include)
        wanted = np.fromiter((role not in left_out for role in self._list("role")), bool, len(snapshot))
        sizes = self._columns["end_byte"].to_numpy() - self._columns["start_byte"].to_numpy()
        self._rows: list[int] = np.flatnonzero(wanted & (sizes >= _LEAST_BYTES)).tolist()

    @property
    def share(self) -> Share:
        """How much of the code has its sentence."""
        sources = self._list("summary_source")
        return Share(sum(sources[row] == SOURCE for row in self._rows), len(self._rows))

    def writers(self) -> dict[str, str]:
        """Return who wrote the sentence of each chunk that has one, by subject."""
        sources = self._list("summary_source")
        return self._cache.find_makers(self._subjects[row] for row in self._rows if sources[row] == SOURCE)

    @property
    def generation(self) -> int:
        """Number of the generation."""
        return self._snapshot.pointer.generation

    def places(self, level: Level) -> dict[str, str]:
        """Return the subject of everything of a level that may have a sentence, by its place, and of chunks by their id."""
        match level:
            case "chunk":
                lines = zip(self._list("path"), self._list("start_line"), self._list("end_line"), strict=True)
                places = (f"{path}:{start}-{end}" for path, start, end in lines)
                return dict(zip((*places, *self._list("id")), (*self._subjects, *self._subjects), strict=True))
            case "file":
                return {one.place: one.subject for one in file_overviews(self._columns)[0]}
            case "folder":
                overviews = Overviews.of_arrays(self._snapshot.read_arrays())
                overviews.folders.clear()
                found: dict[str, str] = {}
                for some in overviews.folder_overviews():
                    overviews.take_folders(some, self._cache.find_latest)
                    found |= {one.place: one.subject for one in some}
                return found

    def todos(self, level: Level, maker: str, counts: Mapping[ResultKey, int]) -> Iterator[Todo]:
        """Yield what is to be done of a level; what comes later may be made from what is written of the earlier."""
        match level:
            case "chunk":
                yield self.chunks(maker, counts)
            case "file":
                yield self.files(maker)
            case "folder":
                yield from self.folders(maker)

    def chunks(self, maker: str, counts: Mapping[ResultKey, int]) -> Todo:
        """Return the chunks that a maker has not written of, the most used first; of equal code one.

        Args:
            maker: Who is to write.
            counts: How often searches have returned what.
        """
        use = self._use(counts)
        best: dict[str, int] = {}
        for row in sorted(self._rows, key=lambda row: -use[row]):
            best.setdefault(self._subjects[row], row)
        return self._todo(maker, best, self._chunk_pieces)

    def files(self, maker: str) -> Todo:
        """Return the files that have sentences of their code, and none of a maker themselves."""
        overviews, _ = file_overviews(self._columns)
        return self._overviews_todo(maker, overviews)

    def folders(self, maker: str) -> Iterator[Todo]:
        """Yield the folders that have no sentence of a maker, those of one depth at a time, the innermost first.

        Those of the next depth are made from what is in the cache when they are asked for.
        """
        overviews = Overviews.of_arrays(self._snapshot.read_arrays())
        overviews.folders.clear()
        for level in overviews.folder_overviews():
            yield self._overviews_todo(maker, level)
            overviews.take_folders(level, self._cache.find_latest)

    # Inside

    @cached_property
    def _subjects(self) -> list[str]:
        return chunk_subjects(self._columns)

    def _list(self, name: str) -> list[str]:
        values: list[str] = self._columns[name].to_pylist()
        return values

    def _todo(self, maker: str, rows: Mapping[str, int], pieces: Callable[[Sequence[int]], Iterable[Piece]]) -> Todo:
        """Return what is to be done of some subjects, each with its row, in their order."""
        done = self._cache.find_subjects_by_maker(maker, rows)
        writers = self._cache.find_makers(done)
        outdated = [one for one in done if writers[one] != maker and not writers[one].startswith(IMPORTED_MAKER_PREFIX)]
        failures = {one: failure for one, failure in self._cache.find_failures(maker, rows).items() if one not in done}
        before = self._failed_before_ns
        again = sorted(
            (subject for subject, one in failures.items() if before is None or one.failed_ns < before),
            key=lambda subject: failures[subject].attempts,
        )
        fresh = [subject for subject in rows if subject not in failures and subject not in done]
        first, then = (pieces([rows[subject] for subject in some]) for some in (fresh, again))
        return Todo(first, then, {*fresh, *again}, outdated)

    def _overviews_todo(self, maker: str, overviews: Sequence[Overview]) -> Todo:
        rows = {one.subject: row for row, one in enumerate(overviews)}
        return self._todo(maker, rows, lambda some: (_overview_piece(overviews[row]) for row in some))

    def _chunk_pieces(self, rows: Sequence[int]) -> Iterator[Piece]:
        for start in range(0, len(rows), _READ_AT_ONCE):
            some = rows[start : start + _READ_AT_ONCE]
            shown = self._columns.select(["id", "path", "start_line", "end_line", *SUBJECT_COLUMNS]).take(some)
            texts = self._snapshot.read_texts(some)
            for row, text, entry in zip(some, texts, shown.to_pylist(), strict=True):
                place = f"{entry['path']}:{entry['start_line']}-{entry['end_line']}"
                title = _title(entry["kind"], entry["path"], entry["qualified_name"], entry["context"])
                yield Piece("chunk", self._subjects[row], place, title, text, entry["language"], entry["id"])

    def _use(self, counts: Mapping[ResultKey, int]) -> FloatArray:
        """Return for each chunk how much it is used: by other code, by searches, and less if it explains itself."""
        places = zip(self._list("path"), self._list("qualified_name"), strict=True)
        returned = np.fromiter((counts.get(place, 0) for place in places), np.float64, len(self._snapshot))
        documented = np.fromiter(map(bool, self._list("docstring")), bool, len(self._snapshot))
        central = np.sqrt(np.maximum(self._centrality(), _UNRANKED))
        use: FloatArray = central * (1 + np.log2(1 + returned)) * np.where(documented, _DOCUMENTED, 1.0)
        return use

    def _centrality(self) -> FloatArray:
        """Return for each chunk the largest centrality of what begins in it."""
        nodes = self._snapshot.read_graph().nodes
        files = {path: number for number, path in enumerate(dict.fromkeys(self._list("path")))}
        begin = _places(files, self._list("path"), self._columns["start_line"].to_numpy())
        order = np.argsort(begin, kind="stable")
        declared = _places(files, nodes["path"].to_pylist(), nodes["start_line"].to_numpy())
        centrality = np.zeros(len(begin))
        if len(begin) and len(declared):
            rows = order[np.maximum(np.searchsorted(begin[order], declared, side="right") - 1, 0)]
            is_there = begin[rows] >> _LINE_BITS == declared >> _LINE_BITS
            np.maximum.at(centrality, rows[is_there], nodes["centrality"].to_numpy()[is_there])
        return centrality


def _places(files: Mapping[str, int], paths: Sequence[str], lines: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return places as numbers that have their order: the file, -1 for an unknown one, and then the line."""
    numbers = np.fromiter((files.get(path, -1) for path in paths), np.int64, len(paths))
    return (numbers << _LINE_BITS) + lines.astype(np.int64)


def _title(kind: str, path: str, name: str, context: str) -> str:
    """Return what a chunk is, in a line."""
    words = kind.replace("_", " ")
    if kind in FILE_NAMED_KINDS and name == get_module_name(path):
        return f"{words} of {path}"
    return f"{words} {name}" + (f", in: {context}" if context else "")


def _overview_piece(overview: Overview) -> Piece:
    title = f"{overview.level} {overview.place}"
    return Piece(overview.level, overview.subject, overview.place, title, "\n".join(overview.lines))
