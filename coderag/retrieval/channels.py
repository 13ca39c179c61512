"""Retrieval channels: each scores every chunk or every file for one question.

Scores are compared only after division by the channel's maximum, so their scales may differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coderag.question.analysis import ABOUT_ONE_NAME
from coderag.question.entities import names_in
from coderag.schema.query import Analysis
from coderag.stores.corpus import Corpus
from coderag.stores.symbol_table import SymbolMatch

FloatArray = NDArray[np.float32]

_MIN_NAME_CHARS = 2
_SIMILAR_NAME_FACTOR = 0.5  # factor on the quality of a similar name
_MIN_BACKGROUND_CHUNKS = 10  # chunks


@dataclass(frozen=True, slots=True)
class Channel:
    """Scores of one channel for one question.

    Attributes:
        values: float32 (n_chunks,) or (n_files,) by `level`; 0 or less means not found.
        weight: Weight in the ranking of a report; a question's channels are weighed by the ranker.
    """

    name: str
    level: Literal["chunk", "file"]
    values: FloatArray
    weight: float = 1.0


def score_channels(
    corpus: Corpus, analysis: Analysis, vector: FloatArray, disabled: Sequence[str] = ()
) -> list[Channel]:
    """Compute the scores of every channel that is not disabled.

    Args:
        corpus: The open index.
        analysis: Analysis of the question.
        vector: float32 (dimension,), dense vector of the question, normalised or zero.
        disabled: Names of disabled channels.
    """
    terms = corpus.get_term_ids([*analysis["terms"], *analysis["expanded_terms"]])
    cosines = corpus.compute_cosines(vector)
    channels = [
        Channel("lexical", "chunk", corpus.body.score(terms)),
        Channel("dense", "chunk", cosines if analysis["symbol_query"] else subtract_background(cosines)),
        Channel("names", "chunk", corpus.names.score(terms)),
        Channel("docs", "file", corpus.docs.score(terms)),
    ]
    return [channel for channel in channels if channel.name not in disabled]


def normalize_scores(values: FloatArray) -> FloatArray:
    """Divide values by their maximum, negative ones as 0; all zeros without positive values."""
    best = float(values.max(initial=0.0))
    if best <= 0:
        return np.zeros_like(values)
    return np.divide(np.maximum(values, 0), np.float32(best), dtype=np.float32)


def subtract_background(cosines: FloatArray) -> FloatArray:
    """Subtract the background similarity (mean plus one standard deviation, clipped at 0).

    Any two pieces of code are somewhat similar: the best cosine is hardly twice the mean. Without the subtraction,
    half the scale would carry no information, and chance word matches would decide.
    """
    if len(cosines) < _MIN_BACKGROUND_CHUNKS:
        return cosines
    mean, best = cosines.mean(), cosines.max()
    background = min(
        mean + cosines.std(), (mean + best) / 2
    )  # if half the repository is similar, half still exceeds it
    excess: FloatArray = np.maximum(cosines - background, np.float32(0)).astype(np.float32)
    return excess


def find_symbols(corpus: Corpus, analysis: Analysis) -> list[SymbolMatch]:
    """Find the declarations of every name in the question, best first."""
    names = [name for name in names_in(analysis["entities"]) if len(name) >= _MIN_NAME_CHARS]
    allows_similar = analysis["intent"] in ABOUT_ONE_NAME  # other questions may name foreign code
    matches = [
        match
        for name in names
        for match in corpus.symbols.find(name) or (_find_similar_symbols(corpus, name) if allows_similar else ())
    ]
    return sorted(matches, key=lambda match: -match.quality)


def _find_similar_symbols(corpus: Corpus, name: str) -> list[SymbolMatch]:
    """Find the declarations of names similar to one that does not occur: misspelt or truncated."""
    if len(corpus.find_chunks_with_name(name)):  # it occurs, so it is not misspelt
        return []
    return [
        replace(match, quality=match.quality * spelling.quality * _SIMILAR_NAME_FACTOR)
        for spelling in corpus.symbols.find_spellings(name)
        for match in corpus.symbols.find(spelling.word)
    ]


def score_symbols(corpus: Corpus, matches: Sequence[SymbolMatch]) -> FloatArray:
    """Score how well each chunk declares a name of the question, 0 to 1."""
    scores = np.zeros(corpus.n_chunks, np.float32)
    for match in matches:
        scores[match.row] = max(scores[match.row], match.quality)
    return scores
