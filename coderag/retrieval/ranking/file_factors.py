"""Factors of files that step back: whose names indicate little code of their own, data, and what a question excludes."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.question.hints import hint_factors
from coderag.retrieval.report_places import Places
from coderag.schema.query import Analysis, ReportQuery
from coderag.stores.corpus import Corpus

FloatArray = NDArray[np.float32]

NAME_FACTORS: Final = {"barrel": 0.9, "declarations_only": 0.9, "legacy": 0.8}
"""Factors of files whose names indicate little code of their own."""

_DATA_FACTOR = 0.6  # files in no known language: fixtures, word lists
_OTHER_LANGUAGE_FACTOR = 0.6  # files in other languages than those that a report is about
_MAIN_LANGUAGE_SHARE = 0.2  # of the source's files; a report that shows no code may be about any of these languages


def compute_file_factors(corpus: Corpus, analysis: Analysis, disabled: Sequence[str] = ()) -> FloatArray:
    """Compute the factor on each file's score: float32 (n_files,), above 0 and at most 1."""
    factors = np.ones(corpus.n_files, np.float32)
    for name, factor in NAME_FACTORS.items():
        if name not in disabled:
            factors[corpus.path_index.flagged_files[name]] *= factor
    if "data" not in disabled:
        factors[corpus.data_files] *= _DATA_FACTOR
    if "hints" not in disabled:
        factors *= hint_factors(corpus, analysis)
    if "language" not in disabled and analysis["report"]:
        factors *= _compute_language_factors(corpus, analysis["report"])
    return factors


def _compute_language_factors(corpus: Corpus, report: ReportQuery) -> FloatArray:
    """Return 1 for files in the languages of a report's stack traces, else in the main languages of the source."""
    languages = corpus.get_column("language")
    by_file = [languages[start] for start in corpus.file_starts]
    expected = {by_file[call.file] for call in Places(corpus).called(report["frames"])}
    if not expected:
        counts = Counter(
            language for language, role in zip(by_file, corpus.file_roles, strict=True) if role == "source"
        )
        expected = {language for language, count in counts.items() if count >= _MAIN_LANGUAGE_SHARE * counts.total()}
    factors = [_OTHER_LANGUAGE_FACTOR if expected and language not in expected else 1.0 for language in by_file]
    return np.asarray(factors, np.float32)


def find_wanted_roles(analysis: Analysis) -> frozenset[str]:
    """Find the roles that the question asks for; files of these roles do not step back."""
    if analysis["intent"] == "find_tests":
        return frozenset({"test"})
    if analysis["intent"] in ("documentation", "backlog"):
        return frozenset({"docs"})
    return frozenset(analysis["roles"])
