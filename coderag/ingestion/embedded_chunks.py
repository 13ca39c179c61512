"""Embedded chunks: the batch of whole files that indexing hands to the store."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from coderag.ingestion.embedding_text import build_embedding_text
from coderag.ingestion.summaries.cached_sentences import SummaryColumns
from coderag.ingestion.workers.jobs import JobResult
from coderag.ingestion.workers.vocabulary import Vocabulary
from coderag.models.dense import BatchVectors, ChunkBatch, DenseModel
from coderag.stores.arrow import to_metadata
from coderag.stores.field_counts import FieldCounts
from coderag.text.path_masking import PathMask

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class EmbeddedChunks:
    """Chunks of whole files with counts and vectors, ready for the store.

    Attributes:
        columns: See `coderag.stores.arrow.build_chunk_table`.
        terms: The vocabulary of the counts.
        paths: The files, in the order of their vectors.
    """

    columns: "pa.Table"
    counts: FieldCounts
    terms: Sequence[str]
    paths: Sequence[str]
    vectors: BatchVectors

    def iterate_paths_without_vector(self) -> Iterator[str]:
        """Yield the path of each chunk whose vector is zeros, in order."""
        for row in np.flatnonzero(~self.vectors.chunks.any(axis=1)).tolist():
            yield self.columns["path"][row].as_py()


class LazyTexts(Sequence[str]):
    """Texts for a provider's model, built on first access: the embedded model needs none."""

    def __init__(self, make_texts: Callable[[], Sequence[str]], length: int) -> None:
        self._make_texts = make_texts
        self._length = length
        self._texts: Sequence[str] | None = None

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401  # an index or a slice
        if self._texts is None:
            self._texts = self._make_texts()
        return self._texts[index]


def embed_columns(
    columns: "pa.Table",
    counts: FieldCounts,
    path_counts: sp.csr_matrix,
    terms: Sequence[str],
    texts: Sequence[str],
    model: DenseModel,
) -> EmbeddedChunks:
    """Embed the chunks of whole files, given as columns and counts.

    Args:
        columns: The chunks, grouped by file.
        counts, path_counts: Term counts of the chunks, and of the paths of their files in order.
        terms: The vocabulary of both.
        texts: For each chunk, the text that a provider's model embeds.
    """
    return embed_batch(columns, make_batch(columns, counts, path_counts, terms, texts), model)


def embed_batch(columns: "pa.Table", batch: ChunkBatch, model: DenseModel) -> EmbeddedChunks:
    """Embed a batch and return its chunks with their vectors."""
    return EmbeddedChunks(columns, batch.counts, batch.terms, batch.paths, model.embed_batch(batch))


def make_batch(
    columns: "pa.Table", counts: FieldCounts, path_counts: sp.csr_matrix, terms: Sequence[str], texts: Sequence[str]
) -> ChunkBatch:
    """Assemble a model's input for chunks of whole files. Arguments as for `embed_columns`."""
    encoded = columns["path"].combine_chunks().dictionary_encode()
    file_indices = encoded.indices.to_numpy().astype(np.intp)
    return ChunkBatch(texts, counts, terms, encoded.dictionary.to_pylist(), file_indices, path_counts)


def embed_result(
    result: JobResult, vocabulary: Vocabulary, model: DenseModel, summaries: SummaryColumns | None = None
) -> EmbeddedChunks:
    """Embed the chunks of a job that has columns, over the vocabulary of the index.

    Args:
        summaries: Inserts cached summaries by a language model.
    """
    columns = result.columns
    assert columns is not None
    assert result.counts is not None
    assert result.path_counts is not None
    vocabulary.learn(result.worker, result.new_terms, result.first_term)
    counts = vocabulary.translate(result.worker, result.counts)
    if summaries is not None:
        columns, counts = summaries.insert_sentences(columns, counts)
    path_counts = vocabulary.translate_matrix(result.worker, result.path_counts)
    texts = LazyTexts(lambda: build_embedding_texts(columns, model.mask), len(columns))
    return embed_columns(columns, counts, path_counts, vocabulary.terms, texts, model)


def build_embedding_texts(columns: "pa.Table", mask: PathMask | None) -> list[str]:
    """Build the text of each chunk for a provider's model; see `build_embedding_text`."""
    rows = zip(to_metadata(columns), columns["text"].to_pylist(), strict=True)
    return [build_embedding_text(metadata, text, mask) for metadata, text in rows]
