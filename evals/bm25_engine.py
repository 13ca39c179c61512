"""BM25 baseline over CodeRAG's chunks and terms, without its other signals."""

from collections.abc import Mapping, Sequence

import numpy as np

from coderag import __version__
from coderag.stores.lexical import K1, B, compute_bm25_weights
from coderag.text.tokenizer import tokenize_query

from .engines import ContextSet
from .packing import pack
from .repository import Repository
from .runs import RankedResult, SettingValue

_MAX_PACKED_RESULTS = 200
_COLUMNS = ("path", "qualified_name", "start_line", "end_line")


class Bm25Engine:
    """BM25 over the text of CodeRAG's chunks: no names, paths, summaries, vectors or ranking signals.

    Its terms are those of `coderag.text.tokenizer`: identifiers whole and in parts, stemmed, without stop words. So the
    baseline is as strong as BM25 over functions gets.
    """

    name = "bm25"
    version = __version__

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self.settings: Mapping[str, SettingValue] = {"bm25.k1": K1, "bm25.b": B}
        snapshot = repository.snapshot
        self._index = compute_bm25_weights(snapshot.read_counts().body)
        self._term_ids = {term: number for number, term in enumerate(snapshot.read_terms())}
        table = snapshot.read_chunks(_COLUMNS)
        self._places = list(zip(*(table[name].to_pylist() for name in _COLUMNS), strict=True))

    def search(self, question: str, top_k: int) -> list[RankedResult]:
        """Return the chunks with the highest scores; ties are in repository order."""
        terms = [self._term_ids[term] for term in tokenize_query(question) if term in self._term_ids]
        scores = self._index.score(terms)
        rows = np.argsort(-scores, kind="stable")[:top_k]
        return [self._make_result(row, float(scores[row])) for row in rows.tolist() if scores[row] > 0]

    def build_contexts(self, question: str, budgets: Sequence[int]) -> ContextSet:
        """Pack as many of the best chunks as fit each budget."""
        results = self.search(question, _MAX_PACKED_RESULTS)
        return ContextSet({budget: pack(results, budget, self._repository) for budget in budgets})

    def _make_result(self, row: int, score: float) -> RankedResult:
        path, name, start_line, end_line = self._places[row]
        return RankedResult(path=path, name=name, start_line=start_line, end_line=end_line, score=round(score, 6))
