"""Dense models: vectors of chunks, files and queries.

`EmbeddedDense` needs only term counts; `ProviderDense` passes texts to a configured model.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from coderag.errors import IndexModelError
from coderag.stores.content_cache import ContentCache
from coderag.stores.field_counts import FieldCounts
from coderag.stores.pointer import EmbeddingInfo
from coderag.text.path_masking import MaskedPaths, PathMask

if TYPE_CHECKING:
    import scipy.sparse as sp


FloatArray = NDArray[np.float32]


VECTORS_NAMESPACE: Final = "vectors"
"""Namespace of vectors in the content cache."""


_MAX_CACHED_QUERIES = 64


@dataclass(frozen=True, slots=True)
class ChunkBatch:
    """Chunks of whole files with their term counts.

    Attributes:
        texts: For each chunk, the text that a provider's model embeds.
        counts: Term counts of the chunks.
        terms: The vocabulary: a term per column of the counts.
        paths: The files.
        file_indices: int (n_chunks,), position of each chunk's file in `paths`.
        path_counts: float32 (n_files, n_terms), term counts of the paths.
    """

    texts: Sequence[str]
    counts: FieldCounts
    terms: Sequence[str]
    paths: Sequence[str]
    file_indices: NDArray[np.intp]
    path_counts: "sp.csr_matrix"

    @property
    def membership(self) -> "sp.csc_matrix":
        """Incidence matrix of files and chunks: float32 (n_files, n_chunks)."""
        import scipy.sparse as sp  # noqa: PLC0415  # 0.15 s, which a query need not spend

        n_chunks = len(self.file_indices)
        weights, ends = np.ones(n_chunks, np.float32), np.arange(n_chunks + 1)
        return sp.csc_matrix((weights, self.file_indices, ends), shape=(len(self.paths), n_chunks))


@dataclass(frozen=True, slots=True)
class BatchVectors:
    """Vectors of a batch, float32, rows normalized or zero: chunks (n_chunks, d); files and paths (n_files, d)."""

    chunks: FloatArray
    files: FloatArray
    paths: FloatArray


class DenseModel(Protocol):
    """Dense model, as indexing and searching use it.

    Attributes:
        mask: Masks the paths in the texts of its batches; None keeps them.
    """

    mask: PathMask | None

    def embed_batch(self, batch: ChunkBatch) -> BatchVectors:
        """Return the vectors of a batch."""
        ...

    def embed_query(self, query: str, terms: Sequence[str]) -> FloatArray:
        """Return the vector of a query, shape (dimension,)."""
        ...

    @property
    def info(self) -> EmbeddingInfo:
        """Identity that an index records of the model."""
        ...


class TextEmbedder(Protocol):
    """A model that embeds texts, such as `coderag.models.remote_embedding.RemoteEmbedding`, without normalization."""

    @property
    def name(self) -> str:
        """Name of the model."""
        ...

    @property
    def dimension(self) -> int:
        """Number of components of a vector; may send a request."""
        ...

    def prepare_text(self, text: str) -> str:
        """Return a text as the model receives it."""
        ...

    def embed_requests(self, texts: Sequence[str]) -> Iterator[tuple[Sequence[int], FloatArray]]:
        """Yield positions of texts and their vectors, (len(positions), dimension), as requests complete.

        Each text occurs once in all parts.
        """
        ...

    def embed_query(self, query: str) -> FloatArray:
        """Return the vector of a query, shape (dimension,)."""
        ...


class ProviderDense:
    """A model outside this package, such as one of Ollama's.

    Attributes:
        cache: Cache of vectors; None requests every vector.
        on_embedded: Called with the number of texts embedded or found in the cache since the last call.
        mask: Masks paths before they are sent; None keeps them.
    """

    def __init__(self, model: TextEmbedder, provider: str) -> None:
        self._model = model
        self._provider = provider
        self.cache: ContentCache | None = None
        self.on_embedded: Callable[[int], None] = _ignore_progress
        self.mask: PathMask | None = None
        # Several nodes embed the same query, and widening repeats it: it is sent once.
        self._query_vector = lru_cache(_MAX_CACHED_QUERIES)(self._request_query_vector)

    def wrap_model(self, wrap: Callable[[TextEmbedder], TextEmbedder]) -> None:
        """Replace the model by a wrapper that `wrap` makes of it."""
        self._model = wrap(self._model)

    @property
    def info(self) -> EmbeddingInfo:
        """Identity that an index records of the model; the dimension may take a request."""
        return EmbeddingInfo(self._provider, self._model.name, self._model.dimension)

    def embed_batch(self, batch: ChunkBatch) -> BatchVectors:
        """Return the vectors of a batch; a file's vector is the mean of its chunks'."""
        chunks = _normalize(self._embed_texts(batch.texts))
        paths = np.zeros((len(batch.paths), chunks.shape[1]), np.float32)  # a masked path resembles no query
        if self.mask is None:
            paths = self._embed_texts(_build_path_texts(batch))
        return BatchVectors(
            chunks=chunks, files=compute_mean_vectors(batch.membership, chunks), paths=_normalize(paths)
        )

    def embed_changed(self, texts: Sequence[str], chunks: FloatArray, changed: NDArray[np.integer]) -> FloatArray:
        """Return the vectors of chunks, embedding only those whose text has changed.

        Args:
            texts: Texts of all chunks.
            chunks: float32 (n_chunks, dimension), their previous vectors.
            changed: Positions of chunks with a changed text.
        """
        updated = chunks.copy()
        updated[changed] = _normalize(self._embed_texts([texts[position] for position in changed.tolist()]))
        return updated

    def embed_query(self, query: str, terms: Sequence[str]) -> FloatArray:
        """Return the vector of a query."""
        del terms
        return self._query_vector(query)

    def _embed_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return the vectors of texts; each distinct text that is not cached is sent once."""
        info = self.info
        keys = self._compute_keys(texts)
        vectors = self._load_cached(keys, info)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}
        self.on_embedded(len(texts) - len(missing))
        unknown = list(missing)
        for positions, part in self._model.embed_requests(list(missing.values())):
            new_vectors = {unknown[position]: vector for position, vector in zip(positions, part, strict=True)}
            if self.cache is not None:
                self.cache.put(
                    VECTORS_NAMESPACE, {key: vector.astype("<f4").tobytes() for key, vector in new_vectors.items()}
                )
            vectors.update(new_vectors)
            self.on_embedded(len(new_vectors))
        return np.array([vectors[key] for key in keys], np.float32).reshape(len(keys), info.dimension)

    def count_cached(self, batch: ChunkBatch) -> int:
        """Count the texts of a batch with cached vectors. Nothing is sent."""
        if self.cache is None:
            return 0
        keys = self._compute_keys(batch.texts if self.mask else [*batch.texts, *_build_path_texts(batch)])
        cached = self.cache.find_existing(VECTORS_NAMESPACE, keys)
        return sum(key in cached for key in keys)

    def _compute_keys(self, texts: Sequence[str]) -> list[str]:
        """Compute the cache key of each text: a hash of everything that its vector depends on.

        The address is not part of it, as the same model may move; nor is the dimension, which the vector shows.
        """
        parts = ((self._provider, self._model.name, self._model.prepare_text(text)) for text in texts)
        return [sha256("\0".join(part).encode("utf-8", "surrogatepass")).hexdigest() for part in parts]

    def _load_cached(self, keys: Sequence[str], info: EmbeddingInfo) -> dict[str, FloatArray]:
        """Load cached vectors."""
        if self.cache is None:
            return {}
        stored = self.cache.get(VECTORS_NAMESPACE, list(dict.fromkeys(keys)))
        return {key: vector for key, value in stored.items() if (vector := _decode_vector(value, info)) is not None}

    def _request_query_vector(self, query: str) -> FloatArray:
        return _normalize(self._model.embed_query(query)[None]).reshape(-1)


class MaskedQueries:
    """Embeds queries whose paths are masked as in the texts.

    Args:
        model: The model.
        paths: Masked paths of the index.
    """

    def __init__(self, model: ProviderDense, paths: MaskedPaths) -> None:
        self._model = model
        self._paths = paths

    def embed_query(self, query: str, terms: Sequence[str]) -> FloatArray:
        """Return the vector of a query."""
        return self._model.embed_query(self._paths.mask_text(query), terms)

    def replace_paths(self, paths: MaskedPaths) -> "MaskedQueries":
        """Return a copy for other paths."""
        return MaskedQueries(self._model, paths)


def compute_mean_vectors(membership: "sp.csc_matrix", chunks: FloatArray) -> FloatArray:
    """Return the file vectors of a provider's model: the mean of each file's chunks. See `ChunkBatch.membership`."""
    return _normalize(membership @ chunks)


def _ignore_progress(number: int) -> None:
    del number


def _build_path_texts(batch: ChunkBatch) -> list[str]:
    """Build the text to embed of each path."""
    return [path.replace("/", " ").replace("_", " ") for path in batch.paths]


def _decode_vector(value: bytes, info: EmbeddingInfo) -> FloatArray | None:
    """Decode a cached vector; return None if it cannot be the model's."""
    if len(value) != 4 * info.dimension:
        return None
    vector = np.frombuffer(value, "<f4").astype(np.float32)
    return vector if np.isfinite(vector).all() else None


def _normalize(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    normalized: FloatArray = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return normalized


def check_embedding(recorded: EmbeddingInfo, model: DenseModel) -> None:
    """Reject a model whose vectors cannot be mixed with the index's.

    Raises:
        IndexModelError: The index was built with another model.
    """
    info = model.info
    if recorded != info:
        raise IndexModelError(
            f"the index has vectors of {recorded}, but {info} is configured",
            hint="Run `coderag index` to switch (until it is complete, the index can be searched with the old settings), "
            "or set embedding.provider and embedding.model back.",
        )
