"""Cached summaries, inserted into chunks before they are stored."""

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from coderag.errors import StoreError
from coderag.ingestion.summaries.targets import compute_chunk_subjects
from coderag.stores.field_counts import FieldCounts
from coderag.stores.summary_cache import SummaryCache

if TYPE_CHECKING:
    import pyarrow as pa

    from coderag.ingestion.workers.vocabulary import Vocabulary

LLM_SOURCE: Final = "llm"
"""The ``summary_source`` of a sentence by a language model."""

_COUNTER_NAME: Final = "summaries"  # distinct from workers, whose names are numbers

_logger = logging.getLogger(__name__)


class CachedSentences:
    """Sentences of a cache during one run: after a read error it warns once and is empty.

    Args:
        cache: The summary cache.
    """

    def __init__(self, cache: SummaryCache) -> None:
        self._cache = cache
        self._is_usable = cache.exists

    @property
    def is_available(self) -> bool:
        """Return whether the cache may hold sentences; if not, lookups can be skipped."""
        return self._is_usable

    def __call__(self, subjects: Sequence[str]) -> Mapping[str, str]:
        """Return the sentences of those subjects that have one."""
        if not self._is_usable:
            return {}
        try:
            return self._cache.find_latest(subjects)
        except StoreError as error:
            self._is_usable = False
            _logger.warning("Summaries are omitted; `coderag enrich` restores them: %s", error)
            return {}


def set_summaries(columns: "pa.Table", summaries: Sequence[str], sources: Sequence[str]) -> "pa.Table":
    """Return chunks with other summaries; ``sources`` holds the ``summary_source`` of each."""
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    for name, values in (("summary", summaries), ("summary_source", sources)):
        columns = columns.set_column(columns.column_names.index(name), name, pa.array(values, pa.string()))
    return columns


class SummaryColumns:
    """Inserts sentences into chunks as columns, term counts included.

    Args:
        sentences: The cached sentences.
        vocabulary: Terms of the index; extended by the terms of the sentences.
    """

    def __init__(self, sentences: CachedSentences, vocabulary: "Vocabulary") -> None:
        from coderag.ingestion.workers.term_counter import TermCounter  # noqa: PLC0415  # loads scipy

        self._sentences = sentences
        self._vocabulary = vocabulary
        self._counter = TermCounter()
        self._terms_sent = 0

    def insert_sentences(self, columns: "pa.Table", counts: FieldCounts) -> "tuple[pa.Table, FieldCounts]":
        """Return chunks and counts with cached sentences in place of derived summaries."""
        columns, counts, _ = self.replace_summaries(columns, counts)
        return columns, counts

    def replace_summaries(
        self, columns: "pa.Table", counts: FieldCounts
    ) -> "tuple[pa.Table, FieldCounts, NDArray[np.bool_]]":
        """Do as `insert_sentences` does, and also return for each chunk whether it changed."""
        subjects = compute_chunk_subjects(columns)
        sentences = self._sentences(subjects)
        changed = np.zeros(len(subjects), bool)
        if not sentences:
            return columns, counts, changed
        summaries, sources = columns["summary"].to_pylist(), columns["summary_source"].to_pylist()
        for row, subject in enumerate(subjects):
            sentence = sentences.get(subject)
            if sentence is not None and (sentence, LLM_SOURCE) != (summaries[row], sources[row]):
                summaries[row], sources[row], changed[row] = sentence, LLM_SOURCE, True
        if changed.any():
            columns = set_summaries(columns, summaries, sources)
            counts = self._recount_docs(columns, counts, changed)
        return columns, counts, changed

    def _recount_docs(self, columns: "pa.Table", counts: FieldCounts, changed: NDArray[np.bool_]) -> FieldCounts:
        """Return the counts with the documentation terms of changed chunks counted again."""
        import scipy.sparse as sp  # noqa: PLC0415  # 0.15 s

        rows = np.flatnonzero(changed)
        documented = columns.select(["summary", "docstring"]).take(rows).to_pylist()
        docs = self._counter.count_texts(
            [f"{row_texts['summary']}\n{row_texts['docstring']}" for row_texts in documented]
        )
        new_terms = self._counter.get_terms_from(self._terms_sent)
        self._vocabulary.learn(_COUNTER_NAME, new_terms, self._terms_sent)
        self._terms_sent += len(new_terms)
        docs = self._vocabulary.translate_matrix(_COUNTER_NAME, docs)
        wide = FieldCounts.concat([counts], len(self._vocabulary.terms))
        order = np.arange(len(changed))
        order[rows] = len(changed) + np.arange(len(rows))
        return FieldCounts(body=wide.body, names=wide.names, docs=sp.vstack([wide.docs, docs], format="csr")[order])
