"""Progress bar of indexing, on standard error."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from coderag.schema.indexing import IndexProgress

_LABELS: Final = {
    "scan": "looking for files",
    "chunk": "indexing",
    "embed": "embedding",
    "commit": "writing",
    "link": "searchable, linking",
}


@contextmanager
def show_index_progress() -> Iterator[Callable[[IndexProgress], None] | None]:
    """Yield the callback of a progress bar, or None if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from coderag.interfaces.cli.output.console import SideConsole

    columns = (
        TextColumn("{task.description:<19}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=SideConsole(), transient=True) as progress:
        task = progress.add_task("preparing", total=None, count="")  # the bar pulses without a total

        def show(step: IndexProgress) -> None:
            label = _LABELS.get(step.stage, step.stage)
            if step.stage == "embed" and not step.total:  # between files: keep their bar
                progress.update(task, description=label, count=f"{step.done:,} texts")
                return
            count = f"{step.done:,}/{step.total:,}" if step.total > 1 else ""
            # A full bar would stop the clock while the run continues. `update` ignores None.
            progress.tasks[0].total = step.total if step.done < step.total else None
            progress.update(task, description=label, completed=step.done, count=count)

        yield show
