"""Worklist of a summarizing run: the targets of a generation, the most used first."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.ingestion.summaries.cached_sentences import LLM_SOURCE
from coderag.ingestion.summaries.overviews import OVERVIEW_COLUMNS, Overview, Overviews, build_file_overviews
from coderag.ingestion.summaries.targets import SUBJECT_COLUMNS, Level, SummaryTarget, compute_chunk_subjects
from coderag.schema.chunks import get_module_name
from coderag.schema.vocabulary import FILE_NAMED_KINDS
from coderag.stores.search_counts import ResultKey
from coderag.stores.snapshot import Snapshot
from coderag.stores.summary_cache import IMPORTED_MAKER_PREFIX, SummaryCache

EXCLUDED_ROLES: Final = ("test", "generated", "vendored")
"""Roles of files that are not summarized by default."""

_COLUMNS: Final = (
    *dict.fromkeys((*SUBJECT_COLUMNS, *OVERVIEW_COLUMNS)),
    "id", "role", "start_line", "end_line", "start_byte", "end_byte", "docstring",
)  # fmt: skip
_MIN_CHUNK_BYTES: Final = 40  # smaller chunks are not worth a summary
_DOCUMENTED_WEIGHT: Final = 0.5  # a docstring already makes code searchable
_DEFAULT_CENTRALITY: Final = (
    0.001  # centrality of chunks without symbols, such as documents: that of a rarely used function
)
_TEXTS_PER_READ: Final = 64  # texts
_LINE_BITS: Final = 32

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SummaryCoverage:
    """Coverage of the code by summaries.

    Attributes:
        written: Chunks with a sentence of a language model, of `total` chunks to summarize.
    """

    written: int
    total: int


@dataclass(frozen=True, slots=True)
class Todo:
    """Targets of one level.

    Attributes:
        fresh: Targets that were not tried before, in order of priority.
        retried: Targets that failed before.
        subjects: Subjects of all these targets.
        outdated: Subjects whose sentence by this maker was replaced by another maker's.
    """

    fresh: Iterable[SummaryTarget]
    retried: Iterable[SummaryTarget]
    subjects: Set[str]
    outdated: Collection[str] = ()


class Worklist:
    """Targets of one generation.

    Args:
        snapshot: The generation.
        cache: The summary cache.
        include: Roles of `EXCLUDED_ROLES` to include.
        failed_before_ns: Only failures before this time, in nanoseconds since the epoch, are retried; None retries all.
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
        excluded_roles = set(EXCLUDED_ROLES) - set(include)
        is_included = np.fromiter(
            (role not in excluded_roles for role in self._read_column("role")), bool, len(snapshot)
        )
        sizes = self._columns["end_byte"].to_numpy() - self._columns["start_byte"].to_numpy()
        self._rows: list[int] = np.flatnonzero(is_included & (sizes >= _MIN_CHUNK_BYTES)).tolist()

    @property
    def coverage(self) -> SummaryCoverage:
        """Coverage of the code by summaries."""
        sources = self._read_column("summary_source")
        return SummaryCoverage(sum(sources[row] == LLM_SOURCE for row in self._rows), len(self._rows))

    def list_makers(self) -> dict[str, str]:
        """Return the maker of each chunk's sentence, by subject."""
        sources = self._read_column("summary_source")
        return self._cache.find_makers(self._subjects[row] for row in self._rows if sources[row] == LLM_SOURCE)

    @property
    def generation(self) -> int:
        """Number of the generation."""
        return self._snapshot.pointer.generation

    def map_places(self, level: Level) -> dict[str, str]:
        """Return the subject of every target of a level by its place, and of chunks also by id."""
        match level:
            case "chunk":
                lines = zip(
                    self._read_column("path"),
                    self._read_column("start_line"),
                    self._read_column("end_line"),
                    strict=True,
                )
                places = (f"{path}:{start}-{end}" for path, start, end in lines)
                return dict(zip((*places, *self._read_column("id")), (*self._subjects, *self._subjects), strict=True))
            case "file":
                return {overview.place: overview.subject for overview in build_file_overviews(self._columns)[0]}
            case "folder":
                overviews = Overviews.from_arrays(self._snapshot.read_arrays())
                overviews.folders.clear()
                subjects: dict[str, str] = {}
                for level_overviews in overviews.build_folder_overviews():
                    overviews.add_folders(level_overviews, self._cache.find_latest)
                    subjects |= {overview.place: overview.subject for overview in level_overviews}
                return subjects

    def iterate_todos(self, level: Level, maker_key: str, counts: Mapping[ResultKey, int]) -> Iterator[Todo]:
        """Yield the todos of a level; later ones may depend on the sentences of earlier ones."""
        match level:
            case "chunk":
                yield self.select_chunks(maker_key, counts)
            case "file":
                yield self.select_files(maker_key)
            case "folder":
                yield from self.select_folders(maker_key)

    def select_chunks(self, maker_key: str, counts: Mapping[ResultKey, int]) -> Todo:
        """Return the chunks without a sentence by a maker, the most used first; identical code only once.

        Args:
            maker_key: Key of the prompt and the model.
            counts: How often searches have returned each declaration.
        """
        usage = self._compute_usage(counts)
        best: dict[str, int] = {}
        for row in sorted(self._rows, key=lambda row: -usage[row]):
            best.setdefault(self._subjects[row], row)
        return self._build_todo(maker_key, best, self._build_chunk_targets)

    def select_files(self, maker_key: str) -> Todo:
        """Return the files with summarized chunks that have no sentence by a maker."""
        overviews, _ = build_file_overviews(self._columns)
        return self._build_overviews_todo(maker_key, overviews)

    def select_folders(self, maker_key: str) -> Iterator[Todo]:
        """Yield the folders without a sentence by a maker, one depth at a time, the innermost first.

        Each depth is built from the cache when it is requested.
        """
        overviews = Overviews.from_arrays(self._snapshot.read_arrays())
        overviews.folders.clear()
        for level in overviews.build_folder_overviews():
            yield self._build_overviews_todo(maker_key, level)
            overviews.add_folders(level, self._cache.find_latest)

    # Internals

    @cached_property
    def _subjects(self) -> list[str]:
        return compute_chunk_subjects(self._columns)

    def _read_column(self, name: str) -> list[str]:
        values: list[str] = self._columns[name].to_pylist()
        return values

    def _build_todo(
        self, maker_key: str, rows: Mapping[str, int], build_targets: Callable[[Sequence[int]], Iterable[SummaryTarget]]
    ) -> Todo:
        """Build the todo of subjects, each with its row, in their order."""
        done = self._cache.find_subjects_by_maker(maker_key, rows)
        writers = self._cache.find_makers(done)
        outdated = [
            subject
            for subject in done
            if writers[subject] != maker_key and not writers[subject].startswith(IMPORTED_MAKER_PREFIX)
        ]
        failures = {
            subject: failure
            for subject, failure in self._cache.find_failures(maker_key, rows).items()
            if subject not in done
        }
        failed_before_ns = self._failed_before_ns
        retried = sorted(
            (
                subject
                for subject, failure in failures.items()
                if failed_before_ns is None or failure.failed_ns < failed_before_ns
            ),
            key=lambda subject: failures[subject].attempts,
        )
        fresh = [subject for subject in rows if subject not in failures and subject not in done]
        fresh_targets, retried_targets = (
            build_targets([rows[subject] for subject in selection]) for selection in (fresh, retried)
        )
        return Todo(fresh_targets, retried_targets, {*fresh, *retried}, outdated)

    def _build_overviews_todo(self, maker_key: str, overviews: Sequence[Overview]) -> Todo:
        rows = {overview.subject: row for row, overview in enumerate(overviews)}
        return self._build_todo(maker_key, rows, lambda selection: (_to_target(overviews[row]) for row in selection))

    def _build_chunk_targets(self, rows: Sequence[int]) -> Iterator[SummaryTarget]:
        for start in range(0, len(rows), _TEXTS_PER_READ):
            batch_rows = rows[start : start + _TEXTS_PER_READ]
            chunk_columns = self._columns.select(["id", "path", "start_line", "end_line", *SUBJECT_COLUMNS]).take(
                batch_rows
            )
            texts = self._snapshot.read_texts(batch_rows)
            for row, text, entry in zip(batch_rows, texts, chunk_columns.to_pylist(), strict=True):
                place = f"{entry['path']}:{entry['start_line']}-{entry['end_line']}"
                title = _format_title(entry["kind"], entry["path"], entry["qualified_name"], entry["context"])
                yield SummaryTarget("chunk", self._subjects[row], place, title, text, entry["language"], entry["id"])

    def _compute_usage(self, counts: Mapping[ResultKey, int]) -> FloatArray:
        """Compute the usage of each chunk: by other code, by searches, and less if it has a docstring."""
        places = zip(self._read_column("path"), self._read_column("qualified_name"), strict=True)
        returned = np.fromiter((counts.get(place, 0) for place in places), np.float64, len(self._snapshot))
        documented = np.fromiter(map(bool, self._read_column("docstring")), bool, len(self._snapshot))
        centrality = np.sqrt(np.maximum(self._compute_centrality(), _DEFAULT_CENTRALITY))
        usage: FloatArray = centrality * (1 + np.log2(1 + returned)) * np.where(documented, _DOCUMENTED_WEIGHT, 1.0)
        return usage

    def _compute_centrality(self) -> FloatArray:
        """Compute for each chunk the largest centrality of the symbols that begin in it."""
        nodes = self._snapshot.read_graph().nodes
        files = {path: number for number, path in enumerate(dict.fromkeys(self._read_column("path")))}
        chunk_starts = _encode_places(files, self._read_column("path"), self._columns["start_line"].to_numpy())
        order = np.argsort(chunk_starts, kind="stable")
        declared = _encode_places(files, nodes["path"].to_pylist(), nodes["start_line"].to_numpy())
        centrality = np.zeros(len(chunk_starts))
        if len(chunk_starts) and len(declared):
            rows = order[np.maximum(np.searchsorted(chunk_starts[order], declared, side="right") - 1, 0)]
            is_same_file = chunk_starts[rows] >> _LINE_BITS == declared >> _LINE_BITS
            np.maximum.at(centrality, rows[is_same_file], nodes["centrality"].to_numpy()[is_same_file])
        return centrality


def _encode_places(files: Mapping[str, int], paths: Sequence[str], lines: NDArray[np.integer]) -> NDArray[np.int64]:
    """Encode locations as sortable numbers: the file, -1 if unknown, then the line."""
    numbers = np.fromiter((files.get(path, -1) for path in paths), np.int64, len(paths))
    return (numbers << _LINE_BITS) + lines.astype(np.int64)


def _format_title(kind: str, path: str, name: str, context: str) -> str:
    """Format the kind and name of a chunk in a line."""
    words = kind.replace("_", " ")
    if kind in FILE_NAMED_KINDS and name == get_module_name(path):
        return f"{words} of {path}"
    return f"{words} {name}" + (f", in: {context}" if context else "")


def _to_target(overview: Overview) -> SummaryTarget:
    title = f"{overview.level} {overview.place}"
    return SummaryTarget(overview.level, overview.subject, overview.place, title, "\n".join(overview.lines))
