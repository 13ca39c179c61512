"""Rank what was found for a report: declarations of the source, in the languages that the report is about."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coderag.retrieval.ranking.signals import compute_file_factors
from coderag.retrieval.report_places import Places
from coderag.retrieval.shapes import REPORT, Scored
from coderag.schema.query import Analysis, Candidate, ReportQuery
from coderag.stores.corpus import Corpus

FloatArray = NDArray[np.float32]

ROLE_FACTORS = {"source": 1.0, "test": 0.3, "docs": 0.4, "example": 0.4}
"""How far files that are not source step back, on top of what their names say: a fault is mended in the source."""

_OTHER_ROLE = 0.6
_OTHER_LANGUAGE = 0.6
_MAIN_LANGUAGE_SHARE = 0.2  # of the source's files; a report that shows no code may be about any of these languages


def report_scores(
    corpus: Corpus, analysis: Analysis, report: ReportQuery, candidates: Sequence[Candidate], disabled: Sequence[str]
) -> tuple[list[Scored], dict[str, FloatArray]]:
    """Return the candidates with their scores, best first, and what each file's score was multiplied with.

    Args:
        corpus: The open index.
        analysis: Of the report.
        report: What it was searched with.
        candidates: From retrieval.
        disabled: Names of signals to leave out.
    """
    factors = compute_file_factors(corpus, analysis, [*disabled, "role"])
    if "role" not in disabled:
        factors *= np.asarray([ROLE_FACTORS.get(role, _OTHER_ROLE) for role in corpus.file_roles], np.float32)
    if "language" not in disabled:
        factors *= _language_factors(corpus, report)
    scored = []
    for candidate in candidates:
        row = corpus.rows_by_id[candidate["chunk_id"]]
        score = REPORT.chunk_share * candidate["score"] + (1 - REPORT.chunk_share) * candidate["file_score"]
        # No part is the chunk's own: a fault is seldom mended in many places of one file, so all of a score steps back.
        scored.append(Scored(score * float(factors[corpus.chunk_files[row]]), 0.0, row, candidate))
    scored.sort(key=lambda one: (-one.score, one.row))
    return scored, {"factor": factors}


def _language_factors(corpus: Corpus, report: ReportQuery) -> FloatArray:
    """Return 1 for files in the languages of the report's stack traces, else in the main languages of the source."""
    languages = corpus.get_column("language")
    of_file = [languages[start] for start in corpus.file_starts]
    called = {of_file[call.file] for call in Places(corpus).called(report["frames"])}
    if not called:
        counts = Counter(
            language for language, role in zip(of_file, corpus.file_roles, strict=True) if role == "source"
        )
        called = {language for language, count in counts.items() if count >= _MAIN_LANGUAGE_SHARE * counts.total()}
    if not called:
        return np.ones(corpus.n_files, np.float32)
    return np.asarray([1.0 if language in called else _OTHER_LANGUAGE for language in of_file], np.float32)
