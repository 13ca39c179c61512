"""Runs of ``coderag enrich``, with progress and report."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import typer

from coderag.interfaces.cli.output.durations import format_duration
from coderag.interfaces.cli.output.error_report import InterruptedByUserError
from coderag.interfaces.cli.output.report import ReportRow, format_counts, make_list_rows, print_report
from coderag.interfaces.cli.output.streams import Output
from coderag.interfaces.error_table import PARTIAL_INDEX

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.ingestion.summaries.enrich_results import EnrichPlan, EnrichProgress, EnrichReport

_STOP_REASONS = {
    "done": "complete",
    "budget": "time limit reached",
    "cost": "cost limit reached",
    "limit": "limit reached",
    "stopped": "stopped",
    "failing": "the model failed repeatedly",
}
_LABELS = {"chunk": "code", "file": "files", "folder": "folders", "commit": "writing"}
_NOUNS = {"chunk": ("piece of code", "pieces of code"), "file": ("file", "files"), "folder": ("folder", "folders")}
_NICENESS = 5


def run_enrichment(
    rag: "CodeRAG",
    limits: tuple[float | None, float | None, int | None],
    include: tuple[str, ...],
    output: Output,
    *,
    watch: bool,
) -> None:
    """Write summaries and print the report; Ctrl-C ends the run cleanly.

    Args:
        limits: Limits of seconds, cost and number.
        include: Additional roles to summarise.
        watch: Continue on each index change until Ctrl-C.

    Raises:
        InterruptedByUserError: Ctrl-C ended it early; the report is printed and results are kept.
    """
    from coderag.ingestion.summaries.enricher import EnrichLimits

    with suppress(AttributeError, OSError):  # Windows has none
        os.nice(_NICENESS)  # do not slow down searches
    with _stop_on_interrupt() as stop:
        if watch:
            reports = rag.summaries.follow(EnrichLimits(*limits), include=include, stop=stop)
            output.note(f"following {rag.root} (press Ctrl-C to stop)")
            for report in reports:
                if report.written or report.failed:
                    _print_run_report(report, output, rag, as_line=True)
            return
        with _show_progress() as progress:
            report = rag.summaries.write(EnrichLimits(*limits), include=include, progress=progress, stop=stop)
        _print_run_report(report, output, rag)
    if report.stopped == "stopped":
        raise InterruptedByUserError
    if report.failed:
        raise typer.Exit(PARTIAL_INDEX)


def make_plan_rows(plan: "EnrichPlan") -> list[ReportRow]:
    """Return the rows of a plan."""
    written, total = plan.share
    rows = [
        ReportRow("model", plan.model or "not configured: set llm.provider, or import summaries with --from"),
        ReportRow("written", f"{written:,} of {total:,} pieces of code"),
        ReportRow("to do", _format_amounts(plan.pieces)),
    ]
    if not plan.pieces:
        return rows
    if plan.failed_before:
        rows.append(ReportRow("again", f"{plan.failed_before:,} of them failed before"))
    rows.append(ReportRow("tokens", f"about {plan.input_tokens:,} sent and {plan.output_tokens:,} received"))
    rows.append(ReportRow("cost", f"about {plan.cost:.2f}" if plan.cost is not None else "unknown: llm has no prices"))
    has_estimate = plan.seconds is not None
    rows.append(
        ReportRow(
            "time", f"about {format_duration(plan.seconds or 0)}" if has_estimate else "unknown before the first run"
        )
    )
    return [*rows, *make_list_rows("first", plan.first)]


def make_report_rows(report: "EnrichReport") -> list[ReportRow]:
    """Return the rows of a run report."""
    written, total = report.share
    cost = "" if report.cost is None else f", cost {report.cost:.4f}"
    tokens = f"{report.input_tokens:,} sent, {report.output_tokens:,} received{cost}"
    return [
        ReportRow("ended", f"{_STOP_REASONS[report.stopped]}{f': {report.error}' if report.error else ''}"),
        ReportRow("written", _format_amounts(report.written)),
        *([ReportRow("model", report.model), ReportRow("tokens", tokens)] if report.model else []),
        ReportRow("summaries", f"{written:,} of {total:,} pieces of code"),
        *make_list_rows("failed", (f"{place}: {reason}" for place, reason in report.failed), "red"),
        *make_list_rows("unknown", (f"{place}: no such chunk, file or folder" for place in report.unknown), "red"),
        ReportRow("generation", str(report.generation)),
        ReportRow("seconds", f"{report.elapsed_s:.2f}"),
    ]


def _print_run_report(report: "EnrichReport", output: Output, rag: "CodeRAG", *, as_line: bool = False) -> None:
    if output.as_json and as_line:
        output.write_json_line(report)
    elif output.as_json:
        output.write_json(report)
    else:
        print_report(f"summarised {rag.root}", make_report_rows(report), output)


def _format_amounts(numbers: Mapping[str, int]) -> str:
    return format_counts({_NOUNS[level][number != 1]: number for level, number in numbers.items()})


@contextmanager
def _stop_on_interrupt() -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C sets; the second one ends the command at once."""
    stop = threading.Event()
    previous_handler = signal.getsignal(signal.SIGINT)

    def handle_interrupt(*_: object) -> None:
        stop.set()
        signal.signal(signal.SIGINT, previous_handler)

    signal.signal(signal.SIGINT, handle_interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, previous_handler)


@contextmanager
def _show_progress() -> "Iterator[Callable[[EnrichProgress], None] | None]":
    """Yield the callback of a progress bar, or None if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from coderag.interfaces.cli.output.console import SideConsole

    columns = (
        TextColumn("summarising {task.description:<8}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=SideConsole(), transient=True) as bar:
        task = bar.add_task("", total=None, count="")

        def show(step: "EnrichProgress") -> None:
            if step.level == "commit":
                bar.update(task, description=_LABELS["commit"])
                return
            cost = "" if step.cost is None else f", cost {step.cost:.2f}"
            count = f"{step.done:,}/{step.total:,}, {step.tokens:,} tokens{cost}"
            bar.tasks[0].total = step.total
            bar.update(task, description=_LABELS[step.level], completed=step.done, count=count)

        yield show
