"""Vectors of another model for stored chunks: no file is read, and chunks, term counts and symbols stay."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from coderag.errors import StoreError
from coderag.ingestion.embedded_chunks import EmbeddedChunks, LazyTexts, build_embedding_texts, embed_batch, make_batch
from coderag.ingestion.workers.term_counter import TermCounter
from coderag.models.dense import ChunkBatch, DenseModel
from coderag.stores.arrow import METADATA_COLUMNS
from coderag.stores.snapshot import Snapshot
from coderag.text.path_masking import PathMask

if TYPE_CHECKING:
    import pyarrow as pa

FloatArray = NDArray[np.float32]

CHUNK_COLUMNS: Final = ("id", "text", *METADATA_COLUMNS)

_CHUNKS_PER_BATCH = 2_000


def embed_stored_chunks(
    snapshot: Snapshot,
    model: DenseModel,
    terms: Sequence[str],
    paths: Collection[str],
    columns: Sequence[str] = CHUNK_COLUMNS,
) -> Iterator[EmbeddedChunks]:
    """Yield stored chunks of some files, embedded by another model. Arguments as for `read_stored_batches`."""
    for chunks, batch in read_stored_batches(snapshot, model.mask, terms, paths, columns):
        yield embed_batch(chunks, batch, model)


def read_stored_batches(
    snapshot: Snapshot,
    mask: PathMask | None,
    terms: Sequence[str],
    paths: Collection[str],
    columns: Sequence[str] = CHUNK_COLUMNS,
) -> Iterator[tuple["pa.Table", ChunkBatch]]:
    """Yield the stored chunks of some files, each with the input for a model.

    Args:
        snapshot: The generation.
        mask: Masks the paths in texts.
        terms: A vocabulary that starts with the generation's.
        paths: The files.
        columns: Columns of the chunks to read, ``path`` among them; a provider's model needs all.
    """
    table = snapshot.read_chunks(columns)
    counts, counter = snapshot.read_counts(), TermCounter(terms)
    for rows in _batch_rows_by_file(table["path"], paths):
        chunks = table.take(rows)
        file_paths = list(dict.fromkeys(chunks["path"].to_pylist()))
        path_counts = counter.count_paths(file_paths)[:, : len(terms)]
        texts = LazyTexts(partial(build_embedding_texts, chunks, mask), len(rows))
        yield chunks, make_batch(chunks, counts.select(rows), path_counts, terms, texts)


def _batch_rows_by_file(column: "pa.ChunkedArray", paths: Collection[str]) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of some files in batches of about `_CHUNKS_PER_BATCH`; a file is never split."""
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s
    import pyarrow.compute as pc  # noqa: PLC0415

    is_selected = pc.is_in(column, value_set=pa.array(sorted(paths), pa.string())).to_numpy()
    rows = np.flatnonzero(is_selected)
    files = column.combine_chunks().dictionary_encode().indices.to_numpy()[rows]
    ends = np.append(np.flatnonzero(np.diff(files)) + 1, len(rows))
    start = 0
    for end in ends.tolist():
        if end - start >= _CHUNKS_PER_BATCH or end == len(rows) > start:
            yield rows[start:end]
            start = end


class ReembeddedSnapshot(Snapshot):
    """A generation with the vectors of another model, computed in memory.

    Meant for the embedded model, which needs only the term counts.

    Args:
        stored: The generation.
        model: The model.
    """

    def __init__(self, stored: Snapshot, model: DenseModel) -> None:
        super().__init__(stored.directory, replace(stored.pointer, embedding=model.info))
        self._model = model

    def read_vectors(self) -> FloatArray:
        """Return the model's vectors: float32 (n_chunks, dimension), normalized, read-only."""
        return self._reembedded_vectors[0]

    def read_file_vectors(self) -> tuple[FloatArray, FloatArray]:
        """Return the model's (content, path), each float32 (n_files, dimension) in the order of `files`."""
        return self._reembedded_vectors[1:]

    def find_nearest(self, vector: FloatArray, k: int, where: str | None = None) -> list[tuple[int, float]]:
        """Refuse: Lance only searches stored vectors."""
        del vector, k, where
        raise StoreError("the stored vectors are of another model", hint="Run `coderag index` to store the new ones.")

    @cached_property
    def _reembedded_vectors(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        dimension = self.pointer.embedding.dimension
        rows_by_path = {record.path: row for row, record in enumerate(self.read_files())}
        content_vectors = np.zeros((len(rows_by_path), dimension), np.float32)
        path_vectors = np.zeros_like(content_vectors)
        vectors = [np.zeros((0, dimension), np.float32)]
        for chunks in embed_stored_chunks(self, self._model, self.read_terms(), rows_by_path, ("path",)):
            rows = [rows_by_path[path] for path in chunks.paths]
            content_vectors[rows], path_vectors[rows] = chunks.vectors.files, chunks.vectors.paths
            vectors.append(chunks.vectors.chunks)
        arrays = np.concatenate(vectors), content_vectors, path_vectors
        arrays[0].setflags(write=False)
        return arrays
