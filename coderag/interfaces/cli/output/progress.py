"""A progress bar for indexing, on standard error."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from coderag.schema.indexing import IndexProgress

_LABELS: Final = {"scan": "looking for files", "chunk": "indexing", "embed": "embedding", "commit": "writing"}


@contextmanager
def show_index_progress() -> Iterator[Callable[[IndexProgress], None] | None]:
    """Yield what to report progress to: a bar, or None where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from coderag.interfaces.cli.output.console import SideConsole

    columns = (
        TextColumn("{task.description:<17}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=SideConsole(), transient=True) as progress:
        task = progress.add_task("preparing", total=None, count="")  # without a total the bar pulses

        def show(step: IndexProgress) -> None:
            label = _LABELS.get(step.stage, step.stage)
            if step.stage == "embed" and not step.total:  # between files, whose bar stays
                progress.update(task, description=label, count=f"{step.done:,} texts")
                return
            count = f"{step.done:,}/{step.total:,}" if step.total > 1 else ""
            # A full bar would stop the clock while the rest of the run goes on. `update` takes no None.
            progress.tasks[0].total = step.total if step.done < step.total else None
            progress.update(task, description=label, completed=step.done, count=count)

        yield show
