"""Dense model of the word vectors that ship with the package."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coderag.models.word_vectors import CountedField, WordVectors
from coderag.stores.pointer import EmbeddingInfo
from coderag.text.path_masking import PathMask

if TYPE_CHECKING:
    pass
from coderag.models.dense import _MAX_CACHED_QUERIES, BatchVectors, ChunkBatch, FloatArray


class EmbeddedDense:
    """Packaged word vectors: a vector is a row of a sparse product. Nothing leaves this process."""

    mask: PathMask | None = None

    def __init__(self, words: WordVectors) -> None:
        self._words = words
        self._terms: Sequence[str] = ()
        self._rows = np.zeros(0, np.int32)  # row in the table of each of `_terms`, or -1
        self._query_vector = lru_cache(_MAX_CACHED_QUERIES)(words.embed_terms)  # several nodes embed the same query

    @property
    def info(self) -> EmbeddingInfo:
        """Identity that an index records of the model."""
        return EmbeddingInfo("embedded", f"{self._words.name}-{self._words.version}", self._words.dimension)

    def embed_batch(self, batch: ChunkBatch) -> BatchVectors:
        """Return the vectors of a batch, from its counts alone."""
        rows, weights = self._find_rows(batch.terms), self._words.field_weights
        body, names, _ = batch.counts.matrices
        fields = [CountedField(body, weights["body"]), CountedField(names, weights["names"])]
        paths = CountedField(batch.path_counts, weights["path"])
        return BatchVectors(*self._words.embed_chunks(fields, paths, rows, batch.membership))

    def embed_query(self, query: str, terms: Sequence[str]) -> FloatArray:
        """Return the vector of a query's terms."""
        del query
        return self._query_vector(tuple(terms))

    def _find_rows(self, terms: Sequence[str]) -> NDArray[np.int32]:
        """Find each term's row in the table, or -1; terms that extend the previous ones are looked up alone."""
        n_reused = len(self._rows)
        if self._terms is not terms and list(terms[:n_reused]) != list(self._terms[:n_reused]):  # another index's
            n_reused = 0
        self._rows = np.concatenate([self._rows[:n_reused], self._words.find_rows(terms[n_reused:])])
        self._terms = terms
        return self._rows
