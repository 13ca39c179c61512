"""``coderag sources sync``: bring the mirror up to date."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from coderag.errors import IndexLockedError, SourceError
from coderag.interfaces.cli.commands.sources.opening import open_sources
from coderag.interfaces.cli.options import DebugOption, JsonOption, RepoOption
from coderag.interfaces.cli.output.report import format_counts
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.error_table import PARTIAL_INDEX, find_error_row

if TYPE_CHECKING:
    from coderag.schema.mirrored_items import SourceRun
    from coderag.sources.synchronization import SyncProgress

_LABELS = {"changes": "items", "failures": "failed items again", "deletions": "ids, to find deletions"}

NameArgument = Annotated[
    str | None,
    typer.Argument(metavar="[NAME]", help="A source. Default: all, one after the other.", show_default=False),
]
FullOption = Annotated[bool, typer.Option("--full", help="Read everything, not only changes.")]
DeleteOption = Annotated[
    bool, typer.Option("--delete", help="Delete what a source no longer lists, even if that is more than half of it.")
]


def sync(
    name: NameArgument = None,
    *,
    full: FullOption = False,
    delete: DeleteOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Mirror new and changed items, and remove deleted ones.

    Each page is stored when it arrives: after an interruption the next run continues there. A source that fails does not stop
    the others, and the search in code is never affected.
    """
    del debug  # read in main, before anything can fail
    output = Output(as_json)
    _, sources = open_sources(repo)
    if not sources.names and name is None:
        if as_json:
            output.write_json({"runs": []})
        output.note("no sources: add one with `coderag sources add`")
        return
    runs = []
    for source in sources.names if name is None else [name]:
        with _show_progress() as progress:
            runs += sources.sync(source, full=full, delete=delete, on_progress=progress)
        if not as_json:
            _print_run(runs[-1], output)
    if any(run.changes.added or run.changes.changed or run.changes.deleted for run in runs):
        _index_items(repo, output)
    if as_json:
        output.write_json({"runs": runs})
    elif any(run.changes.failed for run in runs):
        output.note("Some items could not be read; `coderag sources status` lists them.")
    if any(run.outcome == "failed" for run in runs):
        raise typer.Exit(find_error_row(SourceError("")).exit_code)
    if any(run.outcome != "complete" for run in runs):
        raise typer.Exit(PARTIAL_INDEX)


def _index_items(repo: RepoOption, output: Output) -> None:
    """Index what has changed in the mirror, so that the next search need not; another process may do it, too."""
    from coderag.interfaces.cli.indexed_engine import open_local_engine

    items = open_local_engine(repo, output).items
    try:
        with output.show_status("indexing the items"):
            items.update()
    except IndexLockedError as error:
        output.note(f"{error}; the next search indexes the items")


def _print_run(run: "SourceRun", output: Output) -> None:
    output.write(escape_controls(format_run(run)))
    for note in run.notes:
        if note != run.message:
            output.note(f"  {note}")


def format_run(run: "SourceRun") -> str:
    """Format a run in one line: outcome, numbers, reason."""
    changes = run.changes
    numbers = {
        "added": changes.added,
        "changed": changes.changed,
        "deleted": changes.deleted,
        "unchanged": changes.unchanged,
        "failed": changes.failed,
    }
    counts = format_counts(numbers)
    text = f"{run.source}: {run.outcome}, {counts if counts != 'none' else 'nothing changed'}"
    return f"{text}: {run.message}" if run.message else text


@contextmanager
def _show_progress() -> "Iterator[Callable[[SyncProgress], None] | None]":
    """Yield the callback of a progress bar, or None if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from coderag.interfaces.cli.output.console import SideConsole

    columns = (
        TextColumn("{task.description:<34}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=SideConsole(), transient=True) as progress:
        task = progress.add_task("connecting", total=None, count="")

        def show(step: "SyncProgress") -> None:
            count = f"{step.done:,}/{step.total:,}" if step.total else f"{step.done:,}"
            progress.tasks[0].total = step.total if step.total and step.done < step.total else None
            label = f"{escape_controls(step.source)}: {_LABELS[step.stage]}"
            progress.update(task, description=label, completed=step.done, count=count)

        yield show
