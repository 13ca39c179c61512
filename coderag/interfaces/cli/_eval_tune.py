"""``coderag eval tune``, step by step."""

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
from coderag.interfaces.cli import _eval_modules as evals
from coderag.interfaces.cli._eval_run import left_out
from coderag.interfaces.cli._progress import index_progress
from coderag.interfaces.cli._streams import Output, visible

if TYPE_CHECKING:
    from evals.tuning import Tuning

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*([smh]?)")
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, slots=True, kw_only=True)
class TunePlan:
    """What was asked for on the command line."""

    golden: Path
    repo: Path | None
    budget: str
    dry_run: bool
    seed: int


def tune_set(plan: TunePlan, output: Output) -> None:
    """Search settings, write them if their gain is sure, and tell what was found."""
    budget_s = seconds(plan.budget)
    with output.busy("loading"):
        golden = evals.golden.load_golden(plan.golden)
    root = find_root(plan.repo)
    settings = Settings.load(root, trusted=is_trusted(root))
    with index_progress() as progress:
        repository = evals.repository.Repository.open(
            root, progress=progress, trusted=settings.trusted, **left_out(plan.golden, root, settings)
        )
    with _trial_progress() as tried:
        found: Tuning = evals.tuning.tune(golden, repository, budget_s=budget_s, seed=plan.seed, progress=tried)
    written = None
    if found.is_sure and not plan.dry_run:
        written = evals.settings_edit.write_settings(root, "search", found.changes)
    if output.as_json:
        output.result({**asdict(found), "sure": found.is_sure, "written": written})
    else:
        output.write(visible("\n".join(_lines(found, written))))


def seconds(text: str) -> float:
    """Return a time such as ``90s``, ``5m`` or ``1h`` in seconds.

    Raises:
        InvalidQueryError: It is none, or zero.
    """
    match = _TIME.fullmatch(text.strip().lower())
    if match is None or not float(match[1]):
        raise InvalidQueryError(f"--budget: {text!r} is no time", hint="Give one such as 90s, 5m or 1h.")
    return float(match[1]) * _SECONDS[match[2]]


def _lines(found: "Tuning", written: Path | None) -> Iterator[str]:
    ended = "nothing better was left to try" if found.finished else "the time was up"
    yield f"{found.trials} settings tried on {found.searched} questions in {found.seconds:.0f} s, until {ended}"
    if not found.changes:
        yield "Nothing beats the present settings."
        return
    yield from _as_yaml(found.changes)
    gain = found.gain
    yield f"on the questions that chose them: {found.searched_gain:+.3f}"
    yield (
        f"on {found.judged} others: {found.before:.3f} to {found.after:.3f}, "
        f"{gain.mean:+.3f} (95 %: {gain.low:+.3f} to {gain.high:+.3f}), {gain.better} better, {gain.worse} worse"
    )
    if not found.is_sure:
        yield "That may be chance: nothing surely beats the present settings, and nothing is written."
    else:
        yield f"written to {written}" if written else "Not written: --dry-run."


def _as_yaml(changes: Mapping[str, object]) -> Iterator[str]:
    yield "search:"
    for key, value in changes.items():
        shown = value.items() if isinstance(value, Mapping) else ()
        yield f"  {key}: " + ("{" + ", ".join(f"{name}: {one}" for name, one in shown) + "}" if shown else str(value))


@contextmanager
def _trial_progress() -> Iterator[Callable[[int, float, float], None] | None]:
    """Yield what to report progress to: a bar of the time used up, or None where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    from coderag.interfaces.cli._console import SideConsole

    columns = (TextColumn("tuning"), BarColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=SideConsole(), transient=True) as progress:
        task = progress.add_task("", total=1.0)

        def show(trials: int, best: float, share: float) -> None:
            progress.update(task, completed=share, description=f"{trials} tried, best {best:.3f}")

        yield show
