"""Hybrid retrieval: run the channels, fuse them, and keep the chunks that may be results."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from coderag.config.sections import SearchSettings
from coderag.retrieval.channels import Channel, find_symbols, search_channels, symbol_scores
from coderag.retrieval.filters import chunk_mask
from coderag.retrieval.fusion import FusedScores, fuse_ranks, fuse_scores
from coderag.retrieval.report_retrieval import fuse_report, report_channels
from coderag.retrieval.shapes import shape_of
from coderag.retrieval.written_names import written_scores
from coderag.schema.query import Analysis, Candidate, FilterValues
from coderag.stores.corpus import Corpus
from coderag.stores.path_index import question_words

FloatArray = NDArray[np.float32]

_FILES_A_RESULT = 2.5  # best files kept as candidates, for each result wanted
_NAMED_FILES_A_RESULT = 1.0  # files kept for their names alone; ranking knows what that is worth
_CHUNKS_A_RESULT = 6.0  # best chunks kept, whatever file they are in
_LEAST_RESULTS = 10  # candidates are kept for at least so many
_CHUNKS_A_FILE = 2  # of the best files; the best chunks of all are kept whatever their files
_REPORT_CHUNKS = 100  # a report needs more to choose from: what is not source steps back only afterwards
_DEFINITIONS = 50  # a common name (``run``) may be declared hundreds of times


def retrieve(
    corpus: Corpus,
    query: str,
    analysis: Analysis,
    vector: FloatArray,
    filters: FilterValues,
    settings: SearchSettings,
    top_k: int = _LEAST_RESULTS,
) -> list[Candidate]:
    """Return the candidates for a question, best fused chunk first.

    Args:
        corpus: The open index.
        query: The question as asked.
        analysis: What it asks for.
        vector: float32 (dimension,), its dense vector, normalised or zero.
        filters: What may be a result.
        settings: How channels are fused and which are off.
        top_k: Number of results wanted; there are several times as many candidates.
    """
    if corpus.n_chunks == 0:
        return []
    allowed = chunk_mask(corpus, filters)
    channels = run_channels(corpus, analysis, vector, allowed, settings)
    if analysis["report"]:
        return _retrieve_report(corpus, channels, allowed)
    fused = fuse_ranks(corpus, channels, settings.rrf_k) if settings.fusion == "rrf" else fuse_scores(corpus, channels)
    rows = _candidate_rows(corpus, fused, query, analysis, settings, top_k)
    if allowed is not None:
        rows = [row for row in rows if allowed[row]]
    return make_candidates(corpus, rows, fused, channels)


def run_channels(
    corpus: Corpus,
    analysis: Analysis,
    vector: FloatArray,
    allowed: NDArray[np.bool_] | None,
    settings: SearchSettings,
) -> list[Channel]:
    """Return the scores of every channel for a question or a report, with what may not be a result as "not found"."""
    report, disabled = analysis["report"], settings.disabled_signals
    if report:
        channels = report_channels(corpus, analysis, report, vector, disabled)
    else:
        channels = search_channels(corpus, analysis, vector, disabled)
    factors = settings.weights
    weighted = [replace(channel, weight=channel.weight * factors.get(channel.name, 1.0)) for channel in channels]
    return [_masked(corpus, channel, allowed) for channel in weighted if channel.weight > 0]


def _retrieve_report(corpus: Corpus, channels: Sequence[Channel], allowed: NDArray[np.bool_] | None) -> list[Candidate]:
    """Return the candidates for a report: the best chunks, and the best of the best files."""
    fused = fuse_report(corpus, channels)
    both = fused.chunks + fused.files[corpus.file_of]
    rows = dict.fromkeys([*top(fused.chunks, _REPORT_CHUNKS), *top(both, _REPORT_CHUNKS)])
    return make_candidates(corpus, [row for row in rows if allowed is None or allowed[row]], fused, channels)


def make_candidates(
    corpus: Corpus, rows: Sequence[int], fused: FusedScores, channels: Sequence[Channel]
) -> list[Candidate]:
    """Return candidates for some chunks, best fused chunk first, with their score in every channel that found them."""
    order = sorted(rows, key=lambda row: (-fused.chunks[row], row))
    files = corpus.file_of[order]
    columns = []
    for channel in channels:
        best = max(float(channel.values.max(initial=0.0)), 1e-9)
        values = channel.values[order if channel.level == "chunk" else files] / best
        columns.append((channel.name, values.tolist()))
    chunk_scores, file_scores = fused.chunks[order].tolist(), fused.files[files].tolist()
    start_lines, end_lines = corpus.start_lines[order].tolist(), corpus.end_lines[order].tolist()
    ids = corpus.column("id")
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


def _masked(corpus: Corpus, channel: Channel, allowed: NDArray[np.bool_] | None) -> Channel:
    """Return the channel with what is filtered out as "not found"; a file counts while one of its chunks does."""
    if allowed is None:
        return channel
    mask = allowed if channel.level == "chunk" else np.logical_or.reduceat(allowed, corpus.file_starts)
    return replace(channel, values=np.where(mask, channel.values, np.float32(0)))


def _candidate_rows(
    corpus: Corpus, fused: FusedScores, query: str, analysis: Analysis, settings: SearchSettings, top_k: int
) -> list[int]:
    """Return the rows that may be results: the best chunks, those of the best and best-named files, the definitions."""
    wanted = max(top_k, _LEAST_RESULTS)
    symbols = find_symbols(corpus, analysis)[:_DEFINITIONS]
    signals = shape_of(analysis["intent"]).chunk_scores(corpus, settings, slice(None))
    written = written_scores(corpus, analysis)
    within = fused.chunks + symbol_scores(corpus, symbols) + written + signals
    rows = dict.fromkeys(match.row for match in symbols)
    rows.update(dict.fromkeys(top(np.where(written > 0, within, 0), _DEFINITIONS)))
    rows.update(dict.fromkeys(top(fused.chunks, round(wanted * _CHUNKS_A_RESULT))))
    words = question_words(query)
    named = corpus.path_index.stem_coverage(words) + corpus.path_index.folder_share(words)
    for file in dict.fromkeys(
        [*top(fused.files, round(wanted * _FILES_A_RESULT)), *top(named, round(wanted * _NAMED_FILES_A_RESULT))]
    ):
        chunks = corpus.chunk_rows(file)
        best = np.argsort(-within[chunks.start : chunks.stop], kind="stable")[:_CHUNKS_A_FILE]
        rows.update(dict.fromkeys((best + chunks.start).tolist()))
    return list(rows)


def top(values: FloatArray, limit: int) -> list[int]:
    """Return the positions of the largest values above 0, best first, the first of equals first."""
    crowded = len(values) > limit
    nearest = np.argpartition(-values, limit - 1)[:limit] if crowded else np.arange(len(values))
    nearest = np.sort(nearest[values[nearest] > 0])
    return [int(position) for position in nearest[np.argsort(-values[nearest], kind="stable")]]


def merge(looked_up: Sequence[Candidate], found: Sequence[Candidate]) -> list[Candidate]:
    """Return all candidates; one that was looked up takes over what retrieval found out about its chunk."""
    by_chunk = {candidate["chunk_id"]: candidate for candidate in found}
    merged = []
    for candidate in looked_up:
        known = by_chunk.get(candidate["chunk_id"])
        if known is None:
            merged.append(candidate)
        else:
            channels = {**known["channels"], "lookup": candidate["channels"]["lookup"]}
            merged.append(
                {**candidate, "score": known["score"], "file_score": known["file_score"], "channels": channels}
            )
    taken = {candidate["chunk_id"] for candidate in looked_up}
    return merged + [candidate for candidate in found if candidate["chunk_id"] not in taken]
