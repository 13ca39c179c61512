"""``coderag eval run``, step by step."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from coderag.config.repository_root import find_root
from coderag.config.settings import Settings
from coderag.config.trust import is_trusted
from coderag.errors import ConfigurationError, InvalidQueryError
from coderag.interfaces._errors import BELOW_THRESHOLD
from coderag.interfaces.cli import _eval_modules as evals
from coderag.interfaces.cli._eval_compare import comparison_record
from coderag.interfaces.cli._eval_text import as_text, question_count
from coderag.interfaces.cli._progress import index_progress
from coderag.interfaces.cli._streams import Output, visible

if TYPE_CHECKING:
    from evals.golden import GoldenSet
    from evals.runner import Options
    from evals.runs import Run
    from evals.thresholds import Miss, Threshold

_SPECIAL = re.compile(r"[\\*?\[\]]")
"""What means something else in a pattern of files to leave out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What was asked for on the command line."""

    golden: Path
    repo: Path | None
    engine: str
    off: tuple[str, ...]
    top_k: int
    budgets: tuple[int, ...]
    answers: bool
    out: Path | None
    markdown: Path | None
    html: Path | None
    baseline: Path | None
    fail_under: tuple[str, ...]
    thresholds: Path | None


def run_plan(plan: Plan, output: Output) -> None:
    """Run the golden set, print and write what is asked for, and exit with `BELOW_THRESHOLD` if it is not good enough."""
    with output.busy("loading"):
        golden = evals.golden.load_golden(plan.golden)
        baseline = evals.runs.load_run(plan.baseline) if plan.baseline else None
        budgets = plan.budgets or evals.runner.BUDGETS
        options = evals.runner.Options(top_k=plan.top_k, budgets=budgets, answers=plan.answers)
        thresholds = _thresholds(plan, golden)
        evals.thresholds.check_metrics(thresholds, evals.runner.metric_names(options))
        _check_folders(plan)
    run = _measure(plan, golden, options)
    _write(plan.out, run.to_json)
    _write(plan.markdown, lambda: evals.report_markdown.render(run, baseline))
    _write(plan.html, lambda: evals.report_html.render(run, baseline))
    misses = evals.thresholds.missed(run, thresholds)
    _print(run, baseline, misses, output)
    if misses:
        raise typer.Exit(BELOW_THRESHOLD)


def _thresholds(plan: Plan, golden: "GoldenSet") -> "list[Threshold]":
    named = [evals.thresholds.parse_threshold(text) for text in plan.fail_under]
    if plan.thresholds is None:
        return named
    given = {threshold.metric for threshold in named}
    loaded = evals.thresholds.load_thresholds(plan.thresholds, golden.name)
    return [*named, *(threshold for threshold in loaded if threshold.metric not in given)]


def _check_folders(plan: Plan) -> None:
    """Refuse what could not be written in the end, before minutes are spent."""
    for path in (plan.out, plan.markdown, plan.html):
        if path and not path.resolve().parent.is_dir():
            raise InvalidQueryError(f"{path}: its folder does not exist")


def _measure(plan: Plan, golden: "GoldenSet", options: "Options") -> "Run":
    if plan.engine not in evals.engines.ENGINES:
        hint = f"Give one of {', '.join(evals.engines.ENGINES)}."
        raise InvalidQueryError(f"there is no engine {plan.engine!r}", hint=hint)
    if plan.off and plan.engine != "coderag":
        raise InvalidQueryError("--off goes with the engine coderag only")
    root = find_root(plan.repo)
    arguments = _arguments(root, plan)
    with index_progress() as progress:
        repository = evals.repository.Repository.open(root, progress=progress, **arguments)
    engine = evals.engines.make_engine(plan.engine, repository)
    with _question_progress() as asked:
        return evals.runner.run_golden(golden, repository, engine, options, asked)


def _arguments(root: Path, plan: Plan) -> dict[str, Any]:
    """Return the settings of this run that are not the repository's."""
    settings = Settings.load(root, trusted=is_trusted(root))
    arguments: dict[str, Any] = {"trusted": settings.trusted}
    if plan.off:
        evals.coderag_engine.check_signals(plan.off)
        disabled = dict.fromkeys((*settings.search.disabled_signals, *plan.off))
        arguments["search"] = {"disabled_signals": tuple(disabled)}
    return arguments | left_out(plan.golden, root, settings)


def left_out(golden: Path, root: Path, settings: Settings) -> dict[str, Any]:
    """Return the settings by which a golden set is not indexed: its questions would be found in it."""
    place = golden.resolve()
    if not place.is_relative_to(root.resolve()):
        return {}
    pattern = _SPECIAL.sub(r"\\\g<0>", place.relative_to(root.resolve()).as_posix())
    return {"ingestion": {"exclude": (*settings.ingestion.exclude, f"/{pattern}")}}


@contextmanager
def _question_progress() -> Iterator[Callable[[int, int], None] | None]:
    """Yield what to report progress to: a bar, or None where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from coderag.interfaces.cli._console import SideConsole

    columns = (TextColumn("asking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=SideConsole(), transient=True) as progress:
        task = progress.add_task("", total=None)

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield show


def _write(path: Path | None, text: Callable[[], str]) -> None:
    if path is None:
        return
    try:
        path.write_text(text(), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}") from error


def _print(run: "Run", baseline: "Run | None", misses: "list[Miss]", output: Output) -> None:
    comparison = evals.comparison.compare(baseline, run) if baseline else None
    if output.as_json:
        compared = {"comparison": comparison_record(comparison)} if comparison else {}
        output.result({**_as_record(run, misses), **compared})
    else:
        head = f"{run.golden}: {run.engine} {run.version}, {question_count(len(run.questions))} about {run.repository}"
        text = as_text([head, *evals.tables.run_tables(run)])
        if comparison:
            verdict = "worse" if comparison.is_regression else "no regression"
            lines = [f"Against the run of {comparison.before.created}: {verdict}", *evals.tables.silence(comparison)]
            text += "\n" + as_text([*lines, *evals.tables.comparison_tables(comparison)])
        output.write(visible(text))
    for remark in evals.tables.remarks(run):
        output.note(f"warning: {remark}")
    for miss in misses:
        output.note(f"failed: {miss}")


def _as_record(run: "Run", misses: "list[Miss]") -> Mapping[str, object]:
    return {
        "run": run.model_dump(mode="json", exclude_defaults=True),
        "overall": {name: asdict(one) for name, one in run.overall().items()},
        "latency": run.latency(),
        "failed": [
            {"metric": miss.threshold.metric, "threshold": miss.threshold.value, "reached": miss.reached}
            for miss in misses
        ],
    }
