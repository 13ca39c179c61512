"""Resident arrays of an overlay, which reuse those of its generation."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from coderag.stores.chunk_edges import ChunkEdges
from coderag.stores.corpus import Corpus
from coderag.stores.overlay import OverlaySnapshot
from coderag.text.tokenizer import tokenize_path

FloatArray = NDArray[np.float32]

_MIN_LARGE_GRAPH_EDGES = 20_000
"""Beyond this size a search after an edit reuses the old edges. Relinking ten times as many takes 0.2 s."""


class OverlayCorpus(Corpus):
    """Resident arrays of an overlay, which reuse those of its generation.

    Args:
        snapshot: The overlay.
        base: Arrays of the generation.
    """

    def __init__(self, snapshot: OverlaySnapshot, base: Corpus) -> None:
        super().__init__(snapshot)
        self._overlay = snapshot
        self._base = base

    def read_texts(self, rows: Sequence[int]) -> list[str]:
        """Return the source of some chunks."""
        overlay = self._overlay
        old = {row: overlay.find_base_row(row) for row in map(int, rows) if row < overlay.n_kept}
        stored = dict(zip(old, self._base.read_texts(list(old.values())), strict=True)) if old else {}
        return [stored[row] if row in stored else overlay.get_fresh_text(row) for row in map(int, rows)]

    def _load_list(self, name: str) -> list[str]:
        base_values, overlay = self._base.get_column(name), self._overlay
        values = [value for start, end in overlay.kept_runs for value in base_values[start:end]]
        self._lists[name] = values + self._columns[name].slice(overlay.n_kept).to_pylist()
        return self._lists[name]

    @cached_property
    def _path_counts(self) -> sp.csr_matrix:
        """Term counts of the paths; those of kept files come first and are reused."""
        base, n_kept = self._base, self._overlay.n_kept
        n_old = int(self.chunk_files[n_kept - 1]) + 1 if n_kept else 0
        file_numbers = {path: number for number, path in enumerate(base.paths)}
        old = base._path_counts[[file_numbers[path] for path in self.paths[:n_old]]]
        ends = np.concatenate([old.indptr, np.full(self.n_files - n_old, old.indptr[-1], old.indptr.dtype)])
        widened = sp.csr_matrix((old.data, old.indices, ends), shape=(self.n_files, len(self.term_ids)))
        fresh = [tokenize_path(path) for path in self.paths[n_old:]]
        counts: sp.csr_matrix = (widened + self._count_terms([*([()] * n_old), *fresh])).tocsr()
        return counts

    @cached_property
    def chunk_edges(self) -> ChunkEdges:
        """Uses between chunks; in a large graph those before the edits, without the edited files."""
        if self._overlay.base.pointer.edges < _MIN_LARGE_GRAPH_EDGES:
            return super().chunk_edges
        kept_rows = [row for start, end in self._overlay.kept_runs for row in range(start, end)]
        new_rows = np.full(self._base.n_chunks, -1, np.int64)
        new_rows[kept_rows] = np.arange(len(kept_rows))
        return self._base.chunk_edges.renumber(new_rows, self.n_chunks)
