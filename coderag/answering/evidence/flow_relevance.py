"""Relevance of declarations to the question of a flow: what they are called, what is in them, how they rank."""

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property
from math import log2
from typing import Final

from coderag.answering.evidence.declared import CALLABLE, CALLS
from coderag.answering.evidence.index_reader import IndexReader
from coderag.codegraph.columns import FloatArray
from coderag.retrieval.channels import normalize_scores
from coderag.retrieval.query_context import QueryContext
from coderag.schema.query import Candidate, QueryState
from coderag.text.tokenizer import tokenize_query, tokenize_text

_RANK_WEIGHT: Final = 2.4
_DENSE_WEIGHT: Final = 2.4
_FILE_WEIGHT: Final = 1.3
_LENGTH_WEIGHT: Final = 0.37  # for each doubling: what decides is longer than what helps
_CALLS_WEIGHT: Final = 0.24  # for each doubling
_MENTIONED_WEIGHT: Final = 3.0  # of a name that the question gives
_MAX_LOG_LENGTH: Final = 7.0
"""Weights of a logistic regression on the declarations of 21 labelled flows, against others near them in the code graph."""

_RANK_DECAY: Final = 0.94
_MAX_NAMED: Final = 3
_MAX_CANDIDATES: Final = 50
_MIN_END_SHARE: Final = 0.4
_END_WEIGHT: Final = 3.0
_MAX_ENDS: Final = 4


class FlowRelevance:
    """Relevance of declarations to a question.

    Args:
        context: Query context.
        index: The open index.
        state: State with the analysis and what was found.
    """

    def __init__(self, context: QueryContext, index: IndexReader, state: QueryState) -> None:
        self._context = context
        self._index = index
        self._analysis = state["analysis"]
        self._results: Sequence[Candidate] = [*state["results"], *state["candidates"]]

    def compute(self, nodes: Collection[int]) -> dict[int, float]:
        """Compute the relevance of declarations, in log-odds without the intercept."""
        symbols = self._index.symbols
        positions = symbols.find_edge_positions(sorted(nodes), "out", CALLS)
        calls = set(zip(symbols.sources[positions].tolist(), symbols.targets[positions].tolist(), strict=True))
        counts = Counter(source for source, _ in calls)
        return {node: self._compute(node, counts[node]) for node in nodes}

    @cached_property
    def candidates(self) -> list[int]:
        """Functions that the search found, best first."""
        ranked = dict.fromkeys([*self._mentioned, *self._ranks])
        return [node for node in ranked if self.is_wanted(node)]

    def find_ends(self, phrase: str) -> list[int]:
        """Find the functions that an end of the flow may mean, likeliest first: found, and with words of the phrase."""
        corpus, symbols = self._index.corpus, self._index.symbols
        idf = {term: corpus.idf(term) for term in tokenize_query(phrase) if not term.startswith("=")}
        total = sum(idf.values()) or 1.0
        nodes = self.candidates[:_MAX_CANDIDATES]
        values = self.compute(nodes)
        for node in nodes:
            terms = set(tokenize_text(f"{symbols.paths[node]} {symbols.qualified_names[node]}"))
            share = sum(idf[term] for term in idf.keys() & terms) / total
            if share < _MIN_END_SHARE:
                del values[node]
            else:
                values[node] += _END_WEIGHT * share
        return sorted(values, key=lambda node: -values[node])[:_MAX_ENDS]

    def is_named(self, node: int) -> bool:
        """Return whether the name of a declaration has a word of the question."""
        return not self._terms.isdisjoint(tokenize_text(self._index.symbols.names[node].as_py()))

    @cached_property
    def _terms(self) -> frozenset[str]:
        return frozenset(self._analysis["terms"])

    def is_wanted(self, node: int) -> bool:
        """Return whether a declaration is a function of the program itself, not of its tests."""
        symbols = self._index.symbols
        return symbols.kinds[node] in CALLABLE and symbols.roles[node] == "source"

    @cached_property
    def _mentioned(self) -> list[int]:
        entities = self._analysis["entities"]
        names = [entity["text"] for entity in entities if entity["kind"] in ("identifier", "qualified_name")]
        return [
            declared.node
            for name in names
            for declared in self._index.find_declarations(name)[:_MAX_NAMED]
            if declared.kind in CALLABLE
        ]

    @cached_property
    def _ranks(self) -> dict[int, int]:
        """Rank of each declaration that was found."""
        corpus, ranks = self._index.corpus, dict[int, int]()
        for candidate in self._results[:_MAX_CANDIDATES]:
            row = corpus.rows_by_id[candidate["chunk_id"]]
            path = corpus.paths[corpus.chunk_files[row]]
            name = candidate["symbol"] or corpus.get_value("qualified_name", row)
            declared = self._index.find_at(path, candidate["start_line"], name)
            if declared:
                ranks.setdefault(self._index.find_representative(declared.node), len(ranks))
        return ranks

    def _compute(self, node: int, call_count: int) -> float:
        rows = self._index.find_rows(node)
        if not rows:
            return 0.0
        symbols, corpus = self._index.symbols, self._index.corpus
        length = int(symbols.end_lines[node] - symbols.start_lines[node]) + 1
        return (
            (_RANK_WEIGHT * _RANK_DECAY ** self._ranks[node] if node in self._ranks else 0.0)
            + _DENSE_WEIGHT * float(self._dense_scores[rows.start : rows.stop].max())
            + _FILE_WEIGHT * float(self._file_scores[corpus.chunk_files[rows.start]])
            + _LENGTH_WEIGHT * min(log2(length), _MAX_LOG_LENGTH)
            + _CALLS_WEIGHT * log2(1 + call_count)
            + _MENTIONED_WEIGHT * (node in self._mentioned)
        )

    @cached_property
    def _dense_scores(self) -> FloatArray:
        """Similarity of each chunk to the question, 0 to 1."""
        analysis = self._analysis
        cosines = self._index.corpus.compute_cosines(
            self._context.embedder.embed_query(analysis["text"], analysis["terms"])
        )
        return normalize_scores(cosines - cosines.mean())

    @cached_property
    def _file_scores(self) -> FloatArray:
        """Lexical score of each file, 0 to 1."""
        corpus = self._index.corpus
        return normalize_scores(corpus.docs.score(corpus.get_term_ids(self._analysis["terms"])))
