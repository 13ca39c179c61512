"""Progress of an indexing job as an async stream."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from coderag.workspace.jobs import ENDED_STATES, IndexJob, JobView


async def stream_views(job: IndexJob) -> AsyncGenerator[JobView]:
    """Yield the view of a job now and after each change until it ends; quick changes are merged.

    The job continues without listeners: others may wait for it. Close the generator if you leave it early.
    """
    loop, changed = asyncio.get_running_loop(), asyncio.Event()

    def notify_change(_: JobView) -> None:
        if not changed.is_set():
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(changed.set)

    stop_watching = job.watch(notify_change)
    try:
        while True:
            await changed.wait()
            changed.clear()
            view = job.view
            yield view
            if view.state in ENDED_STATES:
                return
    finally:
        stop_watching()
