"""Scores of a question over a corpus, as retrieval makes them for the ranker."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coderag.config.sections import SearchSettings
from coderag.models.embedded_dense import EmbeddedDense
from coderag.question.analysis import analyze, meant_terms
from coderag.retrieval.hybrid import propose_candidates, run_channels
from coderag.retrieval.literals import build_literal_candidates, find_literal_matches
from coderag.retrieval.ranking.features import QuestionScores
from coderag.stores.corpus import Corpus
from tests.support.corpora import word_vectors


def score_question(
    corpus: Corpus, query: str, disabled: Sequence[str] = ()
) -> tuple[QuestionScores, NDArray[np.int64]]:
    """Return the scores of a question, and the rows that are proposed for it."""
    analysis, settings = analyze(query), SearchSettings(disabled_signals=tuple(disabled))
    vector = EmbeddedDense(word_vectors()).embed_query(analysis["text"], meant_terms(analysis))
    channels = run_channels(corpus, analysis, vector, None, settings)
    literals = build_literal_candidates(corpus, find_literal_matches(corpus, analysis))
    return propose_candidates(corpus, query, analysis, vector, channels, literals, settings, top_k=settings.top_k)
