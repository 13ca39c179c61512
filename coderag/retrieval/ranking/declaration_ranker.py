"""Ranker of declarations: a linear model over named features. Its weights are data (``weights.toml``).

``tools/ranking`` fits them on labelled declarations; ``docs/ranking.md`` describes the fit.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.retrieval.ranking.features import QuestionScores, compute_features, compute_role_shares

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

OTHER_ROLE: Final = "other"
"""Key of the weight of files whose role the question does not ask for, if it asks for one."""


@dataclass(frozen=True, slots=True)
class RankingWeights:
    """Weights of the ranker.

    Attributes:
        features: Weight of each feature, by name.
        kinds: Weight of each kind of declaration; 0 for kinds that are not listed.
        roles: Weight of each role of files; 0 for source files.
        scale, bias: The probability that a declaration answers is ``1 / (1 + exp(-(scale * sum + bias)))``.
    """

    features: Mapping[str, float]
    kinds: Mapping[str, float]
    roles: Mapping[str, float]
    scale: float
    bias: float


@cache
def load_weights() -> RankingWeights:
    """Load the shipped weights."""
    text = (resources.files("coderag.retrieval.ranking") / "weights.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    return RankingWeights(
        features=MappingProxyType(table["features"]),
        kinds=MappingProxyType(table["kinds"]),
        roles=MappingProxyType(table["roles"]),
        scale=table["probability"]["scale"],
        bias=table["probability"]["bias"],
    )


@dataclass(frozen=True, slots=True)
class RankedRows:
    """Scored chunks.

    Attributes:
        scores: float32 (n_rows,), estimated probability that each chunk answers the question.
        shares: Contribution of each feature to the sum before, by name: float32 (n_rows,).
    """

    scores: FloatArray
    shares: Mapping[str, FloatArray]


def rank_rows(
    scores: QuestionScores,
    rows: IntArray,
    disabled: Sequence[str] = (),
    factors: Mapping[str, float] = MappingProxyType({}),
) -> RankedRows:
    """Rank chunks.

    Args:
        scores: Scores of the question.
        rows: int64 (n_rows,), the candidates.
        disabled: Names of features to leave out.
        factors: Factors on the features' weights, by name.
    """
    weights = load_weights()
    values = compute_features(scores, rows)
    shares = {
        name: np.float32(weight * factors.get(name, 1.0)) * values[name]
        for name, weight in weights.features.items()
        if name not in disabled
    }
    if "kind" not in disabled:
        shares["kind"] = np.float32(factors.get("kind", 1.0)) * _weigh_kinds(scores, rows, weights)
    if "role" not in disabled:
        shares["role"] = np.float32(factors.get("role", 1.0)) * _weigh_roles(scores, rows, weights)
    total = np.sum(list(shares.values()), axis=0) if shares else np.zeros(len(rows), np.float32)
    return RankedRows(1 / (1 + np.exp(-(weights.scale * total + weights.bias))), shares)


def _weigh_kinds(scores: QuestionScores, rows: IntArray, weights: RankingWeights) -> FloatArray:
    kinds = scores.corpus.get_column("kind")
    return np.fromiter((weights.kinds.get(kinds[row], 0.0) for row in rows.tolist()), np.float32, len(rows))


def _weigh_roles(scores: QuestionScores, rows: IntArray, weights: RankingWeights) -> FloatArray:
    """Return the weight of each chunk's role, which does not apply where the question asks for that role."""
    file_roles = scores.corpus.file_roles
    shares = compute_role_shares(scores.analysis, list(weights.roles))
    is_limited = bool(0.0 in shares.values())
    by_role = {role: weight * shares[role] for role, weight in weights.roles.items()}
    if is_limited:
        for role in ("source", *weights.roles):
            if shares.get(role, 1.0):
                by_role[role] = by_role.get(role, 0.0) + weights.roles[OTHER_ROLE]
    files = scores.corpus.chunk_files[rows].tolist()
    return np.fromiter((by_role.get(file_roles[file], 0.0) for file in files), np.float32, len(rows))
