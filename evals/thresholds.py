"""Thresholds that a run must meet: ``hit@5=0.85`` on the command line, or one TOML table per golden set."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coderag.errors import InvalidQueryError

from .runs import Run

_THRESHOLD = re.compile(r"([\w@]+)\s*=\s*(\d*\.?\d+)")
_TIME = re.compile(r"ms_p\d+\Z")


@dataclass(frozen=True, slots=True)
class Threshold:
    """Minimum of a metric's mean over all questions; for a time (``ms_p50``), the maximum."""

    metric: str
    value: float

    @property
    def is_upper(self) -> bool:
        """True if the threshold is a maximum."""
        return _TIME.match(self.metric) is not None


@dataclass(frozen=True, slots=True)
class Miss:
    """Threshold that a run misses, with the run's value."""

    threshold: Threshold
    reached: float

    def __str__(self) -> str:
        side = "above" if self.threshold.is_upper else "below"
        return f"{self.threshold.metric} is {self.reached:.3f}, {side} {self.threshold.value:g}"


def parse_threshold(text: str) -> Threshold:
    """Parse a threshold written as ``METRIC=VALUE``.

    Raises:
        InvalidQueryError: The text is not a threshold.
    """
    match = _THRESHOLD.fullmatch(text.strip())
    if match is None:
        raise InvalidQueryError(f"{text!r} is not a threshold", hint="Write METRIC=VALUE, for example hit@5=0.85.")
    return Threshold(match[1], float(match[2]))


def load_thresholds(path: Path, golden: str) -> list[Threshold]:
    """Load the thresholds of a golden set from the table with its name.

    Raises:
        InvalidQueryError: The file cannot be read, or has no table for the golden set.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidQueryError(f"thresholds {path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidQueryError(f"thresholds {path}: invalid TOML ({error})") from error
    table = tables.get(golden)
    if not isinstance(table, dict):
        raise InvalidQueryError(
            f"thresholds {path}: no table [{golden}]", hint=f"Available tables: {', '.join(tables) or 'none'}."
        )
    wrong = [name for name, value in table.items() if isinstance(value, bool) or not isinstance(value, int | float)]
    if wrong:
        raise InvalidQueryError(f"thresholds {path}: [{golden}] {wrong[0]}: expected a number")
    return [Threshold(name, float(value)) for name, value in table.items()]


def check_metrics(thresholds: Sequence[Threshold], known: Sequence[str]) -> None:
    """Reject thresholds for metrics that are not known.

    Raises:
        InvalidQueryError: A threshold names an unknown metric.
    """
    unknown = [threshold.metric for threshold in thresholds if threshold.metric not in known]
    if unknown:
        raise InvalidQueryError(f"the run has no metric {unknown[0]!r}", hint=f"Available metrics: {', '.join(known)}.")


def find_misses(run: Run, thresholds: Sequence[Threshold]) -> list[Miss]:
    """Return the thresholds that a run misses.

    Raises:
        InvalidQueryError: The run lacks the metric of a threshold.
    """
    reached = {name: estimate.mean for name, estimate in run.compute_overall().items()} | dict(run.compute_latency())
    check_metrics(thresholds, list(reached))
    misses = []
    for threshold in thresholds:
        value = reached[threshold.metric]
        if value > threshold.value if threshold.is_upper else value < threshold.value:
            misses.append(Miss(threshold, value))
    return misses
