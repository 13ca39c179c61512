"""Comparison of two runs of the same questions: changes of metrics, by group and question, and their possible causes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from coderag.errors import InvalidQueryError

from .metrics import find_first_rank
from .runs import Grouping, QuestionResult, Run, SettingValue
from .statistics import Difference, compute_difference

COMPARED_BY: Final[tuple[Grouping, ...]] = ("intent", "language", "repository")
_MIN_GROUP_QUESTIONS = 8  # with fewer, a group's interval is too wide to show a regression
_CONFIDENCE = 0.95
_MIN_VANISHED_SHARE = 0.05  # share of the results that a channel must have had for its absence to be reported
_MIN_NDCG_CHANGE = 1e-9


@dataclass(frozen=True, slots=True)
class MetricChange:
    """Change of a metric over the questions of both runs.

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
        """Name of the questions: ``all questions``, or for a group ``intent find_usage``."""
        return f"{self.by} {self.group}" if self.by else "all questions"


@dataclass(frozen=True, slots=True)
class SignalChange:
    """Channel or ranking signal that is active in one run only.

    Attributes:
        share: Share of the results with it, in the run in which it is active.
    """

    kind: Literal["channel", "signal"]
    name: str
    share: float


@dataclass(frozen=True, slots=True)
class QuestionChange:
    """Question whose nDCG changed, with the ranks of its first right result; None where there is none."""

    question: QuestionResult
    rank_before: int | None
    rank_after: int | None
    change: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of a run with an earlier one.

    Attributes:
    shared: Number of questions in both runs.
        only_before, only_after: Ids of questions in one run only.
        relabelled: Ids of questions whose answers differ between the runs.
        changes: Change of each metric, over all questions.
        groups: Change of each metric, over each group of questions.
        settings: Settings that differ, with both values.
    vanished, appeared: Channels and signals that are no longer active, and those that are new.
        worse, better: Questions whose nDCG changed, the largest change first.
        milliseconds: Median time of a question, in both runs.
    """

    before: Run
    after: Run
    shared: int
    only_before: Sequence[str]
    only_after: Sequence[str]
    relabelled: Sequence[str]
    changes: Sequence[MetricChange]
    groups: Sequence[MetricChange]
    settings: Mapping[str, tuple[SettingValue, SettingValue]]
    vanished: Sequence[SignalChange]
    appeared: Sequence[SignalChange]
    worse: Sequence[QuestionChange]
    better: Sequence[QuestionChange]
    milliseconds: tuple[float, float]

    @property
    def regressions(self) -> list[MetricChange]:
        """Metrics with a significant loss: the whole interval is below zero.

        A group needs eight questions. Its interval is corrected for the number of groups (Bonferroni).
        """
        return [change for change in (*self.changes, *self.groups) if change.difference.is_loss]

    @property
    def is_regression(self) -> bool:
        """True if a metric has a significant loss, or if nDCG is lower and a channel or signal vanished."""
        lower = any(change.difference.mean < 0 for change in self.changes if change.metric.startswith("ndcg"))
        return bool(self.regressions or (self.vanished and lower))


def compare(before: Run, after: Run) -> Comparison:
    """Compare a run with an earlier one.

    Raises:
        InvalidQueryError: The runs have no question in common.
    """
    first, second = _index_by_id(before), _index_by_id(after)
    shared = [key for key in first if key in second]
    if not shared:
        message = f"the runs have no question in common: {before.golden or 'one'} and {after.golden or 'another'}"
        raise InvalidQueryError(message, hint="Compare runs of the same golden set.")
    pairs = [(first[key], second[key]) for key in shared]
    moved = _rank_question_changes(pairs)
    return Comparison(
        before=before,
        after=after,
        shared=len(shared),
        only_before=[key[1] for key in first if key not in second],
        only_after=[key[1] for key in second if key not in first],
        relabelled=[old.id for old, new in pairs if (old.answers, old.also) != (new.answers, new.also)],
        changes=_compute_changes(pairs, None, "", _CONFIDENCE),
        groups=[change for by in COMPARED_BY for change in _compute_group_changes(pairs, by)],
        settings=_compare_settings(before, after),
        vanished=_find_signal_changes(before, after),
        appeared=_find_signal_changes(after, before),
        worse=[question_change for question_change in moved if question_change.change < 0],
        better=[question_change for question_change in reversed(moved) if question_change.change > 0],
        milliseconds=(before.compute_latency()["ms_p50"], after.compute_latency()["ms_p50"]),
    )


_Pair = tuple[QuestionResult, QuestionResult]


def _index_by_id(run: Run) -> dict[tuple[str, str], QuestionResult]:
    several = len({question.repository for question in run.questions}) > 1
    return {(question.repository if several else "", question.id): question for question in run.questions}


def _compute_changes(pairs: Sequence[_Pair], by: Grouping | None, group: str, confidence: float) -> list[MetricChange]:
    names = dict.fromkeys(name for old, new in pairs for name in old.metrics if name in new.metrics)
    changes = []
    for name in names:
        values = [
            (old.metrics[name], new.metrics[name]) for old, new in pairs if name in old.metrics and name in new.metrics
        ]
        before, after = zip(*values, strict=True)
        gap = compute_difference(before, after, confidence=confidence)
        changes.append(MetricChange(name, by, group, sum(before) / len(values), sum(after) / len(values), gap))
    return changes


def _compute_group_changes(pairs: Sequence[_Pair], by: Grouping) -> list[MetricChange]:
    groups: dict[str, list[_Pair]] = {}
    for pair in pairs:
        for group in pair[0].list_groups(by):
            groups.setdefault(group, []).append(pair)
    large = {
        group: group_pairs for group, group_pairs in sorted(groups.items()) if len(group_pairs) >= _MIN_GROUP_QUESTIONS
    }
    if len(groups) < 2:  # a single group has the figures of all questions
        return []
    confidence = 1 - (1 - _CONFIDENCE) / max(1, len(large))  # Bonferroni
    return [
        change
        for group, group_pairs in large.items()
        for change in _compute_changes(group_pairs, by, group, confidence)
    ]


def _compare_settings(before: Run, after: Run) -> dict[str, tuple[SettingValue, SettingValue]]:
    old = {"engine": before.engine, "version": before.version, **before.settings}
    new = {"engine": after.engine, "version": after.version, **after.settings}
    # Different engines have different settings, so only common ones compare; within one engine, an added setting matters.
    names = dict.fromkeys((*old, *new)) if before.engine == after.engine else [name for name in old if name in new]
    return {name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}


def _find_signal_changes(active: Run, inactive: Run) -> list[SignalChange]:
    """Return the channels and signals of the results of the first run that no result of the second has."""
    changes = []
    kinds: tuple[Literal["channel", "signal"], ...] = ("channel", "signal")
    for kind in kinds:
        counts, total = _count_signals(active, kind)
        other_counts, _ = _count_signals(inactive, kind)
        changes += [
            SignalChange(kind, name, count / total)
            for name, count in counts.items()
            if other_counts and name not in other_counts and count >= _MIN_VANISHED_SHARE * total
        ]
    return changes


def _count_signals(run: Run, kind: Literal["channel", "signal"]) -> tuple[Counter[str], int]:
    """Return the number of results with each channel or signal, and of all results."""
    results = [result for question in run.questions for result in question.results]
    values = (result.channels if kind == "channel" else result.signals for result in results)
    return Counter(name for names in values for name, value in names.items() if value), len(results)


def _rank_question_changes(pairs: Sequence[_Pair]) -> list[QuestionChange]:
    """Return the questions whose nDCG changed, the largest loss first."""
    moved = []
    for old, new in pairs:
        name = next((name for name in old.metrics if name.startswith("ndcg") and name in new.metrics), None)
        change = new.metrics[name] - old.metrics[name] if name else 0.0
        if abs(change) > _MIN_NDCG_CHANGE:
            ranks = [find_first_rank(result.results, (*result.answers, *result.also)) for result in (old, new)]
            moved.append(QuestionChange(new, ranks[0], ranks[1], change))
    return sorted(moved, key=lambda change: (change.change, change.question.id))
