"""``coderag enrich``: the run with its progress, and what is said of it."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import typer

from coderag.interfaces._errors import PARTIAL_INDEX
from coderag.interfaces.cli._faults import InterruptedByUserError
from coderag.interfaces.cli._report import Row, counts, listing, print_report
from coderag.interfaces.cli._streams import Output

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.ingestion.summaries.enrich_results import EnrichPlan, EnrichProgress, EnrichReport

_STOPS = {
    "done": "nothing is left to do",
    "budget": "the time is up",
    "cost": "the next request would cost too much",
    "limit": "the limit is reached",
    "stopped": "stopped",
    "failing": "the model failed again and again",
}
_LABELS = {"chunk": "code", "file": "files", "folder": "folders", "commit": "writing"}
_NOUNS = {"chunk": ("piece of code", "pieces of code"), "file": ("file", "files"), "folder": ("folder", "folders")}
_NICENESS = 5


def run(
    rag: "CodeRAG",
    limits: tuple[float | None, float | None, int | None],
    include: tuple[str, ...],
    output: Output,
    *,
    watch: bool,
) -> None:
    """Summarise, and tell what was done; Ctrl-C ends it in good order.

    Args:
        limits: Seconds, cost and number.
        include: Roles that are summarised as well.
        watch: Whether to go on whenever the index changes, until Ctrl-C, which is the way to end that.

    Raises:
        InterruptedByUserError: Ctrl-C has ended it before all was done; what was is told, and kept.
    """
    from coderag.ingestion.summaries.enricher import EnrichLimits

    with suppress(AttributeError, OSError):  # Windows has none
        os.nice(_NICENESS)  # who searches meanwhile should not notice
    with _stopped_by_interrupt() as stop:
        if watch:
            reports = rag.summaries.follow(EnrichLimits(*limits), include=include, stop=stop)
            output.note(f"following {rag.root} (Ctrl-C ends it)")
            for report in reports:
                if report.written or report.failed:
                    _tell(report, output, rag, is_one_of_many=True)
            return
        with _progress() as progress:
            report = rag.summaries.write(EnrichLimits(*limits), include=include, progress=progress, stop=stop)
        _tell(report, output, rag)
    if report.stopped == "stopped":
        raise InterruptedByUserError
    if report.failed:
        raise typer.Exit(PARTIAL_INDEX)


def plan_rows(plan: "EnrichPlan") -> list[Row]:
    """Return a plan as rows."""
    written, total = plan.share
    rows = [
        Row("model", plan.model or "none is configured: set llm.provider, or import summaries with --from"),
        Row("written", f"{written:,} of {total:,} pieces of code"),
        Row("to do", _amounts(plan.pieces)),
    ]
    if not plan.pieces:
        return rows
    if plan.failed_before:
        rows.append(Row("again", f"{plan.failed_before:,} of them failed before"))
    rows.append(Row("tokens", f"about {plan.input_tokens:,} sent and {plan.output_tokens:,} received"))
    rows.append(Row("cost", f"about {plan.cost:.2f}" if plan.cost is not None else "not known: llm has no prices"))
    known = plan.seconds is not None
    rows.append(Row("time", f"about {_duration(plan.seconds or 0)}" if known else "not known before the first run"))
    return [*rows, *listing("first", plan.first)]


def report_rows(report: "EnrichReport") -> list[Row]:
    """Return what a run did as rows."""
    written, total = report.share
    cost = "" if report.cost is None else f", cost {report.cost:.4f}"
    tokens = f"{report.input_tokens:,} sent, {report.output_tokens:,} received{cost}"
    return [
        Row("ended", f"{_STOPS[report.stopped]}{f': {report.error}' if report.error else ''}"),
        Row("written", _amounts(report.written)),
        *([Row("model", report.model), Row("tokens", tokens)] if report.model else []),
        Row("summaries", f"{written:,} of {total:,} pieces of code"),
        *listing("failed", (f"{place}: {reason}" for place, reason in report.failed), "red"),
        *listing(
            "unknown", (f"{place}: no chunk, file or folder that can have one" for place in report.unknown), "red"
        ),
        Row("generation", str(report.generation)),
        Row("seconds", f"{report.elapsed_s:.2f}"),
    ]


def _tell(report: "EnrichReport", output: Output, rag: "CodeRAG", *, is_one_of_many: bool = False) -> None:
    if output.as_json and is_one_of_many:
        output.line(report)
    elif output.as_json:
        output.result(report)
    else:
        print_report(f"summarised {rag.root}", report_rows(report), output)


def _amounts(numbers: Mapping[str, int]) -> str:
    return counts({_NOUNS[level][number != 1]: number for level, number in numbers.items()})


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:.1f} h"


@contextmanager
def _stopped_by_interrupt() -> Iterator[threading.Event]:
    """Yield what the first Ctrl-C sets; the second one ends the command at once."""
    stop = threading.Event()
    before = signal.getsignal(signal.SIGINT)

    def interrupted(*_: object) -> None:
        stop.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _progress() -> "Iterator[Callable[[EnrichProgress], None] | None]":
    """Yield what to report progress to: a bar, or None where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from coderag.interfaces.cli._console import SideConsole

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
