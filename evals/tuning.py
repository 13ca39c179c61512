"""Tuning of search weights and sizes for a repository, on one half of its questions, judged on the other.

Coordinate descent: each setting in turn is tried at a few values and keeps the best, until a round changes nothing or the
time is up. Each round shuffles the settings. Questions with a common answer are in the same half, so the judging half is
independent of the search.
"""

import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final, NamedTuple

from coderag.config.sections import WEIGHTED_SIGNALS, SearchSettings
from coderag.errors import InvalidQueryError
from coderag.schema.search import SearchHit

from .golden import GoldenSet, Question
from .metrics import compute_hit, compute_ndcg, is_declaration
from .repository import Repository, resolve_targets
from .statistics import Difference, compute_difference

MIN_QUESTIONS: Final = 20
TOP_K: Final = 10
_HIT_RANK = 5
_FACTORS: Final = (0.0, 0.35, 0.6, 0.8, 1.25, 1.6, 2.5)
_SIZES: Final[Mapping[str, Sequence[Any]]] = {"max_per_file": (1, 2, 3, 4, 6)}
_MIN_GAIN = 0.004  # gain on the searched questions below which a change is not worth a setting

Progress = Callable[[int, float, float], None]
"""Called after each trial with the number of trials, the best mean, and the share of the time used."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """Result of a tuning run.

    Attributes:
        changes: New values by key of the section ``search``; empty if the current settings are best.
        searched, judged: Number of questions in each half.
        before, after: Mean over the judging half, with the current and the tuned settings.
        gain: Paired difference on the judging half.
        searched_gain: Gain on the searched half, which is biased upwards.
        trials: Number of settings that were tried.
        finished: Whether the search converged before its time was up.
        seconds: Time of the search.
    """

    changes: Mapping[str, Any]
    searched: int
    judged: int
    before: float
    after: float
    gain: Difference
    searched_gain: float
    trials: int
    finished: bool
    seconds: float

    @property
    def is_sure(self) -> bool:
        """True if settings changed and the whole interval of the gain is above zero."""
        return bool(self.changes) and self.gain.is_gain


def tune(
    golden: GoldenSet, repository: Repository, *, budget_s: float, seed: int = 0, progress: Progress | None = None
) -> Tuning:
    """Tune the search settings of a repository.

    The objective is the mean of nDCG@10 and function_hit@5.

    Args:
        golden: Questions about the repository; unanswerable ones are left out.
        repository: The indexed repository; the search starts from its settings.
        budget_s: Time limit in seconds. A search that converges earlier has the same result on every machine.
        seed: Seed of the split and of the order of settings.
        progress: Called after each trial.

    Raises:
        InvalidQueryError: There are too few questions to tell a gain from chance.
    """
    questions = [question for question in resolve_targets(golden, repository).questions if question.answers]
    if len(questions) < MIN_QUESTIONS:
        message = f"{len(questions)} answerable questions are too few to tune on; the minimum is {MIN_QUESTIONS}"
        hint = "Mine more with `coderag eval mine`; small gains need about a hundred."
        raise InvalidQueryError(message, hint=hint)
    searched, judged = split(questions, seed)
    if not searched or not judged:
        raise InvalidQueryError("all questions have the same answer, so they cannot be split into two halves")
    search = _Search(repository, searched, budget_s, seed, progress)
    best = search.run()
    start = repository.rag.settings.search
    before, after = (_score_questions(repository, settings, judged) for settings in (start, best))
    return Tuning(
        changes=_diff_settings(start, best),
        searched=len(searched),
        judged=len(judged),
        before=fmean(before),
        after=fmean(after),
        gain=compute_difference(before, after, seed),
        searched_gain=search.reached - search.began,
        trials=search.trials,
        finished=search.finished,
        seconds=search.seconds,
    )


def split(questions: Sequence[Question], seed: int) -> tuple[list[Question], list[Question]]:
    """Split questions into halves: equal first answers stay together, and intents are balanced."""
    groups: dict[tuple[str, str | int | None], list[Question]] = defaultdict(list)
    for question in questions:
        first = question.answers[0]
        groups[first.path, first.symbol or first.start_line].append(question)
    order = [groups[key] for key in sorted(groups, key=str)]
    random.Random(seed).shuffle(order)
    order.sort(key=lambda group: (group[0].intent, -len(group)))
    halves: tuple[list[Question], list[Question]] = ([], [])
    for group in order:
        min(halves, key=len).extend(group)
    return halves


@dataclass
class _Search:
    repository: Repository
    questions: Sequence[Question]
    budget_s: float
    seed: int
    progress: Progress | None
    trials: int = 0
    began: float = 0.0
    reached: float = 0.0
    finished: bool = False
    _start: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    def run(self) -> SearchSettings:
        best = start = self.repository.rag.settings.search
        self.began = self.reached = self._measure_mean(best)
        order = random.Random(self.seed)
        while not self.finished and self._has_time:
            before = best
            names = [*WEIGHTED_SIGNALS, *_SIZES]
            order.shuffle(names)
            for name in names:
                best = self._choose_value(best, name)
            self.finished = self._has_time and (best == before or self._is_perfect)
        return self._drop_idle_changes(best, start)

    @property
    def _is_perfect(self) -> bool:
        return self.reached + _MIN_GAIN >= 1

    @property
    def _has_time(self) -> bool:
        return self.seconds < self.budget_s

    def _choose_value(self, settings: SearchSettings, name: str) -> SearchSettings:
        """Return the settings with the best value of one setting, if its gain is large enough."""
        best, reached = settings, self.reached + _MIN_GAIN
        for other in _list_alternatives(settings, name):
            if self._is_perfect or not self._has_time:
                break
            mean = self._measure_mean(other)
            if mean > reached:
                best, reached = other, mean
        if best is not settings:
            self.reached = reached
        return best

    def _drop_idle_changes(self, settings: SearchSettings, start: SearchSettings) -> SearchSettings:
        """Drop changes of weights that no longer gain anything beside the later changes."""
        for name in WEIGHTED_SIGNALS:
            other = _set_factor(settings, name, start.weights.get(name, 1.0))
            if other != settings and (mean := self._measure_mean(other)) >= self.reached:
                settings, self.reached = other, mean
        return settings

    def _measure_mean(self, settings: SearchSettings) -> float:
        mean = fmean(_score_questions(self.repository, settings, self.questions))
        self.trials += 1
        if self.progress:
            self.progress(self.trials, max(mean, self.reached), min(1.0, self.seconds / self.budget_s))
        return mean


def _list_alternatives(settings: SearchSettings, name: str) -> list[SearchSettings]:
    """Return the settings with each alternative value of one setting."""
    if name in _SIZES:
        return [settings.model_copy(update={name: value}) for value in _SIZES[name] if value != getattr(settings, name)]
    present = settings.weights.get(name, 1.0)
    return [_set_factor(settings, name, value) for value in (*_FACTORS, 1.0) if value != present]


def _set_factor(settings: SearchSettings, name: str, factor: float) -> SearchSettings:
    weights: dict[str, float] = {known: value for known, value in settings.weights.items() if known != name}
    if factor != 1.0:
        weights[name] = factor
    return settings.model_copy(update={"weights": dict(sorted(weights.items()))})


def _diff_settings(start: SearchSettings, best: SearchSettings) -> dict[str, Any]:
    before, after = start.model_dump(mode="json"), best.model_dump(mode="json")
    return {key: value for key, value in after.items() if value != before[key]}


class _Place(NamedTuple):
    path: str
    start_line: int
    end_line: int


def _score_questions(repository: Repository, settings: SearchSettings, questions: Sequence[Question]) -> list[float]:
    rag = repository.rag.with_search(settings)
    return [_score_question(rag.search(question.question, top_k=TOP_K), question) for question in questions]


def _score_question(hits: Sequence[SearchHit], question: Question) -> float:
    places = [_Place(str(result.path), result.start_line, result.end_line) for result in hits]
    right = [*question.answers, *question.also]
    return (compute_ndcg(places, question.answers, TOP_K) + compute_hit(places, right, _HIT_RANK, is_declaration)) / 2
