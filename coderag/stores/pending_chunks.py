"""Uncommitted changes to a generation's chunks: dropped rows, added rows and their counts."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coderag.errors import IndexModelError, StoreError
from coderag.stores.counts_spool import CountsSpool
from coderag.stores.disk import to_utf8
from coderag.stores.field_counts import FieldCounts
from coderag.stores.lexical_files import RowIds
from coderag.stores.pointer import REBUILD_HINT
from coderag.stores.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

FloatArray = NDArray[np.float32]


class PendingChunks:
    """Dropped and added rows of a writer: their ids, terms and counts; the writer holds the rows themselves.

    Args:
        base: Generation to change; None for a first one.
        directory: Folder for temporary files.

    Attributes:
        dimension: Dimension of the vectors; 0 if unknown.
    """

    def __init__(self, base: Snapshot | None, directory: Path) -> None:
        self._base = base
        self._base_row_count = 0 if base is None else len(base)
        self.dimension = 0 if base is None else base.pointer.embedding.dimension
        self._terms: Sequence[str] | None = None  # those of the base
        self._directory = directory
        self._counts: CountsSpool | None = None  # none were added
        self._ids: list[pa.Array] = []
        self._added_row_count = 0
        self._added_rows: dict[str, list[int]] = {}  # by path
        self._removed_paths: set[str] = set()
        self._removed_rows: list[int] = []  # of those added

    @property
    def has_changes(self) -> bool:
        """Return whether anything was added or removed."""
        return bool(self._added_row_count or self._removed_paths or self._terms is not None)

    @property
    def vocabulary(self) -> Sequence[str]:
        """Terms of the counts."""
        if self._terms is not None:
            return self._terms
        return [] if self._base is None else self._base.read_terms()

    def remove(self, paths: Iterable[str]) -> None:
        """Remove all chunks of these files, including added ones; unknown paths are ignored."""
        removed = {to_utf8(path) for path in paths}
        self._removed_paths |= removed
        for path in removed & self._added_rows.keys():
            self._removed_rows += self._added_rows.pop(path)

    def add(self, rows: "pa.Table", counts: FieldCounts, terms: Sequence[str], dimension: int) -> None:
        """Add rows that `check_batch` accepted."""
        self._terms = terms
        if not rows.num_rows:
            return
        self.dimension = dimension
        if self._counts is None:
            self._counts = CountsSpool(self._directory)
        self._counts.add(counts)
        self._ids.append(rows["id"].combine_chunks())
        for row, path in enumerate(rows["path"].to_pylist(), self._added_row_count):
            self._added_rows.setdefault(path, []).append(row)
        self._added_row_count += rows.num_rows

    def add_terms(self, terms: Iterable[str]) -> None:
        """Add terms to the vocabulary that no chunk contains."""
        self._terms = list(dict.fromkeys([*self.vocabulary, *terms]))

    def check_batch(self, n_chunks: int, vectors: FloatArray, counts: FieldCounts, terms: Sequence[str]) -> None:
        """Reject an inconsistent batch.

        Raises:
            IndexModelError: The dimension of the vectors differs.
            StoreError: Anything else is inconsistent.
        """
        if vectors.ndim != 2 or not n_chunks == len(vectors) == len(counts):
            message = f"{n_chunks} chunks with vectors of shape {vectors.shape} and counts of {len(counts)} chunks"
            raise StoreError(message)
        if self.dimension and vectors.shape[1] != self.dimension:
            message = f"Vectors of dimension {vectors.shape[1]} for an index of dimension {self.dimension}"
            raise IndexModelError(message, hint=REBUILD_HINT)
        if not np.isfinite(vectors.sum(dtype=np.float64)):
            message = "A vector contains NaN or infinity"
            raise StoreError(message)
        if counts.n_terms > len(terms):
            message = f"Counts over {counts.n_terms} terms with a vocabulary of {len(terms)}"
            raise StoreError(message)
        vocabulary = self.vocabulary
        if vocabulary is not terms and (
            len(terms) < len(vocabulary) or list(terms[: len(vocabulary)]) != list(vocabulary)
        ):
            message = "The vocabulary does not extend the previous one: terms may only be added at its end"
            raise StoreError(message)

    def compute_keep_mask(self) -> NDArray[np.bool_]:
        """Compute a mask of the kept rows, over those of the base and then the added ones."""
        keep_mask = np.ones(self._base_row_count + self._added_row_count, bool)
        if self._base is not None and self._removed_paths:
            import pyarrow as pa  # noqa: PLC0415 - 0.1 s
            import pyarrow.compute as pc  # noqa: PLC0415

            paths = self._base.read_chunks(["path"])["path"]
            is_removed = pc.is_in(paths, value_set=pa.array(sorted(self._removed_paths), pa.string()))
            keep_mask[: self._base_row_count] = ~is_removed.to_numpy()
        keep_mask[self._base_row_count + np.array(self._removed_rows, np.int64)] = False
        return keep_mask

    def split_dropped_rows(self, keep_mask: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Split dropped rows into those of the base and added ones, the latter numbered behind the kept base rows."""
        base_mask, added_mask = keep_mask[: self._base_row_count], keep_mask[self._base_row_count :]
        return np.flatnonzero(~base_mask), np.flatnonzero(~added_mask) + int(base_mask.sum())

    def build_ids(self, keep_mask: NDArray[np.bool_]) -> RowIds:
        """Build the ids of the kept rows."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        base_ids = [] if self._base is None else self._base.read_chunks(["id"])["id"].chunks
        ids = pa.chunked_array([*base_ids, *self._ids], pa.string())
        return RowIds.from_column(ids if keep_mask.all() else ids.filter(pa.array(keep_mask)))

    def read_counts(self, keep_mask: NDArray[np.bool_]) -> Sequence[FieldCounts]:
        """Return the counts of the kept rows in parts, over growing numbers of terms."""
        added_counts: Sequence[FieldCounts] = self._counts if self._counts is not None else ()
        parts = added_counts if self._base is None else [self._base.read_counts(), *added_counts]
        return FieldCounts.split_kept(parts, keep_mask)

    def close(self) -> None:
        """Delete the temporary files."""
        if self._counts is not None:
            self._counts.close()
