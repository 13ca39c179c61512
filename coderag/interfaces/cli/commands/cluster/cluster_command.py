"""``coderag cluster``: the group and its command."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from coderag.errors import ConfigurationError
from coderag.interfaces.cli.options import DebugOption, JsonOption
from coderag.interfaces.cli.output.durations import format_duration
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.cli.typer_ext.light_command import LightCommand
from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command
from coderag.interfaces.error_table import PARTIAL_INDEX

if TYPE_CHECKING:
    from coderag.cluster.cluster_run import ClusterRun
    from coderag.cluster.runners import TaskRunner
    from coderag.interfaces.cli.output.report import ReportRow
    from coderag.schema.cluster import ClusterPlan, ClusterProgress, ClusterReport

cluster: Final = typer.Typer(name="cluster", cls=LightGroup, invoke_without_command=True, rich_markup_mode=None)

_MAX_FAILED: Final = 20

ListArgument = Annotated[
    Path,
    typer.Argument(metavar="LIST", help="File with one ADDRESS [NAME [REVISION]] a line: git addresses or folders."),
]
StorageOption = Annotated[
    str, typer.Option("--storage", metavar="URL", help="Object storage. Default: storage.url of the settings.")
]
RayOption = Annotated[
    str,
    typer.Option("--ray", metavar="ADDRESS", help="Ray cluster, or `auto` or `local`. Default: this machine alone."),
]
ProcessesOption = Annotated[
    int, typer.Option("--processes", min=1, max=1_000, help="Repositories at the same time on this machine.")
]
WorkOption = Annotated[
    Path | None, typer.Option("--work", metavar="DIR", help="Folder of checkouts and indexes on each machine.")
]
CpusOption = Annotated[float, typer.Option("--cpus", min=0.01, help="Processors of a repository on Ray.")]
GpusOption = Annotated[float, typer.Option("--gpus", min=0.0, help="Graphics processors of a repository on Ray.")]
AttemptsOption = Annotated[int, typer.Option("--attempts", min=1, max=20, help="Attempts for each repository.")]
PriceOption = Annotated[
    float, typer.Option("--price", min=0.0, help="Price of an hour of all machines, for the estimate.")
]
PlanOption = Annotated[bool, typer.Option("--plan", help="Only show what would be indexed, and estimate the time.")]
DiscardOption = Annotated[bool, typer.Option("--discard", help="Delete checkouts and indexes once they are published.")]


@cluster.callback()
def group(ctx: typer.Context) -> None:
    """Index many repositories into object storage."""
    show_help_without_command(ctx)


@cluster.command(cls=LightCommand)
def index(  # noqa: PLR0913  # options
    list_file: ListArgument,
    *,
    storage: StorageOption = "",
    ray: RayOption = "",
    processes: ProcessesOption = max(1, (os.cpu_count() or 1) // 2),
    work: WorkOption = None,
    cpus: CpusOption = 2.0,
    gpus: GpusOption = 0.0,
    attempts: AttemptsOption = 3,
    price: PriceOption = 0.0,
    plan: PlanOption = False,
    discard: DiscardOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Index the repositories of a list, and publish each index.

    A repository whose current commit is published is left alone, so a run that was stopped goes on where it was.
    """
    del debug  # read in main, before anything can fail
    from coderag.cluster.cluster_run import ClusterOptions, ClusterRun
    from coderag.cluster.repository_list import read_repositories
    from coderag.interfaces.cli.output.report import print_report

    output = Output(as_json)
    repositories = read_repositories(list_file)
    options = ClusterOptions(
        (work or _find_work_folder()).expanduser().absolute(), _count_workers(processes, ray), attempts, not discard
    )
    run = ClusterRun(repositories, _read_storage(storage), options)
    if plan:
        estimate = _estimate(run, processes, ray, cpus, gpus, price)
        if as_json:
            output.write_json(estimate)
        else:
            print_report(f"plan of {list_file}", _make_plan_rows(estimate, price), output)
        return
    runner = _open_runner(processes, ray, cpus, gpus)
    try:
        with _show_progress() as progress:
            report = run.run(runner, progress)
    finally:
        runner.close()
    if as_json:
        output.write_json(report)
    else:
        print_report(f"indexed {list_file}", _make_report_rows(report), output)
    if report.count("failed"):
        raise typer.Exit(PARTIAL_INDEX)


def _find_work_folder() -> Path:
    from coderag.config.user_folders import find_cache_folder

    return find_cache_folder() / "cluster"


def _count_workers(processes: int, ray: str) -> int:
    return 1 if ray else max(1, (os.cpu_count() or 1) // processes)


def _read_storage(url: str) -> dict[str, Any]:
    """Read the section `storage` of the settings of this user and folder, with the secret in plain text."""
    from coderag.config.settings import Settings
    from coderag.config.trust import is_trusted

    root = Path.cwd()
    section = Settings.load(root, trusted=is_trusted(root), **({"storage": {"url": url}} if url else {})).storage
    if not section.url:
        raise ConfigurationError("storage.url is not set", hint="Give --storage s3://bucket/prefix.")
    values = section.model_dump(exclude_unset=True, exclude={"directory", "secret_access_key"})
    if secret := section.secret_access_key.get_secret_value():
        values["secret_access_key"] = secret
    return values


def _open_runner(processes: int, ray: str, cpus: float, gpus: float) -> "TaskRunner":
    if ray:
        from coderag.cluster.ray_runner import RayRunner

        return RayRunner(ray, cpus=cpus, gpus=gpus)
    from coderag.cluster.runners import LocalRunner

    return LocalRunner(processes)


def _estimate(run: "ClusterRun", processes: int, ray: str, cpus: float, gpus: float, price: float) -> "ClusterPlan":
    if not ray:
        return run.plan(processes, price)
    runner = _open_runner(processes, ray, cpus, gpus)
    try:
        return run.plan(runner.capacity, price)
    finally:
        runner.close()


def _make_plan_rows(plan: "ClusterPlan", price: float) -> "list[ReportRow]":
    from coderag.interfaces.cli.output.report import ReportRow

    new = f", {plan.new:,} never indexed before" if plan.new else ""
    rows = [
        ReportRow("repositories", f"{plan.repositories:,}"),
        ReportRow("unchanged", f"{plan.unchanged:,}"),
        ReportRow("to index", f"{plan.known + plan.new:,}{new}"),
        ReportRow("time", f"about {format_duration(plan.seconds)}, {plan.processes:,} at a time"),
    ]
    return [*rows, ReportRow("price", f"about {plan.price:,.2f}")] if price else rows


def _make_report_rows(report: "ClusterReport") -> "list[ReportRow]":
    from coderag.interfaces.cli.output.report import ReportRow, make_list_rows

    failed = [result for result in report.results if result.state == "failed"]
    indexed = [result for result in report.results if result.state == "indexed"]
    lines, chunks = sum(result.lines for result in indexed), sum(result.chunks for result in indexed)
    reasons = [
        f"{result.name}: {result.error}{f' ({result.attempts} attempts)' if result.attempts > 1 else ''}"
        for result in failed[:_MAX_FAILED]
    ]
    if len(failed) > _MAX_FAILED:
        reasons.append(f"and {len(failed) - _MAX_FAILED:,} more, see --json")
    return [
        ReportRow("indexed", f"{len(indexed):,}, with {lines:,} lines and {chunks:,} chunks"),
        ReportRow("unchanged", f"{report.count('unchanged'):,}"),
        *make_list_rows("failed", map(escape_controls, reasons), "red"),
        ReportRow("time", format_duration(report.elapsed_s)),
    ]


@contextmanager
def _show_progress() -> "Iterator[Callable[[ClusterProgress], None] | None]":
    """Yield the callback of a progress bar, or None if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from coderag.interfaces.cli.output.console import SideConsole

    columns = (
        TextColumn("{task.completed:,}/{task.total:,} repositories"),
        BarColumn(),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=SideConsole(), transient=True) as bar:
        task = bar.add_task("", total=None, state="")

        def show(progress: "ClusterProgress") -> None:
            failed = f", {progress.failed:,} failed" if progress.failed else ""
            state = escape_controls(f"{progress.lines:,} lines{failed} {progress.last}")
            bar.update(task, total=progress.total, completed=progress.done + progress.failed, state=state)

        yield show
