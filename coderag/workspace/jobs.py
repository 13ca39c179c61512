"""Indexing jobs in the background, one at a time per repository."""

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
    """State of a job.

    Attributes:
        id: Id in the workspace.
        root: Folder of the repository.
        full: Whether everything is rebuilt.
        progress: Its progress; None before it starts.
        report: Its report; None before it is done.
        error, hint: The error and advice; empty without an error. For a requeued job: the reason, that another process
            writes the index.
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
    """An indexing job. It may be watched and cancelled by several threads.

    Args:
        root: Folder of the repository.
        full: Whether everything is rebuilt.
        cancel: Cancels the run; the index stays unchanged.
    """

    def __init__(self, root: str, *, full: bool, cancel: Callable[[], None]) -> None:
        self.id = uuid.uuid4().hex[:12]
        self.error: CodeRAGError | None = None
        """The error, for waiting callers to raise."""
        self._view = JobView(self.id, root, full, "queued")
        self._cancel = cancel
        self._changed = threading.Condition()
        self._watchers: Listeners[JobView] = Listeners()

    @property
    def view(self) -> JobView:
        """Current state."""
        return self._view

    def wait(self, timeout_s: float | None = None) -> JobView:
        """Wait until it has ended or the timeout is over; return its state."""
        with self._changed:
            self._changed.wait_for(lambda: self._view.state in ENDED_STATES, timeout_s)
        return self._view

    def cancel(self) -> None:
        """Cancel it, unless it has ended."""
        if self._view.state not in ENDED_STATES:
            self._cancel()

    def watch(self, watcher: Callable[[JobView], None]) -> Callable[[], None]:
        """Call a function with the current state and on every change; return a function that ends that."""
        remove = self._watchers.add(watcher)
        watcher(self._view)
        return remove

    def update(self, changes: Mapping[str, Any]) -> None:
        """Update its state; for its runner only. An ended job does not change.

        Args:
            changes: Attributes of the view.
        """
        with self._changed:
            if self._view.state in ENDED_STATES:
                return
            self._view = view = replace(self._view, **changes)
            self._changed.notify_all()
        self._watchers.notify(view)
