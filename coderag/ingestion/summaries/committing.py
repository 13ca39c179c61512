"""Make what is kept part of the index: a small generation in which some files' chunks say more than before."""

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from coderag.ingestion.embedded_chunks import LazyTexts, make_batch, texts_to_embed
from coderag.ingestion.summaries.kept import SOURCE, KeptSentences, SummaryColumns, set_summaries
from coderag.ingestion.summaries.overviews import OVERVIEW_COLUMNS, Overviews
from coderag.ingestion.summaries.subjects import SUBJECT_COLUMNS, chunk_subjects
from coderag.ingestion.workers.vocabulary import Vocabulary
from coderag.models.dense import DenseModel, ProviderDense, check_embedding, mean_vectors
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

_KNOWN = tuple(dict.fromkeys((*SUBJECT_COLUMNS, *OVERVIEW_COLUMNS)))
_STORED = ("id", "text", *METADATA_COLUMNS, "vector")


def commit_summaries(store: IndexStore, model: DenseModel, cache: SummaryCache, *, timeout_s: float) -> Snapshot | None:
    """Make a generation with all sentences that the cache has and the current one has not; None if it has them all.

    Only files with a new sentence are written again. The code, by which a sentence is known, is looked at under the writer's
    lock: a sentence never gets to code that was edited meanwhile.

    Args:
        timeout_s: Seconds to wait for another writer.

    Raises:
        IndexLockedError: Another writer is at work.
        IndexModelError: The index was made with another embedding model than the configured one.
        ModelError: The embedding model failed; nothing has changed.
        StoreError: The index cannot be written; the last generation is intact.
    """
    with pause_gc(), store.open_writer(timeout_s=timeout_s, is_brief=True) as writer:
        base = writer.base
        if base is None or not cache.exists:
            return None
        check_embedding(base.pointer.embedding, model)
        columns, rows = _with_sentences(base.read_chunks(_KNOWN), cache)
        overviews = Overviews()
        overviews.renew_files(columns, cache.find_latest)
        overviews.renew_folders(cache.find_latest)
        if not len(rows) and overviews == Overviews.of_arrays(base.read_arrays()):
            return None
        manifest = read_manifest(store.directory, base.pointer)
        vectors = _write(writer, base, rows, model, cache) if len(rows) else None
        writer.add_terms(overviews.terms())
        committed = writer.commit_chunks(vectors=vectors, arrays=overviews.arrays())
        if manifest is not None:
            write_manifest(store.directory, committed.pointer, manifest)
        return committed


def _with_sentences(columns: "pa.Table", cache: SummaryCache) -> "tuple[pa.Table, NDArray[np.int64]]":
    """Return the chunks with their sentences, and the rows of all chunks of the files in which one is new."""
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s
    import pyarrow.compute as pc  # noqa: PLC0415

    subjects = chunk_subjects(columns)
    kept = cache.find_latest(subjects)
    shown = list(zip(columns["summary"].to_pylist(), columns["summary_source"].to_pylist(), strict=True))
    now = [(kept[subject], SOURCE) if subject in kept else old for subject, old in zip(subjects, shown, strict=True)]
    is_new = np.fromiter((one != old for one, old in zip(now, shown, strict=True)), bool, len(now))
    if not is_new.any():
        return columns, np.zeros(0, np.int64)
    columns = set_summaries(columns, *zip(*now, strict=True))
    files = pc.unique(columns["path"].filter(pa.array(is_new)))
    return columns, np.flatnonzero(pc.is_in(columns["path"], value_set=files).to_numpy())


def _write(
    writer: IndexWriter, base: Snapshot, rows: NDArray[np.int64], model: DenseModel, cache: SummaryCache
) -> tuple[FloatArray, FloatArray] | None:
    """Give some whole files' chunks their sentences; return new vectors of all files, if they are others now."""
    stored = base.take(rows, _STORED)
    dimension = base.pointer.embedding.dimension
    vectors = stored["vector"].combine_chunks().flatten().to_numpy().reshape(-1, dimension)
    vocabulary = Vocabulary(base.read_terms())
    summaries = SummaryColumns(KeptSentences(cache), vocabulary)
    columns, counts, changed = summaries.replace(stored.drop_columns("vector"), base.read_counts().select(rows))
    files = None
    # The embedded model's vectors are made of names and bodies alone: they stay.
    if isinstance(model, ProviderDense):
        vectors, files = _embedded(base, columns, counts, vocabulary, vectors, np.flatnonzero(changed), model)
    writer.remove(dict.fromkeys(columns["path"].to_pylist()))
    writer.add(columns, vectors, counts, vocabulary.terms)
    return files


def _embedded(
    base: Snapshot,
    columns: "pa.Table",
    counts: "FieldCounts",
    vocabulary: Vocabulary,
    vectors: FloatArray,
    changed: NDArray[np.int64],
    model: ProviderDense,
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Return the vectors of the chunks, those that changed made anew, and those of all files of the generation."""
    texts = LazyTexts(lambda: texts_to_embed(columns, model.mask), len(columns))
    batch = make_batch(columns, counts, sp.csr_matrix((0, len(vocabulary.terms))), vocabulary.terms, texts)
    vectors = model.embed_changed(texts, vectors, changed)
    row_of = {record.path: row for row, record in enumerate(base.read_files())}
    contents, places = (matrix.copy() for matrix in base.read_file_vectors())
    contents[[row_of[path] for path in batch.paths]] = mean_vectors(batch.chunks_of_files, vectors)
    return vectors, (contents, places)
