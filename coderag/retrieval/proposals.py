"""Proposals of the channels: which chunks the ranker scores, and the candidates that it returns."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.retrieval.channels import Channel
from coderag.retrieval.ranking.declaration_ranker import RankedRows
from coderag.retrieval.ranking.features import FILE_CHANNELS, QuestionScores
from coderag.schema.query import Candidate
from coderag.stores.corpus import Corpus

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

_PROPOSALS_PER_RESULT: Final[Mapping[str, float]] = MappingProxyType(
    {"lexical": 6, "dense": 6, "names": 3, "frames": 6, "coverage": 4, "neighbours": 4, "files": 2.5}
)
"""Proposals per wanted result: chunks of each channel, neighbours of the best chunks in the code graph, and files."""

_CHUNKS_PER_FILE = 2  # of the proposed files
_MAX_NEIGHBOUR_SEEDS = 15  # best chunks whose neighbours are proposed


def propose_rows(scores: QuestionScores, channels: Sequence[Channel], result_count: int) -> list[int]:
    """Propose chunks: the best of each channel, their neighbours in the code graph, and chunks of the best files."""
    corpus = scores.corpus
    limits = {name: round(result_count * share) for name, share in _PROPOSALS_PER_RESULT.items()}
    rows: dict[int, None] = {}
    for channel in channels:
        if channel.level == "chunk":
            rows.update(dict.fromkeys(select_top(channel.values, limits[channel.name])))
    rows.update(dict.fromkeys(select_top(scores.coverage, limits["coverage"])))
    seeds = select_top(scores.evidence, _MAX_NEIGHBOUR_SEEDS)
    rows.update(dict.fromkeys(corpus.chunk_edges.find_neighbours(seeds, limits["neighbours"])))
    path_index = corpus.path_index
    names = path_index.compute_stem_coverage(scores.name_words) + path_index.compute_folder_share(scores.name_words)
    file_scores = scores.file_lexical + names
    for name in FILE_CHANNELS:
        file_scores += scores.get_channel(name)
    for file in select_top(file_scores, limits["files"]):
        chunks = corpus.get_chunk_rows(file)
        best = np.argsort(-scores.evidence[chunks.start : chunks.stop], kind="stable")[:_CHUNKS_PER_FILE]
        rows.update(dict.fromkeys((best + chunks.start).tolist()))
    return list(rows)


def build_candidates(
    corpus: Corpus,
    rows: IntArray,
    ranked: RankedRows,
    channels: Sequence[Channel],
    limit: int | None = None,
    required: Sequence[int] = (),
) -> list[Candidate]:
    """Build candidates of chunks, best first, with their score in each channel that found them.

    Args:
        corpus: The open index.
        rows: Rows of the chunks.
        ranked: Their scores.
        channels: The channels' scores.
        limit: Number of candidates to build; None builds all.
        required: Rows to build candidates of, however low they score.
    """
    order = np.lexsort((rows, -ranked.scores))
    if limit is not None:
        order = order[(np.arange(len(order)) < limit) | np.isin(rows[order], required)]
    sorted_rows = rows[order]
    files = corpus.chunk_files[sorted_rows]
    columns = []
    for channel in channels:
        best = max(float(channel.values.max(initial=0.0)), 1e-9)
        values = channel.values[sorted_rows if channel.level == "chunk" else files] / best
        columns.append((channel.name, values.tolist()))
    shares = [(name, values[order].tolist()) for name, values in ranked.shares.items()]
    scores = ranked.scores[order].tolist()
    start_lines, end_lines = corpus.start_lines[sorted_rows].tolist(), corpus.end_lines[sorted_rows].tolist()
    ids = corpus.get_column("id")
    return [
        Candidate(
            chunk_id=ids[row],
            score=scores[position],
            channels={name: values[position] for name, values in columns if values[position] > 0},
            signals={name: values[position] for name, values in shares if values[position]},
            start_line=start_lines[position],
            end_line=end_lines[position],
            symbol="",
        )
        for position, row in enumerate(sorted_rows.tolist())
    ]


def select_top(values: FloatArray, limit: int) -> list[int]:
    """Return the positions of the largest positive values, best first, the first of equals first."""
    exceeds_limit = len(values) > limit
    positions = np.argpartition(-values, limit - 1)[:limit] if exceeds_limit else np.arange(len(values))
    positions = np.sort(positions[values[positions] > 0])
    return [int(position) for position in positions[np.argsort(-values[positions], kind="stable")]]
