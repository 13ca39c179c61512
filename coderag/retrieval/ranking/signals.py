"""Ranking signals over files; each is named, yields 0 to 1 per file, and can be disabled.

``score = fused + Σ weight · signal``, then multiplied by each factor. Weights are set by hand; ``docs/ranking.md``
gives their sources.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from coderag.question.entities import names_in
from coderag.question.hints import hint_factors
from coderag.retrieval.channels import find_symbols, score_symbols
from coderag.retrieval.literals import score_literals
from coderag.schema.query import Analysis, Candidate
from coderag.stores.corpus import Corpus
from coderag.stores.path_index import split_question
from coderag.stores.symbol_table import split_qualified

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RankingQuery:
    """Query features that the signals use.

    Attributes:
        name_words: Stemmed words that may be part of a file's name.
        names: Last segments of the names in the question.
        definition_scores: float32 (n_chunks,), how well each chunk declares one of the names, 0 to 1.
        literal_scores: float32 (n_chunks,), how well each chunk has a literal of the question, 0 to 1.
        lexical_rows: int (m,), best lexical chunks, best first.
    """

    analysis: Analysis
    name_words: Sequence[str]
    names: Sequence[str]
    definition_scores: FloatArray
    literal_scores: FloatArray
    lexical_rows: NDArray[np.int64]

    @classmethod
    def build(
        cls,
        corpus: Corpus,
        query: str,
        analysis: Analysis,
        lexical_rows: Sequence[int],
        candidates: Sequence[Candidate] = (),
    ) -> "RankingQuery":
        """Build the query features."""
        names = [split_qualified(name)[-1:] for name in names_in(analysis["entities"])]
        return cls(
            analysis=analysis,
            name_words=split_question(query),
            names=[part for segments in names for part in segments],
            definition_scores=score_symbols(corpus, find_symbols(corpus, analysis)),
            literal_scores=score_literals(corpus, candidates),
            lexical_rows=np.asarray(lexical_rows, np.int64),
        )


def score_definition(corpus: Corpus, query: RankingQuery) -> FloatArray:
    """Score files that declare a name of the question, or mention an undeclared one."""
    return corpus.compute_file_max(np.maximum(query.definition_scores, query.literal_scores))


def score_file_name(corpus: Corpus, query: RankingQuery) -> FloatArray:
    """Score the share of a file name's words in the question, less in long questions, where it may be chance."""
    length_factor = min(
        max((len(query.analysis["terms"]) - _MAX_SHORT_QUESTION_TERMS) / _LONG_QUESTION_EXTRA_TERMS, 0.0), 1.0
    )
    return corpus.path_index.compute_stem_coverage(query.name_words) * np.float32(
        1 - _MAX_NAME_DISCOUNT * length_factor
    )


def score_coverage(corpus: Corpus, query: RankingQuery) -> FloatArray:
    """Score the IDF-weighted share of question terms in the file."""
    covered = np.zeros(corpus.n_files, np.float32)
    total = 0.0
    for term in dict.fromkeys(query.analysis["terms"]):
        weight = corpus.idf(term)
        files = np.zeros(corpus.n_files, np.float32)
        files[corpus.chunk_files[corpus.find_chunks_with_term(term)]] = weight
        covered += files
        total += weight
    return covered / np.float32(max(total, 1e-9))


def score_folder_name(corpus: Corpus, query: RankingQuery) -> FloatArray:
    """Score the share of question words that occur only in the nearest folders' names."""
    return corpus.path_index.compute_folder_share(query.name_words)


def score_exact_file_name(corpus: Corpus, query: RankingQuery) -> FloatArray:
    """Score files named like an identifier of the question."""
    return corpus.path_index.match_stems(query.names)


def score_coherence(corpus: Corpus, query: RankingQuery) -> FloatArray:
    """Score files with several of the best lexical chunks."""
    best = query.lexical_rows
    weights = 1.0 / (_COHERENCE_RANK_OFFSET + np.arange(len(best)))
    shares = np.bincount(corpus.chunk_files[best], weights, corpus.n_files).astype(np.float32)
    return shares / max(float(shares.max(initial=0)), 1e-9)


def score_file_size(corpus: Corpus, query: RankingQuery) -> FloatArray:
    """Score the logarithm of the file's lines: of two equal matches, the longer file does the work."""
    del query
    return np.log1p(corpus.file_line_counts).astype(np.float32)


def score_centrality(corpus: Corpus, query: RankingQuery) -> FloatArray:
    """Score how much of the repository's code uses the file."""
    del query
    return np.sqrt(corpus.file_centrality)


_MAX_SHORT_QUESTION_TERMS = 5  # terms; up to here a file's name counts in full
_LONG_QUESTION_EXTRA_TERMS = 10  # further terms, after which it counts least
_MAX_NAME_DISCOUNT = 0.6
_COHERENCE_RANK_OFFSET = 20  # dampens the weight of the first chunk


@dataclass(frozen=True, slots=True)
class Signal:
    """A named ranking signal and its weight."""

    name: str
    weight: float
    compute: Callable[[Corpus, RankingQuery], FloatArray]


SIGNALS: tuple[Signal, ...] = (
    Signal("definition", 0.5, score_definition),
    Signal("file_of_name", 1.0, score_exact_file_name),
    Signal("file_name", 0.25, score_file_name),
    Signal("coverage", 0.15, score_coverage),
    Signal("folder_name", 0.2, score_folder_name),
    Signal("coherence", 0.1, score_coherence),
    Signal("file_size", 0.025, score_file_size),
    Signal("centrality", 0.1, score_centrality),
)

ROLE_FACTORS = {"test": 0.5, "example": 0.7, "docs": 0.7, "config": 0.8, "generated": 0.6, "vendored": 0.6}
"""Factors of files that are not source, unless the question asks for their role."""

NAME_FACTORS = {"barrel": 0.9, "declarations_only": 0.9, "legacy": 0.8}
"""Factors of files whose names indicate little code of their own."""

_DATA_FACTOR = 0.6  # files in no known language: fixtures, word lists
_TEST_FACTOR_ABOUT_TESTS = 0.8
_UNWANTED_ROLE_FACTOR = 0.4  # such as source, for a question about the documentation


def score_files(
    corpus: Corpus,
    query: RankingQuery,
    fused: FloatArray,
    disabled: Sequence[str] = (),
    weights: Mapping[str, float] = MappingProxyType({}),
) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Compute each file's score, and the contribution of each signal.

    Args:
        corpus: The open index.
        query: Query features.
        fused: float32 (n_files,), fused channel scores.
        disabled: Names of signals and factors to leave out.
        weights: Factors on the signals' weights, by name.
    """
    shares = {
        signal.name: signal.weight * weights.get(signal.name, 1.0) * signal.compute(corpus, query)
        for signal in SIGNALS
        if signal.name not in disabled
    }
    total = fused + np.sum(list(shares.values()), axis=0) if shares else fused.copy()
    factors = compute_file_factors(corpus, query.analysis, disabled)
    shares["factor"] = factors
    return total * factors, shares


def compute_file_factors(corpus: Corpus, analysis: Analysis, disabled: Sequence[str] = ()) -> FloatArray:
    """Compute the factor on each file's score, 0 to 1, from its role and name."""
    factors = np.ones(corpus.n_files, np.float32)
    if "role" not in disabled:
        softened = {**ROLE_FACTORS, "test": _TEST_FACTOR_ABOUT_TESTS} if analysis["about_tests"] else ROLE_FACTORS
        roles_wanted = find_wanted_roles(analysis)
        for role, files in corpus.files_by_role.items():
            if role not in roles_wanted:
                factors[files] *= min(softened.get(role, 1.0), _UNWANTED_ROLE_FACTOR if roles_wanted else 1.0)
    for name, factor in NAME_FACTORS.items():
        if name not in disabled:
            factors[corpus.path_index.flagged_files[name]] *= factor
    if "data" not in disabled:
        factors[corpus.data_files] *= _DATA_FACTOR
    if "hints" not in disabled:
        factors *= hint_factors(corpus, analysis)
    return factors


def find_wanted_roles(analysis: Analysis) -> frozenset[str]:
    """Find the roles that the question asks for; their factors are not applied."""
    if analysis["intent"] == "find_tests":
        return frozenset({"test"})
    if analysis["intent"] in ("documentation", "backlog"):
        return frozenset({"docs"})
    return frozenset(analysis["roles"])
