"""Features of declarations for the ranker: each is named, has a value for each candidate, and can be switched off.

Features of matching are 0 to 1 for one question; features of the declaration itself are the same for every question.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.question.entities import names_in
from coderag.retrieval.channels import Channel, normalize_scores
from coderag.retrieval.ranking.file_factors import compute_file_factors, find_wanted_roles
from coderag.schema.query import Analysis
from coderag.stores.corpus import Corpus, compute_dot_products
from coderag.stores.path_index import split_question
from coderag.stores.symbol_table import split_qualified
from coderag.text.tokenizer import COMPOUND_PREFIX

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

FILE_CHANNELS: Final = ("docs", "frame_files", "mentioned_path")
"""Channels that score files; the others score chunks."""

_TEST_SHARE_ABOUT_TESTS = 0.4  # of the weight of tests, for a question that mentions tests
_MIN_TERMS_BROAD, _MAX_TERMS_BROAD = 6, 14
"""Numbers of terms up to which a question is wholly about a subject, and from which on it is not."""

_LITERAL_SHARE = 1.0  # by which a literal of a question narrows it
_LOG_LINES_UNIT, _LOG_FILE_LINES_UNIT = 5, 10
"""Logarithms of line counts are divided by these, so that most values are 0 to 1."""


class QuestionScores:
    """Scores of all chunks and files for one question, computed when a feature first asks for them.

    Args:
        corpus: The open index.
        question: The question as asked.
        analysis: Its analysis.
        vector: float32 (dimension,), dense vector of the question, normalised or zero.
        channels: The channels' scores.
        definition_scores: float32 (n_chunks,), how well each chunk declares a name of the question, 0 to 1.
        literal_scores: float32 (n_chunks,), how well each chunk has a literal of the question, 0 to 1.
        disabled: Names of file factors to leave out.
    """

    def __init__(  # noqa: PLR0913  # one parameter per input
        self,
        corpus: Corpus,
        question: str,
        analysis: Analysis,
        vector: FloatArray,
        channels: Sequence[Channel],
        definition_scores: FloatArray,
        literal_scores: FloatArray,
        *,
        disabled: Sequence[str] = (),
    ) -> None:
        self.corpus = corpus
        self.analysis = analysis
        self.definition = definition_scores
        self.literal = literal_scores
        self.disabled = disabled
        self._vector = vector
        self._question = question
        self._channels = {channel.name: channel.values for channel in channels}

    def get_channel(self, name: str) -> FloatArray:
        """Return the scores of a channel divided by their maximum: 0 to 1, all 0 if it is switched off."""
        if name not in self._normalized:
            size = self.corpus.n_files if name in FILE_CHANNELS else self.corpus.n_chunks
            self._normalized[name] = normalize_scores(self._channels.get(name, np.zeros(size, np.float32)))
        return self._normalized[name]

    @cached_property
    def _normalized(self) -> dict[str, FloatArray]:
        return {}

    @cached_property
    def cosines(self) -> FloatArray:
        """float32 (n_chunks,), cosine of each chunk with the question; 0 for negative ones."""
        return np.maximum(self.corpus.compute_cosines(self._vector), np.float32(0))

    @cached_property
    def file_lexical(self) -> FloatArray:
        """float32 (n_files,), the best lexical score in each file."""
        return self.corpus.compute_file_max(self.get_channel("lexical"))

    @cached_property
    def file_dense(self) -> FloatArray:
        """float32 (n_files,), the best dense score in each file."""
        return self.corpus.compute_file_max(self.get_channel("dense"))

    @cached_property
    def path_similarity(self) -> FloatArray:
        """float32 (n_files,), similarity of each path with the question, 0 to 1 for the best."""
        return normalize_scores(compute_dot_products(self.corpus.path_vectors, self._vector))

    @cached_property
    def breadth(self) -> float:
        """Breadth of the question, 0 to 1 by its number of terms: 1 is about a subject, 0 about one declaration.

        Few words name a subject, to which a file or a long declaration is devoted; many words describe what one does. A
        question with a literal that chunks have, and more words, is about that. A report is about one fault.
        """
        if self.analysis["report"]:
            return 0.0
        term_count = len({term for term in self.analysis["terms"] if not term.startswith(COMPOUND_PREFIX)})
        share = (_MAX_TERMS_BROAD - term_count) / (_MAX_TERMS_BROAD - _MIN_TERMS_BROAD)
        literal = 0.0 if self.analysis["literal_query"] else float(self.literal.max(initial=0.0))
        return min(max(share, 0.0), 1.0) * (1 - _LITERAL_SHARE * min(literal, 1.0))

    @cached_property
    def evidence(self) -> FloatArray:
        """float32 (n_chunks,), lexical and dense evidence, for the neighbours of each chunk."""
        return (self.get_channel("lexical") + self.get_channel("dense")) / np.float32(2)

    @cached_property
    def name_words(self) -> Sequence[str]:
        """Stemmed words that may be part of a file's or folder's name."""
        return split_question(self._question)

    @cached_property
    def coverage(self) -> FloatArray:
        """float32 (n_chunks,), share of the question's terms in each chunk, weighted by IDF."""
        corpus, report = self.corpus, self.analysis["report"]
        covered, total = np.zeros(corpus.n_chunks, np.float32), 0.0
        for term, weight in (report["terms"] if report else dict.fromkeys(self.analysis["terms"], 1.0)).items():
            idf = np.float32(weight * corpus.idf(term))
            total += float(idf)
            if term in corpus.term_ids:
                covered[corpus.find_chunks_with_term(term)] += idf
        return (covered / np.float32(max(total, 1e-9))).astype(np.float32)


def _score_length(scores: QuestionScores, rows: IntArray) -> FloatArray:
    values: FloatArray = scores.corpus.log_line_counts[rows] / np.float32(_LOG_LINES_UNIT)
    return values


def _score_path_hints(scores: QuestionScores, rows: IntArray) -> FloatArray:
    """Return the logarithm of the factor on each file's score: 0, or less for files that step back."""
    factors = compute_file_factors(scores.corpus, scores.analysis, scores.disabled)
    return np.log(_take_by_file(scores, factors, rows))


def _score_file_size(scores: QuestionScores, rows: IntArray) -> FloatArray:
    sizes = np.log1p(scores.corpus.file_line_counts).astype(np.float32)
    return _take_by_file(scores, sizes, rows) / np.float32(_LOG_FILE_LINES_UNIT)


def _score_path(scores: QuestionScores, rows: IntArray) -> FloatArray:
    """Score the similarity of each file's path with the question, relative to the best path."""
    return _take_by_file(scores, scores.path_similarity, rows)


def _score_file_name(scores: QuestionScores, rows: IntArray) -> FloatArray:
    """Score the share of a file name's words that the question has."""
    return _take_by_file(scores, scores.corpus.path_index.compute_stem_coverage(scores.name_words), rows)


def _score_file_of_name(scores: QuestionScores, rows: IntArray) -> FloatArray:
    """Score files named like an identifier of the question."""
    names = [part for name in names_in(scores.analysis["entities"]) for part in split_qualified(name)[-1:]]
    return _take_by_file(scores, scores.corpus.path_index.match_stems(names), rows)


def _take_by_file(scores: QuestionScores, values: FloatArray, rows: IntArray) -> FloatArray:
    taken: FloatArray = values[scores.corpus.chunk_files[rows]]
    return taken


Feature = Callable[[QuestionScores, IntArray], FloatArray]

DECLARATION_FEATURES: Final[Mapping[str, Feature]] = {
    "lexical": lambda scores, rows: scores.get_channel("lexical")[rows],
    "dense": lambda scores, rows: scores.get_channel("dense")[rows],
    "cosine": lambda scores, rows: scores.cosines[rows],
    "coverage": lambda scores, rows: scores.coverage[rows],
    "callers": lambda scores, rows: scores.corpus.chunk_edges.find_best_user(scores.evidence, rows),
    "callees": lambda scores, rows: scores.corpus.chunk_edges.find_best_used(scores.evidence, rows),
    "definition": lambda scores, rows: scores.definition[rows],
    "frames": lambda scores, rows: scores.get_channel("frames")[rows],
    "frame_files": lambda scores, rows: _take_by_file(scores, scores.get_channel("frame_files"), rows),
    "mentioned_path": lambda scores, rows: _take_by_file(scores, scores.get_channel("mentioned_path"), rows),
    "literal": lambda scores, rows: scores.literal[rows],
    "length": _score_length,
    "broad_coverage": lambda scores, rows: np.float32(scores.breadth) * scores.coverage[rows],
    "broad_length": lambda scores, rows: np.float32(scores.breadth) * _score_length(scores, rows),
    "path_hints": _score_path_hints,
}
"""Features of a declaration by name, each float32 (n_rows,) for some rows."""

FILE_FEATURES: Final[Mapping[str, Feature]] = {
    "file_lexical": lambda scores, rows: _take_by_file(scores, scores.file_lexical, rows),
    "file_dense": lambda scores, rows: _take_by_file(scores, scores.file_dense, rows),
    "path": _score_path,
    "file_name": _score_file_name,
    "file_of_name": _score_file_of_name,
    "file_size": _score_file_size,
}
"""Features of a declaration's file: the same for all declarations of a file."""


def compute_features(scores: QuestionScores, features: Mapping[str, Feature], rows: IntArray) -> dict[str, FloatArray]:
    """Compute features of some chunks: float32 (n_rows,) by name."""
    return {name: compute(scores, rows) for name, compute in features.items()}


def compute_doubt(scores: QuestionScores, rows: IntArray) -> FloatArray:
    """Return how far the kind of some chunks counts: 1, down to 0 for those with a literal of the question."""
    doubt: FloatArray = np.float32(1) - np.minimum(scores.literal[rows], np.float32(1))
    return doubt


def compute_role_shares(analysis: Analysis, roles: Sequence[str]) -> dict[str, float]:
    """Return by role how far the weight of files of that role applies; 0 for a role that the question asks for."""
    wanted = find_wanted_roles(analysis)
    softened = {"test": _TEST_SHARE_ABOUT_TESTS} if analysis["about_tests"] else {}
    return {role: 0.0 if role in wanted else softened.get(role, 1.0) for role in roles}
