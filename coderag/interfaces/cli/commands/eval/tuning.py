"""Steps of ``coderag eval tune``."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coderag.config.repository_root import find_root
from coderag.config.settings import Settings
from coderag.config.trust import is_trusted
from coderag.errors import InvalidQueryError
from coderag.interfaces.cli.commands.eval import harness as evals
from coderag.interfaces.cli.commands.eval.run import exclude_golden_set
from coderag.interfaces.cli.output.progress import show_index_progress
from coderag.interfaces.cli.output.streams import Output, escape_controls

if TYPE_CHECKING:
    from evals.tuning import Tuning

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smh]?)")
_SECONDS_PER_UNIT: Final = {"": 1, "s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """Options of the command."""

    golden: Path
    repo: Path | None
    budget: str
    dry_run: bool
    seed: int


def tune_settings(options: TuneOptions, output: Output) -> None:
    """Search settings, write them if the gain is significant, and report the result."""
    budget_s = parse_duration(options.budget)
    with output.show_status("loading"):
        golden = evals.golden.load_golden(options.golden)
    root = find_root(options.repo)
    settings = Settings.load(root, trusted=is_trusted(root))
    with show_index_progress() as progress:
        repository = evals.repository.Repository.open(
            root, progress=progress, trusted=settings.trusted, **exclude_golden_set(options.golden, root, settings)
        )
    with _show_trial_progress() as trial_progress:
        tuning: Tuning = evals.tuning.tune(
            golden, repository, budget_s=budget_s, seed=options.seed, progress=trial_progress
        )
    settings_path = None
    if tuning.is_sure and not options.dry_run:
        settings_path = evals.settings_edit.write_settings(root, "search", tuning.changes)
    if output.as_json:
        output.write_json({**asdict(tuning), "sure": tuning.is_sure, "written": settings_path})
    else:
        output.write(escape_controls("\n".join(_format_lines(tuning, settings_path))))


def parse_duration(text: str) -> float:
    """Parse a duration such as ``90s``, ``5m`` or ``1h`` to seconds.

    Raises:
        InvalidQueryError: It is not a duration, or zero.
    """
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None or not float(match[1]):
        raise InvalidQueryError(f"--budget: {text!r} is not a duration", hint="Give one such as 90s, 5m or 1h.")
    return float(match[1]) * _SECONDS_PER_UNIT[match[2]]


def _format_lines(tuning: "Tuning", settings_path: Path | None) -> Iterator[str]:
    ended = "the search space was exhausted" if tuning.finished else "the time limit"
    yield f"{tuning.trials} settings tried on {tuning.searched} questions in {tuning.seconds:.0f} s, until {ended}"
    if not tuning.changes:
        yield "The current settings are best."
        return
    yield from _format_yaml(tuning.changes)
    gain = tuning.gain
    yield f"on the selection questions: {tuning.searched_gain:+.3f}"
    yield (
        f"on {tuning.judged} others: {tuning.before:.3f} to {tuning.after:.3f}, "
        f"{gain.mean:+.3f} (95 %: {gain.low:+.3f} to {gain.high:+.3f}), {gain.better} better, {gain.worse} worse"
    )
    if not tuning.is_sure:
        yield "The gain is not significant: nothing is written."
    else:
        yield f"written to {settings_path}" if settings_path else "Not written: --dry-run."


def _format_yaml(changes: Mapping[str, object]) -> Iterator[str]:
    yield "search:"
    for key, value in changes.items():
        items = value.items() if isinstance(value, Mapping) else ()
        yield f"  {key}: " + ("{" + ", ".join(f"{name}: {item}" for name, item in items) + "}" if items else str(value))


@contextmanager
def _show_trial_progress() -> Iterator[Callable[[int, float, float], None] | None]:
    """Yield the callback of a bar of elapsed time, or None if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    from coderag.interfaces.cli.output.console import SideConsole

    columns = (TextColumn("tuning"), BarColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=SideConsole(), transient=True) as progress:
        task = progress.add_task("", total=1.0)

        def show(trials: int, best: float, share: float) -> None:
            progress.update(task, completed=share, description=f"{trials} tried, best {best:.3f}")

        yield show
