"""Fusion of the channels' scores into one score per chunk and one per file."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coderag.retrieval.channels import Channel
from coderag.stores.corpus import Corpus

FloatArray = NDArray[np.float32]

_CHUNK_CHANNELS = frozenset({"lexical", "dense"})
"""Channels that choose among the chunks of a file, by their weights."""


@dataclass(frozen=True, slots=True)
class FusedScores:
    """Fused float32 scores, 0 to 1: ``chunks`` (n_chunks,) and ``files`` (n_files,)."""

    chunks: FloatArray
    files: FloatArray


def normalize_scores(values: FloatArray) -> FloatArray:
    """Divide values by their maximum, negative ones as 0; all zeros without positive values."""
    best = float(values.max(initial=0.0))
    if best <= 0:
        return np.zeros_like(values)
    return np.divide(np.maximum(values, 0), np.float32(best), dtype=np.float32)


def fuse_scores(corpus: Corpus, channels: Sequence[Channel]) -> FusedScores:
    """Fuse by weighted means of the max-normalised channel scores.

    Args:
        corpus: The open index.
        channels: Channels with masked scores.

    Source: score-based fusion with maximum normalisation (CombSUM over max-normalised scores; Fox and Shaw, 1994).
    """
    total = sum(channel.weight for channel in channels) or 1.0
    files = np.zeros(corpus.n_files, np.float32)
    chunks = np.zeros(corpus.n_chunks, np.float32)
    chunk_total = 0.0
    for channel in channels:
        values = normalize_scores(channel.values)
        files += channel.weight / total * (corpus.compute_file_max(values) if channel.level == "chunk" else values)
        if channel.name in _CHUNK_CHANNELS:
            chunks += np.float32(channel.weight) * values
            chunk_total += channel.weight
    chunks /= np.float32(max(chunk_total, 1.0))
    return FusedScores(chunks=chunks, files=files)


def fuse_ranks(corpus: Corpus, channels: Sequence[Channel], k: int = 60) -> FusedScores:
    """Fuse by sums of ``1 / (k + rank)`` over the channels, divided by their maximum.

    Source: reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009); k = 60 is theirs.
    """
    files = np.zeros(corpus.n_files, np.float32)
    chunks = np.zeros(corpus.n_chunks, np.float32)
    for channel in channels:
        by_file = corpus.compute_file_max(channel.values) if channel.level == "chunk" else channel.values
        files += _compute_reciprocal_ranks(by_file, k)
        if channel.level == "chunk":
            chunks += _compute_reciprocal_ranks(channel.values, k)
    return FusedScores(chunks=normalize_scores(chunks), files=normalize_scores(files))


def _compute_reciprocal_ranks(values: FloatArray, k: int) -> FloatArray:
    """Compute ``1 / (k + rank)`` for positive values, 0 for the rest; the best has rank 1."""
    order = np.argsort(-values, kind="stable")
    ranks = np.empty(len(values), np.float32)
    ranks[order] = np.arange(1, len(values) + 1, dtype=np.float32)
    return np.where(values > 0, 1.0 / (k + ranks), 0.0).astype(np.float32)
