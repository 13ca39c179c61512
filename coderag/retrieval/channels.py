"""Retrieval channels: each scores every chunk or every file for one question or report.

Scores are compared only after division by the channel's maximum, so their scales may differ.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coderag.question.analysis import ABOUT_ONE_NAME
from coderag.question.entities import names_in
from coderag.retrieval.report_places import Places
from coderag.schema.query import Analysis, ReportQuery
from coderag.stores.corpus import Corpus
from coderag.stores.lexical import LexicalIndex
from coderag.stores.symbol_table import SymbolMatch

FloatArray = NDArray[np.float32]

_MIN_NAME_CHARS = 2
_SIMILAR_NAME_FACTOR = 0.5  # factor on the quality of a similar name
_MIN_BACKGROUND_CHUNKS = 10  # chunks
_FRAME_DECAY = 0.75  # for each step away from the call that failed


@dataclass(frozen=True, slots=True)
class Channel:
    """Scores of one channel for one question.

    Attributes:
        values: float32 (n_chunks,) or (n_files,) by `level`; 0 or less means not found.
    """

    name: str
    level: Literal["chunk", "file"]
    values: FloatArray


def score_channels(
    corpus: Corpus, analysis: Analysis, vector: FloatArray, disabled: Sequence[str] = ()
) -> list[Channel]:
    """Compute the scores of every channel that is not disabled.

    Args:
        corpus: The open index.
        analysis: Analysis of the question or report.
        vector: float32 (dimension,), its dense vector, normalised or zero.
        disabled: Names of disabled channels.
    """
    terms = corpus.get_term_ids([*analysis["terms"], *analysis["expanded_terms"]])
    cosines, report = corpus.compute_cosines(vector), analysis["report"]
    channels = [
        Channel("lexical", "chunk", _score_terms(corpus, corpus.body, terms, report and report["terms"])),
        Channel("dense", "chunk", cosines if analysis["symbol_query"] else subtract_background(cosines)),
        Channel("names", "chunk", _score_terms(corpus, corpus.names, terms, report and report["name_terms"])),
        Channel("docs", "file", corpus.docs.score(terms)),
        *(_score_places(corpus, report) if report else ()),
    ]
    return [channel for channel in channels if channel.name not in disabled]


def _score_terms(
    corpus: Corpus, index: LexicalIndex, terms: Sequence[int], weights: Mapping[str, float] | None
) -> FloatArray:
    """Score the terms of a question, or those of a report by their weights."""
    if weights is None:
        return index.score(terms)
    known = {corpus.term_ids[term]: weight for term, weight in weights.items() if term in corpus.term_ids}
    return index.score(list(known), list(known.values()))


def _score_places(corpus: Corpus, report: ReportQuery) -> list[Channel]:
    """Score what a report points to: the calls of its stack traces, their files, and the files that it names."""
    places = Places(corpus)
    calls = places.called(report["frames"])
    paths = [places.file_of(path) for path in report["paths"]]
    return [
        Channel(
            "frames", "chunk", _score_steps(corpus.n_chunks, ((call.row, step) for step, call in enumerate(calls)))
        ),
        Channel(
            "frame_files", "file", _score_steps(corpus.n_files, ((call.file, step) for step, call in enumerate(calls)))
        ),
        Channel("mentioned_path", "file", _score_steps(corpus.n_files, ((path, 0) for path in paths))),
    ]


def _score_steps(size: int, steps: Iterable[tuple[int | None, int]]) -> FloatArray:
    """Score 1 for the place of a call that failed, and less for each step before."""
    scores = np.zeros(size, np.float32)
    for position, step in steps:
        if position is not None:
            scores[position] = max(scores[position], _FRAME_DECAY**step)
    return scores


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
    """Find the declarations of every name in the question, best first; those of a report by the weight of the name."""
    if analysis["report"]:
        matches = [match for entry in analysis["report"]["names"].items() for match in _find_mentions(corpus, *entry)]
        return sorted(matches, key=lambda match: -match.quality)
    names = [name for name in names_in(analysis["entities"]) if len(name) >= _MIN_NAME_CHARS]
    allows_similar = analysis["intent"] in ABOUT_ONE_NAME  # other questions may name foreign code
    matches = [
        match
        for name in names
        for match in corpus.symbols.find(name) or (_find_similar_symbols(corpus, name) if allows_similar else ())
    ]
    return sorted(matches, key=lambda match: -match.quality)


def _find_mentions(corpus: Corpus, name: str, weight: float) -> list[SymbolMatch]:
    """Find the declarations of a name in a report; a name that many declare says little."""
    matches = corpus.symbols.find(name)
    share = weight / (1 + log(max(len({match.row for match in matches}), 1)))
    return [replace(match, quality=match.quality * share) for match in matches]


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
