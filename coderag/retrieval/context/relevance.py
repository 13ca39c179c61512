"""Relevance of candidates to a context: the probability that each is needed, from its score, its rank and the decline."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from coderag.schema.query import Analysis
from coderag.schema.vocabulary import QuestionKind

Breadth = Literal["narrow", "broad", "report"]
"""Extent of what a question needs: one place, many places, or what a problem report may concern."""


class BreadthProfile(NamedTuple):
    """Weights for one breadth, fitted on labelled declarations (``docs/context.md``).

    The probability that a candidate is needed is the logistic function of
    ``bias + score * logit(score) + top * logit(best score) + log_rank * ln(rank)``.

    Attributes:
        token_price: Relevance that a token must add to be spent.
    """

    bias: float
    score: float
    top: float
    log_rank: float
    token_price: float


PROFILES: Final[Mapping[Breadth, BreadthProfile]] = MappingProxyType(
    {
        "narrow": BreadthProfile(bias=-0.4, score=0.74, top=-0.48, log_rank=-0.81, token_price=7e-5),
        "broad": BreadthProfile(bias=-0.45, score=0.45, top=0.0, log_rank=-0.6, token_price=3e-5),
        "report": BreadthProfile(bias=0.1, score=1.05, top=-1.2, log_rank=-0.66, token_price=3e-5),
    }
)

_BROAD_KINDS: Final[frozenset[QuestionKind]] = frozenset(
    {"find_usage", "hierarchy", "find_tests", "impact", "path", "flow"}
)
_MIN_RESOLVED_SCORE = 2.0  # of answers that the code graph has resolved; the ranker's own scores are at most 1
_RESOLVED_RELEVANCE = 0.85
_MIN_PROBABILITY, _MAX_PROBABILITY = 1e-4, 0.97  # exact answers have scores above 1


def get_breadth(analysis: Analysis) -> Breadth:
    """Return the breadth of a question."""
    if analysis["report"]:
        return "report"
    reading = analysis["reading"]
    return "broad" if reading["kind"] in _BROAD_KINDS or reading["form"] == "overview" else "narrow"


def estimate_relevance(scores: Sequence[float], breadth: Breadth) -> list[float]:
    """Estimate the probability that each candidate is needed.

    Args:
        scores: The ranker's scores, best candidate first.
        breadth: Breadth of the question.
    """
    if not scores:
        return []
    resolved = sum(score >= _MIN_RESOLVED_SCORE for score in scores) if breadth == "broad" else 0
    profile = PROFILES["narrow" if resolved else breadth]  # a resolved list leaves little to look for
    base = profile.bias + profile.top * _to_log_odds(scores[0])
    return [
        _RESOLVED_RELEVANCE
        if rank <= resolved
        else 1 / (1 + math.exp(-(base + profile.score * _to_log_odds(score) + profile.log_rank * math.log(rank))))
        for rank, score in enumerate(scores, 1)
    ]


def _to_log_odds(probability: float) -> float:
    clipped = min(max(probability, _MIN_PROBABILITY), _MAX_PROBABILITY)
    return math.log(clipped / (1 - clipped))
