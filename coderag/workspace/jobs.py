"""Runs of indexing in the background: begun by anyone, watched by anyone, one at a time for each repository."""

import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from coderag.errors import CodeRAGError
from coderag.schema.indexing import IndexProgress, IndexReport
from coderag.workspace.listeners import Listeners

JobState = Literal["queued", "running", "done", "failed", "cancelled"]

ENDED_STATES: frozenset[JobState] = frozenset({"done", "failed", "cancelled"})


@dataclass(frozen=True, slots=True)
class JobView:
    """How a job stands.

    Attributes:
        id: Names it in the workspace.
        root: Folder of the repository.
        full: Whether everything is built anew.
        progress: How far it is; None before it has begun.
        report: What it did; None before it is done.
        error, hint: What went wrong, and what can be done about it; empty if nothing did. Of a job that is queued: why it
            is again, which is that another process writes the index.
    """

    id: str
    root: str
    full: bool
    state: JobState
    progress: IndexProgress | None = None
    report: IndexReport | None = None
    error: str = ""
    hint: str = ""


class IndexJob:
    """One run of indexing. It may be watched and cancelled by several threads.

    Args:
        root: Folder of the repository.
        full: Whether everything is built anew.
        cancel: Ends the run; the index stays what it was.
    """

    def __init__(self, root: str, *, full: bool, cancel: Callable[[], None]) -> None:
        self.id = uuid.uuid4().hex[:12]
        self.error: CodeRAGError | None = None
        """What went wrong, to be raised to who waits."""
        self._view = JobView(self.id, root, full, "queued")
        self._cancel = cancel
        self._changed = threading.Condition()
        self._watchers: Listeners[JobView] = Listeners()

    @property
    def view(self) -> JobView:
        """How it stands now."""
        return self._view

    def wait(self, timeout_s: float | None = None) -> JobView:
        """Return how it stands when it has ended, or when the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._view.state in ENDED_STATES, timeout_s)
        return self._view

    def cancel(self) -> None:
        """End it; nothing happens if it has ended."""
        if self._view.state not in ENDED_STATES:
            self._cancel()

    def watch(self, watcher: Callable[[JobView], None]) -> Callable[[], None]:
        """Have a function called with how it stands now, and whenever that changes; return what ends that."""
        remove = self._watchers.add(watcher)
        watcher(self._view)
        return remove

    def update(self, changes: Mapping[str, Any]) -> None:
        """Note how it stands; only who runs it does that. A job that has ended stays as it is.

        Args:
            changes: Attributes of the view.
        """
        with self._changed:
            if self._view.state in ENDED_STATES:
                return
            self._view = view = replace(self._view, **changes)
            self._changed.notify_all()
        self._watchers.notify(view)
