"""Steps of ``coderag eval run``."""

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
from coderag.interfaces.cli.commands.eval import harness as evals
from coderag.interfaces.cli.commands.eval.comparison import to_comparison_record
from coderag.interfaces.cli.commands.eval.text_tables import format_question_count, format_text
from coderag.interfaces.cli.output.progress import show_index_progress
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.error_table import BELOW_THRESHOLD

if TYPE_CHECKING:
    from evals.golden import GoldenSet
    from evals.runner import Options
    from evals.runs import Run
    from evals.thresholds import Miss, Threshold

_GLOB_CHARS = re.compile(r"[\\*?\[\]]")
"""Special characters of exclusion patterns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalOptions:
    """Options of the command."""

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


def run_evaluation(eval_options: EvalOptions, output: Output) -> None:
    """Run the golden set, write the reports, and exit with `BELOW_THRESHOLD` if a threshold is missed."""
    with output.show_status("loading"):
        golden = evals.golden.load_golden(eval_options.golden)
        baseline = evals.runs.load_run(eval_options.baseline) if eval_options.baseline else None
        budgets = eval_options.budgets or evals.runner.BUDGETS
        options = evals.runner.Options(top_k=eval_options.top_k, budgets=budgets, answers=eval_options.answers)
        thresholds = _load_thresholds(eval_options, golden)
        evals.thresholds.check_metrics(thresholds, evals.runner.list_metric_names(options))
        _check_folders(eval_options)
    run = _measure_run(eval_options, golden, options)
    _write_report(eval_options.out, run.to_json)
    _write_report(eval_options.markdown, lambda: evals.report_markdown.render(run, baseline))
    _write_report(eval_options.html, lambda: evals.report_html.render(run, baseline))
    misses = evals.thresholds.find_misses(run, thresholds)
    _print_run(run, baseline, misses, output)
    if misses:
        raise typer.Exit(BELOW_THRESHOLD)


def _load_thresholds(eval_options: EvalOptions, golden: "GoldenSet") -> "list[Threshold]":
    explicit = [evals.thresholds.parse_threshold(text) for text in eval_options.fail_under]
    if eval_options.thresholds is None:
        return explicit
    explicit_metrics = {threshold.metric for threshold in explicit}
    loaded = evals.thresholds.load_thresholds(eval_options.thresholds, golden.name)
    return [*explicit, *(threshold for threshold in loaded if threshold.metric not in explicit_metrics)]


def _check_folders(eval_options: EvalOptions) -> None:
    """Reject unwritable output paths before minutes are spent."""
    for path in (eval_options.out, eval_options.markdown, eval_options.html):
        if path and not path.resolve().parent.is_dir():
            raise InvalidQueryError(f"{path}: its folder does not exist")


def _measure_run(eval_options: EvalOptions, golden: "GoldenSet", options: "Options") -> "Run":
    if eval_options.engine not in evals.engines.ENGINES:
        hint = f"Give one of {', '.join(evals.engines.ENGINES)}."
        raise InvalidQueryError(f"unknown engine {eval_options.engine!r}", hint=hint)
    if eval_options.off and eval_options.engine != "coderag":
        raise InvalidQueryError("--off requires the engine coderag")
    root = find_root(eval_options.repo)
    arguments = _build_arguments(root, eval_options)
    with show_index_progress() as progress:
        repository = evals.repository.Repository.open(root, progress=progress, **arguments)
    engine = evals.engines.make_engine(eval_options.engine, repository)
    with _show_question_progress() as question_progress:
        return evals.runner.run_golden(golden, repository, engine, options, question_progress)


def _build_arguments(root: Path, eval_options: EvalOptions) -> dict[str, Any]:
    """Build the settings of this run that override the repository's."""
    settings = Settings.load(root, trusted=is_trusted(root))
    arguments: dict[str, Any] = {"trusted": settings.trusted}
    if eval_options.off:
        evals.coderag_engine.check_signals(eval_options.off)
        disabled = dict.fromkeys((*settings.search.disabled_signals, *eval_options.off))
        arguments["search"] = {"disabled_signals": tuple(disabled)}
    return arguments | exclude_golden_set(eval_options.golden, root, settings)


def exclude_golden_set(golden: Path, root: Path, settings: Settings) -> dict[str, Any]:
    """Return settings that exclude the golden set from the index: its questions would match themselves."""
    path = golden.resolve()
    if not path.is_relative_to(root.resolve()):
        return {}
    pattern = _GLOB_CHARS.sub(r"\\\g<0>", path.relative_to(root.resolve()).as_posix())
    return {"ingestion": {"exclude": (*settings.ingestion.exclude, f"/{pattern}")}}


@contextmanager
def _show_question_progress() -> Iterator[Callable[[int, int], None] | None]:
    """Yield the callback of a progress bar, or None if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from coderag.interfaces.cli.output.console import SideConsole

    columns = (TextColumn("asking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=SideConsole(), transient=True) as progress:
        task = progress.add_task("", total=None)

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield show


def _write_report(path: Path | None, text: Callable[[], str]) -> None:
    if path is None:
        return
    try:
        path.write_text(text(), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}") from error


def _print_run(run: "Run", baseline: "Run | None", misses: "list[Miss]", output: Output) -> None:
    comparison = evals.comparison.compare(baseline, run) if baseline else None
    if output.as_json:
        compared = {"comparison": to_comparison_record(comparison)} if comparison else {}
        output.write_json({**_to_record(run, misses), **compared})
    else:
        head = f"{run.golden}: {run.engine} {run.version}, {format_question_count(len(run.questions))} about {run.repository}"
        text = format_text([head, *evals.tables.build_run_tables(run)])
        if comparison:
            verdict = "worse" if comparison.is_regression else "no regression"
            lines = [
                f"Against the run of {comparison.before.created}: {verdict}",
                *evals.tables.describe_signal_changes(comparison),
            ]
            text += "\n" + format_text([*lines, *evals.tables.build_comparison_tables(comparison)])
        output.write(escape_controls(text))
    for remark in evals.tables.list_remarks(run):
        output.note(f"warning: {remark}")
    for miss in misses:
        output.note(f"failed: {miss}")


def _to_record(run: "Run", misses: "list[Miss]") -> Mapping[str, object]:
    return {
        "run": run.model_dump(mode="json", exclude_defaults=True),
        "overall": {name: asdict(summary) for name, summary in run.compute_overall().items()},
        "latency": run.compute_latency(),
        "failed": [
            {"metric": miss.threshold.metric, "threshold": miss.threshold.value, "reached": miss.reached}
            for miss in misses
        ],
    }
