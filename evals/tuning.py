"""Which weights and sizes suit a repository better than the defaults: searched on half of its questions, judged on the other.

Coordinate descent: one setting after the other is tried at a few values, and the best one kept, until a whole round changes
nothing or the time is up. The order of the settings is drawn anew for each round. What is searched on knows nothing of what
is judged on: questions with a common answer are on the same side.
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
from .metrics import hit, is_declaration, ndcg
from .repository import Repository, anchor
from .statistics import Difference, difference

FEWEST_QUESTIONS: Final = 20
TOP_K: Final = 10
_FIRST = 5
_FACTORS: Final = (0.0, 0.35, 0.6, 0.8, 1.25, 1.6, 2.5)
_SIZES: Final[Mapping[str, Sequence[Any]]] = {"max_per_file": (1, 2, 3, 4, 6), "fusion": ("scores", "rrf")}
_LEAST_STEP = 0.004  # gain on the questions that are searched on, below which a change is not worth a setting

Progress = Callable[[int, float, float], None]
"""Told after each trial: how many there were, what the best reaches, and the share of the time that is used up."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a search found.

    Attributes:
        changes: Keys of the section ``search`` with the values found; empty if the present ones are best.
        searched, judged: Number of questions on either side.
        before, after: Mean over the questions that judge, with the present settings and with those found.
        gain: The difference on them, question by question.
        searched_gain: The same on the questions that chose the values, which flatters them.
        trials: Settings that were tried.
        finished: Whether the search ended by itself, and not because its time was up.
        seconds: That it took.
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
        """Whether something was found, and the whole interval of its gain is above zero."""
        return bool(self.changes) and self.gain.is_gain


def tune(
    golden: GoldenSet, repository: Repository, *, budget_s: float, seed: int = 0, progress: Progress | None = None
) -> Tuning:
    """Search settings for a repository.

    What is raised is the mean of nDCG@10 and of whether the declaration itself is among the first five results.

    Args:
        golden: Questions about the repository; those without an answer are left out.
        repository: The repository, indexed; its settings are where the search begins.
        budget_s: When to end, in seconds. A search that ends before is the same on every machine.
        seed: Of the split and of the order in which settings are tried.
        progress: Told after each trial.

    Raises:
        InvalidQueryError: There are too few questions to tell a gain from chance.
    """
    questions = [question for question in anchor(golden, repository).questions if question.answers]
    if len(questions) < FEWEST_QUESTIONS:
        message = (
            f"{len(questions)} questions with an answer here are too few to tune on; {FEWEST_QUESTIONS} is the least"
        )
        hint = "`coderag eval mine` makes more of the repository's history and tests; a hundred show small gains."
        raise InvalidQueryError(message, hint=hint)
    searched, judged = split(questions, seed)
    if not searched or not judged:
        raise InvalidQueryError("all questions have the same answer, so none is left to judge by")
    search = _Search(repository, searched, budget_s, seed, progress)
    best = search.run()
    start = repository.rag.settings.search
    before, after = (_values(repository, settings, judged) for settings in (start, best))
    return Tuning(
        changes=_changes(start, best),
        searched=len(searched),
        judged=len(judged),
        before=fmean(before),
        after=fmean(after),
        gain=difference(before, after, seed),
        searched_gain=search.reached - search.began,
        trials=search.trials,
        finished=search.finished,
        seconds=search.seconds,
    )


def split(questions: Sequence[Question], seed: int) -> tuple[list[Question], list[Question]]:
    """Return two halves of questions; those with the same first answer are in the same one, and intents are spread."""
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
        self.began = self.reached = self._mean(best)
        order = random.Random(self.seed)
        while not self.finished and self._has_time:
            before = best
            names = [*WEIGHTED_SIGNALS, *_SIZES]
            order.shuffle(names)
            for name in names:
                best = self._best_value(best, name)
            self.finished = self._has_time and (best == before or self._is_perfect)
        return self._without_idle(best, start)

    @property
    def _is_perfect(self) -> bool:
        return self.reached + _LEAST_STEP >= 1

    @property
    def _has_time(self) -> bool:
        return self.seconds < self.budget_s

    def _best_value(self, settings: SearchSettings, name: str) -> SearchSettings:
        """Return the settings with the value of one that reaches most, if that is enough more to be worth it."""
        best, reached = settings, self.reached + _LEAST_STEP
        for other in _others(settings, name):
            if self._is_perfect or not self._has_time:
                break
            mean = self._mean(other)
            if mean > reached:
                best, reached = other, mean
        if best is not settings:
            self.reached = reached
        return best

    def _without_idle(self, settings: SearchSettings, start: SearchSettings) -> SearchSettings:
        """Return the settings without changes that gain nothing any more, now that there are others."""
        for name in WEIGHTED_SIGNALS:
            other = _with_factor(settings, name, start.weights.get(name, 1.0))
            if other != settings and (mean := self._mean(other)) >= self.reached:
                settings, self.reached = other, mean
        return settings

    def _mean(self, settings: SearchSettings) -> float:
        mean = fmean(_values(self.repository, settings, self.questions))
        self.trials += 1
        if self.progress:
            self.progress(self.trials, max(mean, self.reached), min(1.0, self.seconds / self.budget_s))
        return mean


def _others(settings: SearchSettings, name: str) -> list[SearchSettings]:
    """Return the settings with each other value of one."""
    if name in _SIZES:
        return [settings.model_copy(update={name: value}) for value in _SIZES[name] if value != getattr(settings, name)]
    present = settings.weights.get(name, 1.0)
    return [_with_factor(settings, name, value) for value in (*_FACTORS, 1.0) if value != present]


def _with_factor(settings: SearchSettings, name: str, factor: float) -> SearchSettings:
    weights: dict[str, float] = {known: value for known, value in settings.weights.items() if known != name}
    if factor != 1.0:
        weights[name] = factor
    return settings.model_copy(update={"weights": dict(sorted(weights.items()))})


def _changes(start: SearchSettings, best: SearchSettings) -> dict[str, Any]:
    before, after = start.model_dump(mode="json"), best.model_dump(mode="json")
    return {key: value for key, value in after.items() if value != before[key]}


class _Place(NamedTuple):
    path: str
    start_line: int
    end_line: int


def _values(repository: Repository, settings: SearchSettings, questions: Sequence[Question]) -> list[float]:
    rag = repository.rag.with_search(settings)
    return [_value(rag.search(question.question, top_k=TOP_K), question) for question in questions]


def _value(hits: Sequence[SearchHit], question: Question) -> float:
    places = [_Place(str(found.path), found.start_line, found.end_line) for found in hits]
    right = [*question.answers, *question.also]
    return (ndcg(places, question.answers, TOP_K) + hit(places, right, _FIRST, is_declaration)) / 2
