"""Hybrid retrieval: channels propose candidates, and the ranker scores them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from coderag.config.sections import SearchSettings
from coderag.retrieval.channels import Channel, find_symbols, score_channels, score_symbols
from coderag.retrieval.filters import build_chunk_mask
from coderag.retrieval.literals import score_literals
from coderag.retrieval.proposals import build_candidates, propose_rows
from coderag.retrieval.ranking.declaration_ranker import rank_rows
from coderag.retrieval.ranking.features import QuestionScores
from coderag.schema.query import Analysis, Candidate, FilterValues
from coderag.stores.corpus import Corpus

FloatArray = NDArray[np.float32]

_MIN_RESULTS = 10  # results for which candidates are always proposed
_CANDIDATES_PER_RESULT = 6  # some are withheld or merged, and a context shows more
_MAX_DEFINITIONS = 50  # a common name (``run``) may be declared hundreds of times


def retrieve_candidates(  # noqa: PLR0913  # one parameter per input of the step
    corpus: Corpus,
    query: str,
    analysis: Analysis,
    vector: FloatArray,
    filters: FilterValues,
    settings: SearchSettings,
    top_k: int = _MIN_RESULTS,
    *,
    located: Sequence[Candidate] = (),
) -> list[Candidate]:
    """Retrieve the candidates of a question or report, best first.

    Args:
        corpus: The open index.
        query: Question of the caller.
        analysis: Analysis of the question.
        vector: float32 (dimension,), dense vector of the question, normalised or zero.
        filters: Filters of results.
        settings: Disabled channels and features, and factors on weights.
        top_k: Wanted number of results; there are several times as many candidates.
        located: Candidates of the look-up and of literals; their chunks are scored as well.
    """
    if corpus.n_chunks == 0:
        return []
    allowed = build_chunk_mask(corpus, filters)
    channels = run_channels(corpus, analysis, vector, allowed, settings)
    scores, rows = propose_candidates(corpus, query, analysis, vector, channels, located, settings, top_k=top_k)
    if allowed is not None:
        rows = rows[allowed[rows]]
    ranked = rank_rows(scores, rows, settings.disabled_signals, settings.weights)
    required = [corpus.rows_by_id[candidate["chunk_id"]] for candidate in located]
    return build_candidates(corpus, rows, ranked, channels, _CANDIDATES_PER_RESULT * max(top_k, _MIN_RESULTS), required)


def propose_candidates(  # noqa: PLR0913  # one parameter per input of the step
    corpus: Corpus,
    query: str,
    analysis: Analysis,
    vector: FloatArray,
    channels: Sequence[Channel],
    located: Sequence[Candidate],
    settings: SearchSettings,
    *,
    top_k: int,
) -> tuple[QuestionScores, NDArray[np.int64]]:
    """Return the scores of a question, and the rows of the chunks that the ranker is to score, each once."""
    symbols = find_symbols(corpus, analysis)
    scores = QuestionScores(
        corpus,
        query,
        analysis,
        vector,
        channels,
        score_symbols(corpus, symbols),
        score_literals(corpus, located),
        disabled=settings.disabled_signals,
    )
    rows = dict.fromkeys(corpus.rows_by_id[candidate["chunk_id"]] for candidate in located)
    rows.update(dict.fromkeys(match.row for match in symbols[:_MAX_DEFINITIONS]))
    rows.update(dict.fromkeys(propose_rows(scores, channels, max(top_k, _MIN_RESULTS))))
    return scores, np.fromiter(rows, np.int64, len(rows))


def run_channels(
    corpus: Corpus,
    analysis: Analysis,
    vector: FloatArray,
    allowed: NDArray[np.bool_] | None,
    settings: SearchSettings,
) -> list[Channel]:
    """Compute every channel's scores for a question or a report, with filtered chunks as not found."""
    channels = score_channels(corpus, analysis, vector, settings.disabled_signals)
    return [_mask_channel(corpus, channel, allowed) for channel in channels]


def _mask_channel(corpus: Corpus, channel: Channel, allowed: NDArray[np.bool_] | None) -> Channel:
    """Mask filtered chunks as not found; a file counts while one of its chunks does."""
    if allowed is None:
        return channel
    mask = allowed if channel.level == "chunk" else np.logical_or.reduceat(allowed, corpus.file_starts)
    return replace(channel, values=np.where(mask, channel.values, np.float32(0)))


def merge_candidates(located: Sequence[Candidate], retrieved: Sequence[Candidate]) -> list[Candidate]:
    """Merge candidates; those of the look-up and of literals take over the score of their chunk.

    Args:
        located: Declarations and lines, several of a chunk perhaps; those of both channels become one.
        retrieved: Chunks.
    """
    by_chunk = {candidate["chunk_id"]: candidate for candidate in retrieved}
    by_place: dict[tuple[str, int, str], Candidate] = {}
    for candidate in located:
        place = candidate["chunk_id"], candidate["start_line"], candidate["symbol"]
        duplicate = by_place.get(place) or by_chunk.get(candidate["chunk_id"])
        by_place[place] = (
            {
                **(by_place.get(place) or candidate),
                "score": duplicate["score"],
                "signals": duplicate["signals"],
                "channels": {**duplicate["channels"], **candidate["channels"]},
            }
            if duplicate
            else candidate
        )
    located_ids = {candidate["chunk_id"] for candidate in located}
    return [*by_place.values(), *(candidate for candidate in retrieved if candidate["chunk_id"] not in located_ids)]
