"""Runs the process that computes views: one at a time, what somebody waits for before what is computed ahead."""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from coderag.errors import CodeRAGError, ServiceError, find_error_class
from coderag.system.subprocesses import build_python_command, build_python_environment, describe_exit

_COMMAND: Final = "from coderag.workspace.view_process import main; main()"
_FLAGS: Final = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)

ViewKey = tuple[str, tuple[int, str]]
"""Folder of an index, and its generation."""


@dataclass(frozen=True, slots=True)
class ViewProgress:
    """Progress of views that are being computed.

    Attributes:
        stage: Name of the current step.
        share: Share of the stage that is done, 0 to 1.
    """

    stage: str = "starting"
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class ViewTask:
    """Views to compute.

    Attributes:
        key: The generation.
        views: Names of the views, as of `coderag.workspace.view_process`.
        method: Method of the embedding map.
        is_ahead: Whether nobody waits for them.
    """

    key: ViewKey
    views: Sequence[str]
    method: str
    is_ahead: bool


@dataclass(frozen=True, slots=True)
class ViewEnd:
    """End of a task.

    Attributes:
        task: The task.
        seconds: Its duration.
        error: Why it failed; None if it did not.
        is_cancelled: Whether it was given up.
    """

    task: ViewTask
    seconds: float
    error: CodeRAGError | None
    is_cancelled: bool


@dataclass(slots=True)
class _Run:
    task: ViewTask
    process: "subprocess.Popen[bytes]"
    started: float
    progress: ViewProgress = field(default_factory=ViewProgress)
    is_cancelled: bool = False
    thread: threading.Thread | None = None


class ViewWorker:
    """The one process of a workspace that computes views. Thread-safe.

    Args:
        on_end: Called in a thread of its own with the end of each task.
    """

    def __init__(self, on_end: Callable[[ViewEnd], None]) -> None:
        self._on_end = on_end
        self._lock = threading.Lock()
        self._run: _Run | None = None
        self._is_closed = False

    def find(self, key: ViewKey, view: str) -> ViewProgress | None:
        """Return the progress of a view of a generation; None if it is not being computed."""
        with self._lock:
            run = self._run
        if run is None or run.is_cancelled or run.task.key != key or view not in run.task.views:
            return None
        return run.progress

    def start(self, task: ViewTask) -> ViewProgress | None:
        """Start a task; None if another one runs. One that is computed ahead is given up for one that somebody waits for.

        Raises:
            ServiceError: The process cannot be started.
        """
        with self._lock:
            if self._run is not None:
                if self._run.task.is_ahead and not task.is_ahead:
                    _kill(self._run)
                return None
            if self._is_closed:
                return None
            try:
                process = subprocess.Popen(
                    build_python_command(_COMMAND),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env=build_python_environment(),
                    creationflags=_FLAGS,
                )
            except OSError as error:
                message = f"the process that computes the views cannot be started: {error}"
                raise ServiceError(message, hint="Close other programs, then try again.") from error
            run = self._run = _Run(task, process, time.monotonic())
            run.thread = threading.Thread(target=self._follow, args=(run,), daemon=True, name="views")
            run.thread.start()
        return run.progress

    def cancel_ahead(self, directory: str) -> None:
        """Give up what is computed ahead for the index in a folder."""
        with self._lock:
            if self._run is not None and self._run.task.is_ahead and self._run.task.key[0] == directory:
                _kill(self._run)

    def close(self) -> None:
        """End the process, and start no other."""
        with self._lock:
            self._is_closed = True
            run = self._run
        if run is not None:
            _kill(run)
            if run.thread is not None and run.thread is not threading.current_thread():
                run.thread.join()

    def _follow(self, run: _Run) -> None:
        """Read the progress of a process until it ends."""
        process, task, error = run.process, run.task, None
        assert process.stdin is not None
        assert process.stdout is not None
        is_done = False
        request = {"directory": task.key[0], "views": list(task.views), "method": task.method}
        with process.stdin as tasks, process.stdout as replies, suppress(OSError, ValueError):
            tasks.write(json.dumps(request).encode() + b"\n")
            tasks.flush()
            for line in replies:
                record: dict[str, Any] = json.loads(line)
                if "error" in record:
                    kind = find_error_class(record["error"]) or CodeRAGError
                    error = kind(record["message"], hint=record["hint"])
                elif "done" in record:
                    is_done = True
                else:
                    run.progress = replace(run.progress, **record)
        code = process.wait()
        if error is None and not is_done:
            message = f"the process that computes the views ended ({describe_exit(code)})"
            error = ServiceError(message, hint="Try again; if memory ran out, close other programs first.")
        self._on_end(ViewEnd(task, time.monotonic() - run.started, error, run.is_cancelled))
        with self._lock:  # last, so that who finds no run finds its result or error
            self._run = None


def _kill(run: _Run) -> None:
    run.is_cancelled = True
    with suppress(OSError):
        run.process.kill()
