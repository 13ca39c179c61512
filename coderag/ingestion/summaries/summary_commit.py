"""Commit of cached summaries: a small generation that updates some files' chunks."""

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from coderag.ingestion.embedded_chunks import LazyTexts, build_embedding_texts, make_batch
from coderag.ingestion.summaries.cached_sentences import LLM_SOURCE, CachedSentences, SummaryColumns, set_summaries
from coderag.ingestion.summaries.overviews import OVERVIEW_COLUMNS, Overviews
from coderag.ingestion.summaries.targets import SUBJECT_COLUMNS, compute_chunk_subjects
from coderag.ingestion.workers.vocabulary import Vocabulary
from coderag.models.dense import DenseModel, ProviderDense, check_embedding, compute_mean_vectors
from coderag.stores.arrow import METADATA_COLUMNS
from coderag.stores.index_store import IndexStore
from coderag.stores.index_writer import IndexWriter
from coderag.stores.manifest import read_manifest, write_manifest
from coderag.stores.snapshot import Snapshot
from coderag.stores.summary_cache import SummaryCache
from coderag.system.gc_tuning import pause_gc

if TYPE_CHECKING:
    import pyarrow as pa

    from coderag.stores.field_counts import FieldCounts

FloatArray = NDArray[np.float32]

_READ_COLUMNS = tuple(dict.fromkeys((*SUBJECT_COLUMNS, *OVERVIEW_COLUMNS)))
_STORED_COLUMNS = ("id", "text", *METADATA_COLUMNS, "vector")


def commit_summaries(store: IndexStore, model: DenseModel, cache: SummaryCache, *, timeout_s: float) -> Snapshot | None:
    """Commit all cached sentences that the current generation lacks; return None if it lacks none.

    Only files with a new sentence are rewritten. Sentences are looked up by code under the writer's lock, so a sentence
    never reaches code that was edited in the meantime.

    Args:
        timeout_s: Seconds to wait for another writer.

    Raises:
        IndexLockedError: Another writer is at work.
        IndexModelError: The index was built with another embedding model than configured.
        ModelError: The embedding model failed; nothing has changed.
        StoreError: The index cannot be written; the last generation is intact.
    """
    with pause_gc(), store.open_writer(timeout_s=timeout_s, is_brief=True) as writer:
        base = writer.base
        if base is None or not cache.exists:
            return None
        check_embedding(base.pointer.embedding, model)
        columns, rows = _merge_sentences(base.read_chunks(_READ_COLUMNS), cache)
        overviews = Overviews()
        overviews.renew_files(columns, cache.find_latest)
        overviews.renew_folders(cache.find_latest)
        if not len(rows) and overviews == Overviews.from_arrays(base.read_arrays()):
            return None
        manifest = read_manifest(store.directory, base.pointer)
        vectors = _write_files(writer, base, rows, model, cache) if len(rows) else None
        writer.add_terms(overviews.iterate_terms())
        committed = writer.commit_chunks(vectors=vectors, arrays=overviews.to_arrays())
        if manifest is not None:
            write_manifest(store.directory, committed.pointer, manifest)
        return committed


def _merge_sentences(columns: "pa.Table", cache: SummaryCache) -> "tuple[pa.Table, NDArray[np.int64]]":
    """Return the chunks with their sentences, and the rows of all chunks in files with a new sentence."""
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s
    import pyarrow.compute as pc  # noqa: PLC0415

    subjects = compute_chunk_subjects(columns)
    sentences = cache.find_latest(subjects)
    stored = list(zip(columns["summary"].to_pylist(), columns["summary_source"].to_pylist(), strict=True))
    merged = [
        (sentences[subject], LLM_SOURCE) if subject in sentences else old
        for subject, old in zip(subjects, stored, strict=True)
    ]
    is_new = np.fromiter((new != old for new, old in zip(merged, stored, strict=True)), bool, len(merged))
    if not is_new.any():
        return columns, np.zeros(0, np.int64)
    columns = set_summaries(columns, *zip(*merged, strict=True))
    files = pc.unique(columns["path"].filter(pa.array(is_new)))
    return columns, np.flatnonzero(pc.is_in(columns["path"], value_set=files).to_numpy())


def _write_files(
    writer: IndexWriter, base: Snapshot, rows: NDArray[np.int64], model: DenseModel, cache: SummaryCache
) -> tuple[FloatArray, FloatArray] | None:
    """Rewrite the chunks of whole files with their sentences; return all file vectors if they changed."""
    stored = base.take(rows, _STORED_COLUMNS)
    dimension = base.pointer.embedding.dimension
    vectors = stored["vector"].combine_chunks().flatten().to_numpy().reshape(-1, dimension)
    vocabulary = Vocabulary(base.read_terms())
    summaries = SummaryColumns(CachedSentences(cache), vocabulary)
    columns, counts, changed = summaries.replace_summaries(
        stored.drop_columns("vector"), base.read_counts().select(rows)
    )
    files = None
    # The embedded model ignores summaries, so its vectors stay.
    if isinstance(model, ProviderDense):
        vectors, files = _embed_changed(base, columns, counts, vocabulary, vectors, np.flatnonzero(changed), model)
    writer.remove(dict.fromkeys(columns["path"].to_pylist()))
    writer.add(columns, vectors, counts, vocabulary.terms)
    return files


def _embed_changed(
    base: Snapshot,
    columns: "pa.Table",
    counts: "FieldCounts",
    vocabulary: Vocabulary,
    vectors: FloatArray,
    changed: NDArray[np.int64],
    model: ProviderDense,
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Embed the changed chunks; return the vectors of the chunks and of all files of the generation."""
    texts = LazyTexts(lambda: build_embedding_texts(columns, model.mask), len(columns))
    batch = make_batch(columns, counts, sp.csr_matrix((0, len(vocabulary.terms))), vocabulary.terms, texts)
    vectors = model.embed_changed(texts, vectors, changed)
    rows_by_path = {record.path: row for row, record in enumerate(base.read_files())}
    content_vectors, path_vectors = (matrix.copy() for matrix in base.read_file_vectors())
    content_vectors[[rows_by_path[path] for path in batch.paths]] = compute_mean_vectors(batch.membership, vectors)
    return vectors, (content_vectors, path_vectors)
