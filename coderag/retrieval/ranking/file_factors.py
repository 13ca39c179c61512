"""Factors of files that step back: whose names indicate little code of their own, data, and what a question excludes."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.question.hints import hint_factors
from coderag.schema.query import Analysis
from coderag.stores.corpus import Corpus

FloatArray = NDArray[np.float32]

NAME_FACTORS: Final = {"barrel": 0.9, "declarations_only": 0.9, "legacy": 0.8}
"""Factors of files whose names indicate little code of their own."""

_DATA_FACTOR = 0.6  # files in no known language: fixtures, word lists


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
    return factors


def find_wanted_roles(analysis: Analysis) -> frozenset[str]:
    """Find the roles that the question asks for; files of these roles do not step back."""
    if analysis["intent"] == "find_tests":
        return frozenset({"test"})
    if analysis["intent"] in ("documentation", "backlog"):
        return frozenset({"docs"})
    return frozenset(analysis["roles"])
