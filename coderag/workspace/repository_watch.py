"""Events of one repository as an async stream."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from coderag.workspace.results import RepositoryEvent
from coderag.workspace.workspace_view import WorkspaceView


async def stream_changes(workspace: WorkspaceView, root: str, interval_s: float) -> AsyncGenerator[frozenset[str]]:
    """Yield the kinds of a repository's events since the last ones; empty after an interval without any.

    The first item comes at once and is empty. Close the generator if you leave it early. It does not keep the repository open.

    Args:
        workspace: The repositories.
        root: Real folder of the repository; it need not be open.
        interval_s: Seconds after which an empty item is yielded.
    """
    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    kinds: set[str] = set()

    def note(kind: str) -> None:
        kinds.add(kind)
        changed.set()

    def listen(event: RepositoryEvent) -> None:
        if event.root == root:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(note, event.kind)

    stop_listening = workspace.listen(listen)
    try:
        while True:
            changed.clear()
            taken = frozenset(kinds)
            kinds.clear()
            yield taken
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), interval_s)
    finally:
        stop_listening()
