"""Follow a run of indexing from an event loop, while threads carry it on."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from coderag.workspace.jobs import ENDED_STATES, IndexJob, JobView


async def stream_views(job: IndexJob) -> AsyncGenerator[JobView]:
    """Yield how a job stands, and again when that has changed, until it has ended; of several changes at once, the last.

    The job goes on if nobody listens any more: others may wait for it. Close the generator where it is left early.
    """
    loop, changed = asyncio.get_running_loop(), asyncio.Event()

    def notify_change(_: JobView) -> None:
        if not changed.is_set():
            with suppress(RuntimeError):  # the loop has ended, and with it who listens
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
