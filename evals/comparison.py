"""What changed between two runs of the same questions: which metrics, for which questions, and what may have caused it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from coderag.errors import InvalidQueryError

from .metrics import first_rank
from .runs import Grouping, QuestionResult, Run, SettingValue
from .statistics import Difference, difference

COMPARED_BY: Final[tuple[Grouping, ...]] = ("intent", "language", "repository")
_FEWEST = 8  # questions of a group that can tell a regression from chance
_SURE = 0.95
_VANISHED_FROM = 0.05  # share of the results that a channel must have had for its absence to say something
_MOVED = 1e-9


@dataclass(frozen=True, slots=True)
class Change:
    """How a metric changed over the questions that both runs have.

    Attributes:
        group: Empty for all questions.
    """

    metric: str
    by: Grouping | None
    group: str
    before: float
    after: float
    difference: Difference

    @property
    def where(self) -> str:
        """The questions it is about: ``all questions``, or ``intent find_usage``."""
        return f"{self.by} {self.group}" if self.by else "all questions"


@dataclass(frozen=True, slots=True)
class Silent:
    """A channel or ranking signal that told something of results in one run, and of none in the other.

    Attributes:
        share: Of the results, in the run in which it spoke.
    """

    kind: Literal["channel", "signal"]
    name: str
    share: float


@dataclass(frozen=True, slots=True)
class Moved:
    """A question whose first right result moved; a rank is None where there is no right result."""

    question: QuestionResult
    rank_before: int | None
    rank_after: int | None
    change: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The second of two runs against the first.

    Attributes:
        shared: Number of questions that both have.
        only_before, only_after: Ids of questions that only one has.
        relabelled: Ids of questions whose answers are not the same in both.
        changes: By metric, over all questions.
        groups: Likewise, over groups of questions.
        settings: Settings that differ, with both values.
        vanished, appeared: What ranks no results any more, and what does newly.
        worse, better: Questions by how far their nDCG moved, the farthest first.
        milliseconds: Median time of a question, in both runs.
    """

    before: Run
    after: Run
    shared: int
    only_before: Sequence[str]
    only_after: Sequence[str]
    relabelled: Sequence[str]
    changes: Sequence[Change]
    groups: Sequence[Change]
    settings: Mapping[str, tuple[SettingValue, SettingValue]]
    vanished: Sequence[Silent]
    appeared: Sequence[Silent]
    worse: Sequence[Moved]
    better: Sequence[Moved]
    milliseconds: tuple[float, float]

    @property
    def regressions(self) -> list[Change]:
        """Metrics that surely got worse: the whole interval is below zero.

        A group of questions has a wider interval the more groups there are, so that one of many is no chance hit, and needs
        eight questions.
        """
        return [change for change in (*self.changes, *self.groups) if change.difference.is_loss]

    @property
    def is_regression(self) -> bool:
        """Whether the second run is worse: in a metric, or less surely, but with a channel or signal gone."""
        lower = any(change.difference.mean < 0 for change in self.changes if change.metric.startswith("ndcg"))
        return bool(self.regressions or (self.vanished and lower))


def compare(before: Run, after: Run) -> Comparison:
    """Return what changed from one run to another.

    Raises:
        InvalidQueryError: They have no question in common.
    """
    first, second = _by_id(before), _by_id(after)
    shared = [key for key in first if key in second]
    if not shared:
        message = f"the runs have no question in common: {before.golden or 'one'} and {after.golden or 'another'}"
        raise InvalidQueryError(message, hint="Compare runs of the same golden set.")
    pairs = [(first[key], second[key]) for key in shared]
    moved = _moved(pairs)
    return Comparison(
        before=before,
        after=after,
        shared=len(shared),
        only_before=[key[1] for key in first if key not in second],
        only_after=[key[1] for key in second if key not in first],
        relabelled=[old.id for old, new in pairs if (old.answers, old.also) != (new.answers, new.also)],
        changes=_changes(pairs, None, "", _SURE),
        groups=[change for by in COMPARED_BY for change in _group_changes(pairs, by)],
        settings=_settings(before, after),
        vanished=_silent(before, after),
        appeared=_silent(after, before),
        worse=[one for one in moved if one.change < 0],
        better=[one for one in reversed(moved) if one.change > 0],
        milliseconds=(before.latency()["ms_p50"], after.latency()["ms_p50"]),
    )


_Pair = tuple[QuestionResult, QuestionResult]


def _by_id(run: Run) -> dict[tuple[str, str], QuestionResult]:
    several = len({question.repository for question in run.questions}) > 1
    return {(question.repository if several else "", question.id): question for question in run.questions}


def _changes(pairs: Sequence[_Pair], by: Grouping | None, group: str, confidence: float) -> list[Change]:
    names = dict.fromkeys(name for old, new in pairs for name in old.metrics if name in new.metrics)
    changes = []
    for name in names:
        values = [
            (old.metrics[name], new.metrics[name]) for old, new in pairs if name in old.metrics and name in new.metrics
        ]
        before, after = zip(*values, strict=True)
        gap = difference(before, after, confidence=confidence)
        changes.append(Change(name, by, group, sum(before) / len(values), sum(after) / len(values), gap))
    return changes


def _group_changes(pairs: Sequence[_Pair], by: Grouping) -> list[Change]:
    groups: dict[str, list[_Pair]] = {}
    for pair in pairs:
        for group in pair[0].groups(by):
            groups.setdefault(group, []).append(pair)
    large = {group: inside for group, inside in sorted(groups.items()) if len(inside) >= _FEWEST}
    if len(groups) < 2:  # the only group says the same as all questions
        return []
    confidence = 1 - (1 - _SURE) / max(1, len(large))  # Bonferroni
    return [change for group, inside in large.items() for change in _changes(inside, by, group, confidence)]


def _settings(before: Run, after: Run) -> dict[str, tuple[SettingValue, SettingValue]]:
    old = {"engine": before.engine, "version": before.version, **before.settings}
    new = {"engine": after.engine, "version": after.version, **after.settings}
    # Engines differ in which settings they have at all; of one engine, a setting that only one run has is news.
    names = dict.fromkeys((*old, *new)) if before.engine == after.engine else [name for name in old if name in new]
    return {name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}


def _silent(speaking: Run, silent: Run) -> list[Silent]:
    """Return what tells something of results in the first run, and of none in the second."""
    found = []
    kinds: tuple[Literal["channel", "signal"], ...] = ("channel", "signal")
    for kind in kinds:
        heard, total = _heard(speaking, kind)
        still, _ = _heard(silent, kind)
        found += [
            Silent(kind, name, count / total)
            for name, count in heard.items()
            if still and name not in still and count >= _VANISHED_FROM * total
        ]
    return found


def _heard(run: Run, kind: Literal["channel", "signal"]) -> tuple[Counter[str], int]:
    """Return of how many results each channel or signal tells something, and how many results there are."""
    results = [result for question in run.questions for result in question.results]
    told = (result.channels if kind == "channel" else result.signals for result in results)
    return Counter(name for names in told for name, value in names.items() if value), len(results)


def _moved(pairs: Sequence[_Pair]) -> list[Moved]:
    """Return the questions whose nDCG moved, the worst first."""
    moved = []
    for old, new in pairs:
        name = next((name for name in old.metrics if name.startswith("ndcg") and name in new.metrics), None)
        change = new.metrics[name] - old.metrics[name] if name else 0.0
        if abs(change) > _MOVED:
            ranks = [first_rank(one.results, (*one.answers, *one.also)) for one in (old, new)]
            moved.append(Moved(new, ranks[0], ranks[1], change))
    return sorted(moved, key=lambda one: (one.change, one.question.id))
