"""The ranking signals over files: each is named, gives 0 to 1 a file, and can be switched off.

``score = fused + Σ weight · signal``, then times each factor. Weights are hand-set; where each came from is in
``docs/ranking.md``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from coderag.question.entities import names_in
from coderag.question.hints import hint_factors
from coderag.retrieval.channels import find_symbols, score_symbols
from coderag.retrieval.literal_names import literal_name_scores
from coderag.schema.query import Analysis
from coderag.stores.corpus import Corpus
from coderag.stores.path_index import split_question
from coderag.stores.symbol_table import split_qualified

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RankingQuery:
    """What the signals look at.

    Attributes:
        name_words: Stemmed words that may be part of a file's name.
        names: Last segments of the names in the question.
        definition_scores: float32 (n_chunks,), how well each chunk declares one of the names, 0 to 1.
        literal_scores: float32 (n_chunks,), whether a chunk has one that nothing declares, 0 to 1.
        lexical_rows: int (m,), the lexically best chunks, best first.
    """

    analysis: Analysis
    name_words: Sequence[str]
    names: Sequence[str]
    definition_scores: FloatArray
    literal_scores: FloatArray
    lexical_rows: NDArray[np.int64]

    @classmethod
    def build(cls, corpus: Corpus, query: str, analysis: Analysis, lexical_rows: Sequence[int]) -> "RankingQuery":
        """Return what the signals need to know of a question."""
        names = [split_qualified(name)[-1:] for name in names_in(analysis["entities"])]
        return cls(
            analysis=analysis,
            name_words=split_question(query),
            names=[part for segments in names for part in segments],
            definition_scores=score_symbols(corpus, find_symbols(corpus, analysis)),
            literal_scores=literal_name_scores(corpus, analysis),
            lexical_rows=np.asarray(lexical_rows, np.int64),
        )


def score_definition(corpus: Corpus, query: RankingQuery) -> FloatArray:
    """The file declares a name of the question, or has it if nothing declares it."""
    return corpus.compute_file_max(np.maximum(query.definition_scores, query.literal_scores))


def score_file_name(corpus: Corpus, query: RankingQuery) -> FloatArray:
    """Share of the words of the file's name that are in the question; the longer it is, the more of them by chance."""
    length_factor = min(
        max((len(query.analysis["terms"]) - _MAX_SHORT_QUESTION_TERMS) / _LONG_QUESTION_EXTRA_TERMS, 0.0), 1.0
    )
    return corpus.path_index.compute_stem_coverage(query.name_words) * np.float32(
        1 - _MAX_NAME_DISCOUNT * length_factor
    )


def score_coverage(corpus: Corpus, query: RankingQuery) -> FloatArray:
    """Share of the question's words, each weighted by its rarity, that the file has."""
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
    """Share of the question's words that are in the nearest folders' names only."""
    return corpus.path_index.compute_folder_share(query.name_words)


def score_exact_file_name(corpus: Corpus, query: RankingQuery) -> FloatArray:
    """The file is named like an identifier of the question."""
    return corpus.path_index.match_stems(query.names)


def score_coherence(corpus: Corpus, query: RankingQuery) -> FloatArray:
    """The file has several of the lexically best chunks."""
    best = query.lexical_rows
    weights = 1.0 / (_COHERENCE_RANK_OFFSET + np.arange(len(best)))
    shares = np.bincount(corpus.chunk_files[best], weights, corpus.n_files).astype(np.float32)
    return shares / max(float(shares.max(initial=0)), 1e-9)


def score_file_size(corpus: Corpus, query: RankingQuery) -> FloatArray:
    """Logarithm of the file's lines: of two that match alike, the one that does the work is longer."""
    del query
    return np.log1p(corpus.file_line_counts).astype(np.float32)


def score_centrality(corpus: Corpus, query: RankingQuery) -> FloatArray:
    """How much of the repository's code uses the file."""
    del query
    return np.sqrt(corpus.file_centrality)


_MAX_SHORT_QUESTION_TERMS = 5  # terms, up to which a file's name counts in full
_LONG_QUESTION_EXTRA_TERMS = 10  # terms more, from which on it counts least
_MAX_NAME_DISCOUNT = 0.6
_COHERENCE_RANK_OFFSET = 20  # so that the first chunk of a file does not decide alone


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
"""How far files that are not source step back, unless the question asks for them."""

NAME_FACTORS = {"barrel": 0.9, "declarations_only": 0.9, "legacy": 0.8}
"""How far files step back whose name says that they hold little of the code itself."""

_DATA_FACTOR = 0.6  # files in no known language: fixtures, word lists
_TEST_FACTOR_ABOUT_TESTS = 0.8
_UNWANTED_ROLE_FACTOR = 0.4  # source, for a question about the documentation


def score_files(
    corpus: Corpus,
    query: RankingQuery,
    fused: FloatArray,
    disabled: Sequence[str] = (),
    weights: Mapping[str, float] = MappingProxyType({}),
) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Return each file's score and what each signal added to it.

    Args:
        corpus: The open index.
        query: The question.
        fused: float32 (n_files,), the fused channels.
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
    """Return what each file's score is multiplied with, 0 to 1: for its role and for what its name says."""
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
    """Return the roles that the question asks for: they do not step back."""
    if analysis["intent"] == "find_tests":
        return frozenset({"test"})
    if analysis["intent"] in ("documentation", "backlog"):
        return frozenset({"docs"})
    return frozenset(analysis["roles"])
