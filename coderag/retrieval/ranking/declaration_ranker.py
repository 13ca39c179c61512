"""Ranker of declarations: a linear model over named features. Its weights are data (``weights.toml``), in profiles.

``tools/ranking`` fits them on labelled declarations; ``docs/ranking.md`` describes the fit.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from coderag.retrieval.ranking.features import (
    DECLARATION_FEATURES,
    FILE_FEATURES,
    Feature,
    QuestionScores,
    compute_doubt,
    compute_features,
    compute_role_shares,
)

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

Profile = Literal["question", "report"]
"""What is asked: a question, or a report of a problem."""

OTHER_ROLE: Final = "other"
"""Key of the weight of files whose role the question does not ask for, if it asks for one."""

_REPEATED_FILE_SHARE: Final = 0.3
"""Share of a file's evidence that each further declaration of it has of the one before: the evidence was used."""


@dataclass(frozen=True, slots=True)
class RankingWeights:
    """Weights of the ranker in one profile.

    Attributes:
        declaration: Weight of each feature of declarations, by name; features that are not listed do not count.
        file: Weight of each feature of files, by name; they count as far as the question is broad.
        kinds: Weight of each kind of declaration; 0 for kinds that are not listed.
        roles: Weight of each role of files; 0 for source files.
        scale, bias: The probability that a declaration answers is ``1 / (1 + exp(-(scale * sum + bias)))``.
    """

    declaration: Mapping[str, float]
    file: Mapping[str, float]
    kinds: Mapping[str, float]
    roles: Mapping[str, float]
    scale: float
    bias: float


@cache
def load_weights(profile: Profile = "question") -> RankingWeights:
    """Load the shipped weights of a profile, which are those of questions unless it has its own."""
    text = (resources.files("coderag.retrieval.ranking") / "weights.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    table = {name: {**entries, **tables[profile].get(name, {})} for name, entries in tables["question"].items()}
    return RankingWeights(
        declaration=MappingProxyType(table["declaration"]),
        file=MappingProxyType(table["file"]),
        kinds=MappingProxyType(table["kinds"]),
        roles=MappingProxyType(table["roles"]),
        scale=table["probability"]["scale"],
        bias=table["probability"]["bias"],
    )


@dataclass(frozen=True, slots=True)
class RankedRows:
    """Scored chunks.

    Attributes:
        scores: float64 (n_rows,), estimated probability that each chunk answers the question.
        shares: Contribution of each feature to the sum before, by name: float32 (n_rows,).
    """

    scores: NDArray[np.float64]
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
    weights = load_weights("report" if scores.analysis["report"] else "question")
    by_name = {name: weight * factors.get(name, 1.0) for name, weight in weights.declaration.items()}
    shares = _weigh_features(scores, rows, DECLARATION_FEATURES, by_name, disabled)
    if "kind" not in disabled:
        shares["kind"] = np.float32(factors.get("kind", 1.0)) * _weigh_kinds(scores, rows, weights)
    if "role" not in disabled:
        shares["role"] = np.float32(factors.get("role", 1.0)) * _weigh_roles(scores, rows, weights)
    breadth = scores.breadth
    by_name = {name: breadth * weight * factors.get(name, 1.0) for name, weight in weights.file.items()}
    file_shares = _weigh_features(scores, rows, FILE_FEATURES, by_name, disabled)
    order = count_better_in_file(scores.corpus.chunk_files[rows], _add(shares, len(rows)))
    for name, values in file_shares.items():
        shares[name] = values * np.float32(_REPEATED_FILE_SHARE) ** order
    logits = weights.scale * _add(shares, len(rows)).astype(np.float64) + weights.bias
    return RankedRows(np.exp(-np.logaddexp(0, -logits)), shares)  # does not overflow, whatever the factors


def _weigh_features(
    scores: QuestionScores,
    rows: IntArray,
    features: Mapping[str, Feature],
    weights: Mapping[str, float],
    disabled: Sequence[str],
) -> dict[str, FloatArray]:
    """Return the weighted values of the features that count."""
    active = {name: features[name] for name, weight in weights.items() if weight and name not in disabled}
    values = compute_features(scores, active, rows)
    return {name: np.float32(weights[name]) * values[name] for name in active}


def _add(shares: Mapping[str, FloatArray], row_count: int) -> FloatArray:
    total: FloatArray = np.sum(list(shares.values()), axis=0) if shares else np.zeros(row_count, np.float32)
    return total


def count_better_in_file(files: NDArray[np.integer[Any]], values: FloatArray) -> FloatArray:
    """Count for each row the rows of the same file with a higher value: float32 (n_rows,)."""
    order = np.lexsort((-values, files))
    sorted_files = files[order]
    starts = np.flatnonzero(np.r_[True, sorted_files[1:] != sorted_files[:-1]])
    counts = np.empty(len(files), np.float32)
    counts[order] = np.arange(len(files)) - np.repeat(starts, np.diff(np.r_[starts, len(files)]))
    return counts


def _weigh_kinds(scores: QuestionScores, rows: IntArray, weights: RankingWeights) -> FloatArray:
    kinds = scores.corpus.get_column("kind")
    by_row = np.fromiter((weights.kinds.get(kinds[row], 0.0) for row in rows.tolist()), np.float32, len(rows))
    return by_row * compute_doubt(scores, rows)


def _weigh_roles(scores: QuestionScores, rows: IntArray, weights: RankingWeights) -> FloatArray:
    """Return the weight of each chunk's role, which does not apply where the question asks for that role."""
    file_roles = scores.corpus.file_roles
    shares = compute_role_shares(scores.analysis, list(weights.roles))
    is_limited = bool(0.0 in shares.values())
    files = scores.corpus.chunk_files[rows].tolist()
    by_role = {role: weight * shares[role] for role, weight in weights.roles.items()}
    penalties = np.fromiter((by_role.get(file_roles[file], 0.0) for file in files), np.float32, len(rows))
    if is_limited:
        is_other = np.fromiter((shares.get(file_roles[file], 1.0) > 0 for file in files), np.float32, len(rows))
        penalties += np.float32(weights.roles[OTHER_ROLE]) * is_other
    return penalties
