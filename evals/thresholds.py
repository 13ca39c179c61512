"""What a run must reach, so that a build can fail: ``hit@5=0.85`` on the command line, or a TOML table a golden set."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coderag.errors import InvalidQueryError

from .runs import Run

_WRITTEN = re.compile(r"([\w@]+)\s*=\s*(\d*\.?\d+)")
_TIME = re.compile(r"ms_p\d+\Z")


@dataclass(frozen=True, slots=True)
class Threshold:
    """The least that a metric's mean over all questions may be; of a time (``ms_p50``), the most."""

    metric: str
    value: float

    @property
    def is_upper(self) -> bool:
        """Whether more is worse."""
        return _TIME.match(self.metric) is not None


@dataclass(frozen=True, slots=True)
class Miss:
    """A threshold that a run did not reach, and what it has instead."""

    threshold: Threshold
    reached: float

    def __str__(self) -> str:
        side = "above" if self.threshold.is_upper else "below"
        return f"{self.threshold.metric} is {self.reached:.3f}, {side} {self.threshold.value:g}"


def parse_threshold(text: str) -> Threshold:
    """Return a threshold written as ``METRIC=VALUE``.

    Raises:
        InvalidQueryError: It is written otherwise.
    """
    match = _WRITTEN.fullmatch(text.strip())
    if match is None:
        raise InvalidQueryError(f"{text!r} is no threshold", hint="Write METRIC=VALUE, as in hit@5=0.85.")
    return Threshold(match[1], float(match[2]))


def load_thresholds(path: Path, golden: str) -> list[Threshold]:
    """Return the thresholds for a golden set: those of the table with its name.

    Raises:
        InvalidQueryError: The file cannot be read, or has no such table.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidQueryError(f"thresholds {path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidQueryError(f"thresholds {path}: no valid TOML ({error})") from error
    table = tables.get(golden)
    if not isinstance(table, dict):
        raise InvalidQueryError(
            f"thresholds {path}: no table [{golden}]", hint=f"It has {', '.join(tables) or 'none'}."
        )
    wrong = [name for name, value in table.items() if isinstance(value, bool) or not isinstance(value, int | float)]
    if wrong:
        raise InvalidQueryError(f"thresholds {path}: [{golden}] {wrong[0]}: a number is wanted")
    return [Threshold(name, float(value)) for name, value in table.items()]


def check_metrics(thresholds: Sequence[Threshold], known: Sequence[str]) -> None:
    """Refuse a threshold for a metric that no run has.

    Raises:
        InvalidQueryError: There is no such metric.
    """
    unknown = [threshold.metric for threshold in thresholds if threshold.metric not in known]
    if unknown:
        raise InvalidQueryError(f"the run has no metric {unknown[0]!r}", hint=f"It has {', '.join(known)}.")


def missed(run: Run, thresholds: Sequence[Threshold]) -> list[Miss]:
    """Return the thresholds that a run does not reach.

    Raises:
        InvalidQueryError: The run has no such metric.
    """
    reached = {name: one.mean for name, one in run.overall().items()} | dict(run.latency())
    check_metrics(thresholds, list(reached))
    misses = []
    for threshold in thresholds:
        value = reached[threshold.metric]
        if value > threshold.value if threshold.is_upper else value < threshold.value:
            misses.append(Miss(threshold, value))
    return misses
