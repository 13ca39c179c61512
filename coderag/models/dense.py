"""The dense models behind one interface: they embed batches of chunks, files and questions.

`EmbeddedDense` works on term counts alone; `ProviderDense` sends texts to a model on a server.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from coderag.errors import IndexModelError
from coderag.models.word_vectors import WordVectors
from coderag.stores.field_counts import FieldCounts
from coderag.stores.pointer import EmbeddingInfo

FloatArray = NDArray[np.float32]

_NAMES_WEIGHT = 2.0  # names and summaries count double: they say what the body does
_DOCS_WEIGHT = 2.0
_FILE_NAMES_WEIGHT = 2.0
_QUERIES_KEPT = 64
_FILE_PATH_WEIGHT = 4.0  # a path's few words against a whole file's many


@dataclass(frozen=True, slots=True)
class Batch:
    """Chunks of some whole files, counted.

    Attributes:
        texts: For each chunk, the text that a provider's model embeds.
        counts: Term counts of the chunks.
        terms: The vocabulary, one term a column of the counts.
        paths: The files.
        file_of: int (n_chunks,), position in `paths` of each chunk's file.
        path_counts: float32 (n_files, n_terms), term counts of the paths.
    """

    texts: Sequence[str]
    counts: FieldCounts
    terms: Sequence[str]
    paths: Sequence[str]
    file_of: NDArray[np.intp]
    path_counts: sp.csr_matrix

    @property
    def chunks_of_files(self) -> sp.csr_matrix:
        """float32 (n_files, n_chunks), 1 where a chunk is of a file."""
        ones = np.ones(len(self.file_of), np.float32)
        shape = (len(self.paths), len(self.file_of))
        return sp.csr_matrix((ones, (self.file_of, np.arange(len(self.file_of)))), shape=shape)


@dataclass(frozen=True, slots=True)
class BatchVectors:
    """float32 arrays, rows normalised or zero: chunks (n_chunks, d); files and paths (n_files, d)."""

    chunks: FloatArray
    files: FloatArray
    paths: FloatArray


class DenseModel(Protocol):
    """What indexing and searching need of a dense model."""

    def embed_batch(self, batch: Batch) -> BatchVectors:
        """Return the vectors of a batch."""
        ...

    def embed_query(self, query: str, terms: Sequence[str]) -> FloatArray:
        """Return the vector of a question, shape (dimension,)."""
        ...

    @property
    def info(self) -> EmbeddingInfo:
        """What an index records of the model."""
        ...


class TextEmbedder(Protocol):
    """A model that embeds texts, such as `coderag.models.providers.RemoteEmbedding`; vectors need not be normalised."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def dimension(self) -> int:
        """Number of components of a vector; may cost a request."""
        ...

    def embed_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return the vectors of texts to be found, shape (len(texts), dimension)."""
        ...

    def embed_query(self, query: str) -> FloatArray:
        """Return the vector of a question, shape (dimension,)."""
        ...


class EmbeddedDense:
    """The word vectors that ship with the package: a vector is one row of a sparse product."""

    def __init__(self, words: WordVectors) -> None:
        self._words = words
        self._terms: list[str] = []
        self._rows = np.zeros((0, words.dimension), np.float32)  # of `_terms`, and room for more

    @property
    def info(self) -> EmbeddingInfo:
        """What an index records of the model."""
        return EmbeddingInfo("embedded", f"{self._words.name}-{self._words.version}", self._words.dimension)

    def embed_batch(self, batch: Batch) -> BatchVectors:
        """Return the vectors of a batch, from its counts alone."""
        rows = self._rows_of(batch.terms)
        counts, of_files, paths = batch.counts, batch.chunks_of_files, batch.path_counts
        chunks = counts.body + paths[batch.file_of] + _NAMES_WEIGHT * counts.names + _DOCS_WEIGHT * counts.docs
        files = of_files @ (counts.body + _FILE_NAMES_WEIGHT * counts.names) + _FILE_PATH_WEIGHT * paths
        return BatchVectors(
            chunks=self._words.embed_counts(chunks.tocsr(), rows),
            files=self._words.embed_counts(files.tocsr(), rows),
            paths=self._words.embed_counts(paths, rows),
        )

    def embed_query(self, query: str, terms: Sequence[str]) -> FloatArray:
        """Return the vector of a question's terms."""
        del query
        return self._words.embed_terms(terms)

    def _rows_of(self, terms: Sequence[str]) -> FloatArray:
        """Return the rows of a vocabulary; where it continues that of the batch before, only the new ones are made."""
        known = len(self._terms)
        if list(terms[:known]) != self._terms:  # another index's
            known = 0
        if len(terms) > len(self._rows):
            grown = np.zeros((max(len(terms), 2 * len(self._rows)), self._words.dimension), np.float32)
            grown[:known] = self._rows[:known]
            self._rows = grown
        self._rows[known : len(terms)] = self._words.term_rows(terms[known:])
        self._terms = list(terms)
        return self._rows[: len(terms)]


class ProviderDense:
    """A model on a server, such as Ollama's."""

    def __init__(self, model: TextEmbedder, provider: str) -> None:
        self._model = model
        self._provider = provider
        # One question is compared in several nodes, and again when it is widened: it is sent once.
        self._query_vector = lru_cache(_QUERIES_KEPT)(self._ask_for_query)

    @property
    def info(self) -> EmbeddingInfo:
        """What an index records of the model; the dimension is asked of the model, with one request."""
        return EmbeddingInfo(self._provider, self._model.name, self._model.dimension)

    def embed_batch(self, batch: Batch) -> BatchVectors:
        """Return the vectors of a batch; a file's is the mean of its chunks'."""
        chunks = _normalised(self._model.embed_texts(batch.texts))
        paths = self._model.embed_texts([path.replace("/", " ").replace("_", " ") for path in batch.paths])
        return BatchVectors(chunks=chunks, files=_normalised(batch.chunks_of_files @ chunks), paths=_normalised(paths))

    def embed_query(self, query: str, terms: Sequence[str]) -> FloatArray:
        """Return the vector of a question."""
        del terms
        return self._query_vector(query)

    def _ask_for_query(self, query: str) -> FloatArray:
        return _normalised(self._model.embed_query(query)[None]).reshape(-1)


def _normalised(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    normalised: FloatArray = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return normalised


def check_embedding(recorded: EmbeddingInfo, model: DenseModel) -> None:
    """Refuse to mix vectors of two models.

    Raises:
        IndexModelError: The index was made with another model.
    """
    info = model.info
    if recorded != info:
        raise IndexModelError(
            f"the index has vectors of {_described(recorded)}; configured is {_described(info)}",
            hint="Run `coderag index --full` to build it anew, or set embedding.provider and embedding.model back.",
        )


def _described(info: EmbeddingInfo) -> str:
    return f"{info.provider}/{info.model} ({info.dimension} dimensions)"
