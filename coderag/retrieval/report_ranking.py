"""Rank what was found for a report: declarations of the source, in the languages that the report is about."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coderag.retrieval.channels import Channel
from coderag.retrieval.proposals import build_candidates, select_top
from coderag.retrieval.ranking.declaration_ranker import RankedRows, count_better_in_file
from coderag.retrieval.ranking.file_factors import compute_file_factors
from coderag.retrieval.report_places import Places
from coderag.retrieval.report_retrieval import fuse_report
from coderag.schema.query import Analysis, Candidate, ReportQuery
from coderag.stores.corpus import Corpus

FloatArray = NDArray[np.float32]

ROLE_FACTORS = {"source": 1.0, "test": 0.3, "docs": 0.4, "example": 0.4}
"""How far files that are not source step back, on top of what their names say: a fault is mended in the source."""

_CHUNK_SHARE = 0.6  # of a score; the rest is the file's
_SAME_FILE_DECAY = 0.8  # per better declaration of the same file
_MAX_CHUNKS = 100  # many, as factors of roles apply only afterwards
_OTHER_ROLE = 0.6
_OTHER_LANGUAGE = 0.6
_MAIN_LANGUAGE_SHARE = 0.2  # of the source's files; a report that shows no code may be about any of these languages


def rank_report(
    corpus: Corpus,
    analysis: Analysis,
    report: ReportQuery,
    channels: Sequence[Channel],
    allowed: NDArray[np.bool_] | None,
    disabled: Sequence[str],
) -> list[Candidate]:
    """Rank the best chunks for a report, and the best chunks of the best files; best first.

    Args:
        corpus: The open index.
        analysis: Analysis of the report.
        report: The parsed report.
        channels: Channels of the report.
        allowed: bool (n_chunks,), chunks that filters leave; None leaves all.
        disabled: Names of signals to leave out.
    """
    fused = fuse_report(corpus, channels, disabled)
    by_file = fused.files[corpus.chunk_files]
    proposed = [
        *select_top(fused.chunks, _MAX_CHUNKS),
        *select_top(fused.chunks + by_file, _MAX_CHUNKS),
    ]
    rows = np.asarray([row for row in dict.fromkeys(proposed) if allowed is None or allowed[row]], np.int64)
    factors = compute_file_factors(corpus, analysis, disabled)
    if "role" not in disabled:
        factors *= np.asarray([ROLE_FACTORS.get(role, _OTHER_ROLE) for role in corpus.file_roles], np.float32)
    if "language" not in disabled:
        factors *= _language_factors(corpus, report)
    factor = factors[corpus.chunk_files[rows]]
    chunk_scores = fused.chunks[rows] * factor
    factor = factor * np.float32(_SAME_FILE_DECAY) ** count_better_in_file(corpus.chunk_files[rows], chunk_scores)
    shares = {
        "chunk": np.float32(_CHUNK_SHARE) * fused.chunks[rows] * factor,
        "file": np.float32(1 - _CHUNK_SHARE) * by_file[rows] * factor,
    }
    total = (shares["chunk"] + shares["file"]).astype(np.float64)
    return build_candidates(corpus, rows, RankedRows(total, shares), channels)


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
