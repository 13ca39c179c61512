"""Progress of an indexing job: waiting for it and formatting it."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import anyio

from coderag.workspace.jobs import ENDED_STATES
from coderag.workspace.progress import stream_views

if TYPE_CHECKING:
    from coderag.schema.indexing import IndexProgress
    from coderag.workspace.jobs import IndexJob, JobView

_STAGE_PERCENTS: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {"scan": (0, 5), "chunk": (5, 60), "embed": (60, 92), "commit": (92, 94), "link": (94, 99)}
)
"""Approximate percentages at which each stage begins and ends, measured on a first run with the embedded model."""


async def follow(job: "IndexJob", timeout_s: float, report: "Callable[[JobView], Awaitable[None]]") -> "JobView":
    """Report the progress of a job; return its view when it has ended or the timeout is over.

    The job continues if the caller is cancelled: others may wait for it.
    """
    with anyio.move_on_after(timeout_s):
        async with aclosing(stream_views(job)) as views:
            async for view in views:
                # The reply itself reports the end; clients treat a notification next to it as stray.
                if view.state not in ENDED_STATES:
                    await report(view)
    return job.view


def compute_percent(view: "JobView") -> int:
    """Return the approximate progress of a job in percent; it never decreases within a run."""
    if view.state == "done":
        return 100
    progress = view.progress
    if progress is None:
        return 0
    start, end = _STAGE_PERCENTS[progress.stage]
    return start + int((end - start) * _compute_stage_fraction(progress))


def format_progress(view: "JobView") -> str:
    """Format the progress of a job."""
    if view.state == "queued":
        return f"indexing: waiting for its turn{f' ({view.error})' if view.error else ''}"
    return f"indexing: {compute_percent(view)} %"


def _compute_stage_fraction(progress: "IndexProgress") -> float:
    return min(1.0, progress.done / progress.total) if progress.total else 0.0
