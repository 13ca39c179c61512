"""Measurement of recall and precision of the first results."""

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

import numpy as np

from coderag.schema.search import SearchHit
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE

from .expected_answers import ExpectedAnswer
from .questions import StructuralQuestion

TOP_K = 10
_RESAMPLES = 2000
_INTERVAL_PERCENTILES = (2.5, 97.5)  # 95 %


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """A question with its results.

    Attributes:
        n_correct: Number of expected answers among the first results.
        n_places: Number of results that could be these answers: the rest is also right.
        n_stated, n_right: Number of code graph results in judged files, and of right ones among them.
        missed_answers: Expected answers that are missing; none if enough are there.
        seconds: Time that the answer took.
    """

    repository: str
    question: StructuralQuestion
    n_correct: int
    n_places: int
    n_right: int
    n_stated: int
    missed_answers: Sequence[ExpectedAnswer]
    seconds: float

    @property
    def recall(self) -> float:
        """Share of the expected answers that were returned, of at most ten."""
        return min(1.0, self.n_correct / min(self.n_places, len(self.question.answers)))


def ask(repository: str, search: Callable[[str], Sequence[SearchHit]], question: StructuralQuestion) -> QuestionOutcome:
    """Ask a question.

    Args:
        repository: Name of the repository.
        search: Returns the first results.
        question: The question.
    """
    start = time.perf_counter()
    hits = search(question.text)[:TOP_K]
    seconds = time.perf_counter() - start
    answers = question.answers
    found_answers = [answer for answer in answers if any(is_answer(hit, answer) for hit in hits)]
    unmatched_hits = [hit for hit in hits if not any(is_answer(hit, answer) for answer in answers)]
    n_also_right = sum(
        _has_name(hit, question.accepted_name) or any(is_answer(hit, answer) for answer in question.also_right)
        for hit in unmatched_hits
    )
    stated_hits = [
        hit
        for hit in hits
        if hit.channels.get("lookup", 0.0) >= MIN_RESOLVED_CONFIDENCE and str(hit.path) in question.complete_files
    ]
    n_right = sum(any(is_answer(hit, answer) for answer in (*answers, *question.also_right)) for hit in stated_hits)
    n_places = max(1, TOP_K - n_also_right)
    is_complete = len(found_answers) >= min(n_places, len(answers))
    missed_answers = [] if is_complete else [answer for answer in answers if answer not in found_answers]
    return QuestionOutcome(
        repository, question, len(found_answers), n_places, n_right, len(stated_hits), missed_answers, seconds
    )


def is_answer(hit: SearchHit, answer: ExpectedAnswer) -> bool:
    """Return whether a result shows an answer, and not all the code around it."""
    is_inside = answer.path == str(hit.path) and answer.first <= hit.start_line and hit.end_line <= answer.last
    is_shown = is_inside and any(hit.start_line <= line <= hit.end_line for line in answer.lines)
    if is_inside and answer.used_name:
        is_shown = is_shown or _has_name(hit, answer.used_name)
    return is_shown or any(is_answer(hit, alternative) for alternative in answer.alternatives)


def _has_name(hit: SearchHit, name: str) -> bool:
    """Return whether a result from the code graph has a name in its text."""
    is_resolved = hit.channels.get("lookup", 0.0) >= MIN_RESOLVED_CONFIDENCE
    return bool(name) and is_resolved and re.search(rf"\b{re.escape(name)}\b", hit.text) is not None


def summarize_outcomes(outcomes: Sequence[QuestionOutcome], seed: int) -> dict[str, Any]:
    """Return recall and precision by kind of question and by repository, and the time per question."""
    groups: dict[str, list[QuestionOutcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.question.kind].append(outcome)
    for outcome in outcomes:
        groups[f"in {outcome.repository}"].append(outcome)
    rows = {name: _summarize_group(rows, seed) for name, rows in {**groups, "all": list(outcomes)}.items()}
    milliseconds = sorted(1000 * outcome.seconds for outcome in outcomes)
    percentile_95 = milliseconds[round(0.95 * (len(milliseconds) - 1))]
    return {
        "questions": rows,
        "milliseconds": {"median": round(median(milliseconds), 2), "of 95 %": round(percentile_95, 2)},
    }


def _summarize_group(outcomes: Sequence[QuestionOutcome], seed: int) -> dict[str, Any]:
    judged_outcomes = [outcome for outcome in outcomes if outcome.n_stated]
    return {
        "questions": len(outcomes),
        "recall": _estimate_mean((outcome.recall for outcome in outcomes), seed),
        "precision": _estimate_mean((outcome.n_right / outcome.n_stated for outcome in judged_outcomes), seed)
        if judged_outcomes
        else None,
    }


def _estimate_mean(values: Iterable[float], seed: int) -> dict[str, Any]:
    """Return a mean with its 95 % bootstrap interval.

    Source: B. Efron, Bootstrap Methods: Another Look at the Jackknife, 1979.
    """
    sample = np.fromiter(values, np.float64)
    resampled_means = np.random.default_rng(seed).choice(sample, (_RESAMPLES, len(sample))).mean(axis=1)
    low, high = np.percentile(resampled_means, _INTERVAL_PERCENTILES)
    return {"mean": round(fmean(sample), 3), "interval": [round(float(low), 3), round(float(high), 3)]}
