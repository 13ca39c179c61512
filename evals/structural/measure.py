"""Ask the questions, and tell how many of the right answers are among the first results."""

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

import numpy as np

from coderag.schema.search import SearchHit
from coderag.schema.vocabulary import RESOLVED

from .answers import Answer
from .questions import Question

TOP_K = 10
_RESAMPLES = 2000
_BOUNDS = (2.5, 97.5)  # percentiles: 95 %


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what came of it.

    Attributes:
        found: Right answers among the first results.
        places: Results that could be these answers: the others are right too.
        right, stated: Results in judged files that the code graph stands for, and how many of these are right.
        missed: Right answers that are not there; none where enough are.
        seconds: That the answer took.
    """

    repository: str
    question: Question
    found: int
    places: int
    right: int
    stated: int
    missed: Sequence[Answer]
    seconds: float

    @property
    def recall(self) -> float:
        """Share of the right answers that could be found: of ten, at most."""
        return min(1.0, self.found / min(self.places, len(self.question.answers)))


def ask(repository: str, search: Callable[[str], Sequence[SearchHit]], question: Question) -> Asked:
    """Ask a question.

    Args:
        repository: Its name.
        search: Returns the first results.
        question: The question.
    """
    start = time.perf_counter()
    hits = search(question.text)[:TOP_K]
    seconds = time.perf_counter() - start
    answers = question.answers
    found = [answer for answer in answers if any(is_answer(hit, answer) for hit in hits)]
    wrong = [hit for hit in hits if not any(is_answer(hit, answer) for answer in answers)]
    others = sum(_names(hit, question.naming) or any(is_answer(hit, one) for one in question.right) for hit in wrong)
    stated = [hit for hit in hits if hit.channels.get("lookup", 0.0) >= RESOLVED and str(hit.path) in question.judged]
    right = sum(any(is_answer(hit, answer) for answer in (*answers, *question.right)) for hit in stated)
    places = max(1, TOP_K - others)
    enough = len(found) >= min(places, len(answers))
    missed = [] if enough else [answer for answer in answers if answer not in found]
    return Asked(repository, question, len(found), places, right, len(stated), missed, seconds)


def is_answer(hit: SearchHit, answer: Answer) -> bool:
    """Whether a result shows an answer, and not all that is around it."""
    inside = answer.path == str(hit.path) and answer.first <= hit.start_line and hit.end_line <= answer.last
    shown = inside and any(hit.start_line <= line <= hit.end_line for line in answer.lines)
    if inside and answer.written:
        shown = shown or _names(hit, answer.written)
    return shown or any(is_answer(hit, other) for other in answer.also)


def _names(hit: SearchHit, name: str) -> bool:
    """Whether the code graph stands for a result that has a name in its text."""
    known = hit.channels.get("lookup", 0.0) >= RESOLVED
    return bool(name) and known and re.search(rf"\b{re.escape(name)}\b", hit.text) is not None


def figures(asked: Sequence[Asked], seed: int) -> dict[str, Any]:
    """Return recall and precision by kind of question and by repository, and how long the answers took."""
    groups: dict[str, list[Asked]] = defaultdict(list)
    for one in asked:
        groups[one.question.kind].append(one)
    for one in asked:
        groups[f"in {one.repository}"].append(one)
    rows = {name: _figures(rows, seed) for name, rows in {**groups, "all": list(asked)}.items()}
    milliseconds = sorted(1000 * one.seconds for one in asked)
    late = milliseconds[round(0.95 * (len(milliseconds) - 1))]
    return {"questions": rows, "milliseconds": {"median": round(median(milliseconds), 2), "of 95 %": round(late, 2)}}


def _figures(asked: Sequence[Asked], seed: int) -> dict[str, Any]:
    judged = [one for one in asked if one.stated]
    return {
        "questions": len(asked),
        "recall": _mean((one.recall for one in asked), seed),
        "precision": _mean((one.right / one.stated for one in judged), seed) if judged else None,
    }


def _mean(values: Iterable[float], seed: int) -> dict[str, Any]:
    """Return a mean with its interval of 95 %: percentiles of the means of samples drawn with replacement.

    Source: B. Efron, Bootstrap Methods: Another Look at the Jackknife, 1979.
    """
    known = np.fromiter(values, np.float64)
    drawn = np.random.default_rng(seed).choice(known, (_RESAMPLES, len(known))).mean(axis=1)
    low, high = np.percentile(drawn, _BOUNDS)
    return {"mean": round(fmean(known), 3), "interval": [round(float(low), 3), round(float(high), 3)]}
