"""Hybrid retrieval: run the channels, fuse them, and select candidates."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from coderag.config.sections import SearchSettings
from coderag.retrieval.channels import Channel, find_symbols, score_channels, score_symbols
from coderag.retrieval.filters import build_chunk_mask
from coderag.retrieval.fusion import FusedScores, fuse_ranks, fuse_scores
from coderag.retrieval.literals import score_literals
from coderag.retrieval.report_retrieval import fuse_report, report_channels
from coderag.retrieval.shapes import shape_of
from coderag.schema.query import Analysis, Candidate, FilterValues
from coderag.stores.corpus import Corpus
from coderag.stores.path_index import split_question

FloatArray = NDArray[np.float32]

_FILES_PER_RESULT = 2.5  # best files per wanted result
_NAMED_FILES_PER_RESULT = 1.0  # files selected by name alone, per wanted result
_CHUNKS_PER_RESULT = 6.0  # best chunks of any file, per wanted result
_MIN_RESULTS = 10  # results for which candidates are always selected
_CHUNKS_PER_FILE = 2  # of the best files
_MAX_REPORT_CHUNKS = 100  # a report needs more candidates, as factors of roles apply only afterwards
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
    literals: Sequence[Candidate] = (),
) -> list[Candidate]:
    """Retrieve the candidates of a question, best fused chunk first.

    Args:
        corpus: The open index.
        query: Question of the caller.
        analysis: Analysis of the question.
        vector: float32 (dimension,), dense vector of the question, normalised or zero.
        filters: Filters of results.
        settings: Fusion and disabled channels.
        top_k: Wanted number of results; there are several times as many candidates.
        literals: Candidates of the channel of literals; files with one are likelier to have more to show.
    """
    if corpus.n_chunks == 0:
        return []
    allowed = build_chunk_mask(corpus, filters)
    channels = run_channels(corpus, analysis, vector, allowed, settings)
    if analysis["report"]:
        return _retrieve_report(corpus, channels, allowed)
    fused = fuse_ranks(corpus, channels, settings.rrf_k) if settings.fusion == "rrf" else fuse_scores(corpus, channels)
    rows = _select_rows(corpus, fused, query, analysis, settings, top_k, score_literals(corpus, literals))
    if allowed is not None:
        rows = [row for row in rows if allowed[row]]
    return build_candidates(corpus, rows, fused, channels)


def run_channels(
    corpus: Corpus,
    analysis: Analysis,
    vector: FloatArray,
    allowed: NDArray[np.bool_] | None,
    settings: SearchSettings,
) -> list[Channel]:
    """Compute every channel's scores for a question or a report, with filtered chunks as not found."""
    report, disabled = analysis["report"], settings.disabled_signals
    if report:
        channels = report_channels(corpus, analysis, report, vector, disabled)
    else:
        channels = score_channels(corpus, analysis, vector, disabled)
    factors = settings.weights
    weighted = [replace(channel, weight=channel.weight * factors.get(channel.name, 1.0)) for channel in channels]
    return [_mask_channel(corpus, channel, allowed) for channel in weighted if channel.weight > 0]


def _retrieve_report(corpus: Corpus, channels: Sequence[Channel], allowed: NDArray[np.bool_] | None) -> list[Candidate]:
    """Retrieve the candidates of a report: the best chunks, and the best chunks of the best files."""
    fused = fuse_report(corpus, channels)
    combined = fused.chunks + fused.files[corpus.chunk_files]
    rows = dict.fromkeys([*select_top(fused.chunks, _MAX_REPORT_CHUNKS), *select_top(combined, _MAX_REPORT_CHUNKS)])
    return build_candidates(corpus, [row for row in rows if allowed is None or allowed[row]], fused, channels)


def build_candidates(
    corpus: Corpus, rows: Sequence[int], fused: FusedScores, channels: Sequence[Channel]
) -> list[Candidate]:
    """Build candidates of chunks, best fused chunk first, with their score in each channel that found them."""
    order = sorted(rows, key=lambda row: (-fused.chunks[row], row))
    files = corpus.chunk_files[order]
    columns = []
    for channel in channels:
        best = max(float(channel.values.max(initial=0.0)), 1e-9)
        values = channel.values[order if channel.level == "chunk" else files] / best
        columns.append((channel.name, values.tolist()))
    chunk_scores, file_scores = fused.chunks[order].tolist(), fused.files[files].tolist()
    start_lines, end_lines = corpus.start_lines[order].tolist(), corpus.end_lines[order].tolist()
    ids = corpus.get_column("id")
    return [
        Candidate(
            chunk_id=ids[row],
            score=chunk_scores[position],
            file_score=file_scores[position],
            channels={name: values[position] for name, values in columns if values[position] > 0},
            signals={},
            start_line=start_lines[position],
            end_line=end_lines[position],
            symbol="",
        )
        for position, row in enumerate(order)
    ]


def _mask_channel(corpus: Corpus, channel: Channel, allowed: NDArray[np.bool_] | None) -> Channel:
    """Mask filtered chunks as not found; a file counts while one of its chunks does."""
    if allowed is None:
        return channel
    mask = allowed if channel.level == "chunk" else np.logical_or.reduceat(allowed, corpus.file_starts)
    return replace(channel, values=np.where(mask, channel.values, np.float32(0)))


def _select_rows(
    corpus: Corpus,
    fused: FusedScores,
    query: str,
    analysis: Analysis,
    settings: SearchSettings,
    top_k: int,
    literal_scores: FloatArray,
) -> list[int]:
    """Select rows: the best chunks, chunks of the best and best-named files, and definitions."""
    result_count = max(top_k, _MIN_RESULTS)
    symbols = find_symbols(corpus, analysis)[:_MAX_DEFINITIONS]
    signals = shape_of(analysis["intent"]).chunk_scores(corpus, settings, slice(None))
    chunk_scores = fused.chunks + score_symbols(corpus, symbols) + literal_scores + signals
    rows = dict.fromkeys(match.row for match in symbols)
    rows.update(dict.fromkeys(select_top(np.where(literal_scores > 0, chunk_scores, 0), _MAX_DEFINITIONS)))
    rows.update(dict.fromkeys(select_top(fused.chunks, round(result_count * _CHUNKS_PER_RESULT))))
    words = split_question(query)
    name_coverage = corpus.path_index.compute_stem_coverage(words) + corpus.path_index.compute_folder_share(words)
    for file in dict.fromkeys(
        [
            *select_top(fused.files, round(result_count * _FILES_PER_RESULT)),
            *select_top(name_coverage, round(result_count * _NAMED_FILES_PER_RESULT)),
        ]
    ):
        chunks = corpus.get_chunk_rows(file)
        best = np.argsort(-chunk_scores[chunks.start : chunks.stop], kind="stable")[:_CHUNKS_PER_FILE]
        rows.update(dict.fromkeys((best + chunks.start).tolist()))
    return list(rows)


def select_top(values: FloatArray, limit: int) -> list[int]:
    """Return the positions of the largest positive values, best first, the first of equals first."""
    exceeds_limit = len(values) > limit
    positions = np.argpartition(-values, limit - 1)[:limit] if exceeds_limit else np.arange(len(values))
    positions = np.sort(positions[values[positions] > 0])
    return [int(position) for position in positions[np.argsort(-values[positions], kind="stable")]]


def merge_candidates(located: Sequence[Candidate], retrieved: Sequence[Candidate]) -> list[Candidate]:
    """Merge candidates; those of the look-up and of literals take over the channels of their retrieved duplicate.

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
                "file_score": duplicate["file_score"],
                "channels": {**duplicate["channels"], **candidate["channels"]},
            }
            if duplicate
            else candidate
        )
    located_ids = {candidate["chunk_id"] for candidate in located}
    return [*by_place.values(), *(candidate for candidate in retrieved if candidate["chunk_id"] not in located_ids)]
