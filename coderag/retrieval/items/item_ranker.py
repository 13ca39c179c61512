"""Ranking of items: a page or ticket is found by its best section, and by all of its words together.

A question in other words than the text's has one word in this section and one in that, so that the best section alone
decides little: on plain-word questions about real pages, BM25 over whole items counts as much as the section does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.retrieval.channels import normalize_scores, score_channels
from coderag.schema.query import Analysis
from coderag.stores.corpus import Corpus
from coderag.stores.lexical import LexicalIndex, compute_bm25_weights

FloatArray = NDArray[np.float32]

_DISABLED: Final = ("names", "docs")  # headings are words of their section; the weight of names is for code
_N_PARTS: Final = 3  # best section by words and by meaning, and the whole item by words


@dataclass(frozen=True, slots=True)
class RankedItem:
    """An item, by the number of its file, with the row of its best section and its score, 0 to 1."""

    file: int
    row: int
    score: float


class ItemRanker:
    """Ranker of the items of one index.

    Args:
        corpus: Corpus of the mirrored files.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus

    def rank(self, analysis: Analysis, vector: FloatArray, allowed: NDArray[np.bool_], limit: int) -> list[RankedItem]:
        """Rank items, best first, without those that nothing of the question is in.

        Args:
            analysis: Analysis of the question.
            vector: float32 (dimension,), dense vector of the question, normalised or zero.
            allowed: bool (n_files,), files that may be results.
            limit: Maximum number of items.
        """
        corpus = self.corpus
        if not allowed.any():
            return []
        chunk_mask = allowed[corpus.chunk_files]
        channels = score_channels(corpus, analysis, vector, _DISABLED)
        sections = np.zeros(corpus.n_chunks, np.float32)
        for channel in channels:
            if channel.level == "chunk":
                sections += normalize_scores(np.where(chunk_mask, channel.values, np.float32(0)))
        item_scores = normalize_scores(np.where(allowed, self._score_whole_items(analysis), np.float32(0)))
        totals = (corpus.compute_file_max(sections) + item_scores) / np.float32(_N_PARTS)
        best_rows = corpus.find_best_rows(sections)
        order = np.argsort(-totals, kind="stable")[:limit]
        return [
            RankedItem(int(file), int(best_rows[file]), float(totals[file]))
            for file in order.tolist()
            if allowed[file] and totals[file] > 0
        ]

    def _score_whole_items(self, analysis: Analysis) -> FloatArray:
        weights = (analysis["report"] or {"terms": {}})["terms"]
        terms = list(weights) if weights else [*analysis["terms"], *analysis["expanded_terms"]]
        known = [term for term in terms if term in self.corpus.term_ids]
        ids = self.corpus.get_term_ids(known)
        return self._whole_items.score(ids, [weights[term] for term in known] if weights else None)

    @cached_property
    def _whole_items(self) -> LexicalIndex:
        """BM25 over whole items."""
        return compute_bm25_weights(self.corpus.sum_by_file(self.corpus.snapshot.read_counts().body))


def find_snippet(lines: Sequence[str], values: Sequence[float], max_lines: int) -> range:
    """Find the run of lines with the highest sum of values, the first of equals, without blank lines at its ends."""
    if len(lines) > max_lines:
        sums = np.convolve(np.asarray(values, np.float64), np.ones(max_lines), "valid")
        start = int(np.argmax(np.round(sums, 9)))
        run = range(start, start + max_lines)
    else:
        run = range(len(lines))
    filled = [number for number in run if lines[number].strip()]
    return range(filled[0], filled[-1] + 1) if filled else range(0)
