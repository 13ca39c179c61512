"""Parent's side of a worker process: start it, send jobs, detect its end."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Final, cast

from coderag.errors import IngestionError
from coderag.ingestion.workers.messages import WorkerCall, WorkerFault
from coderag.system.process_messages import Pipes, read_message, write_message
from coderag.system.subprocesses import build_python_command, build_python_environment, describe_exit

if TYPE_CHECKING:  # the parent avoids importing the parsers: workers import them
    from coderag.ingestion.workers.jobs import JobResult, ParseJob, RunSettings

NO_WORKERS_HINT: Final = "Set `ingestion.workers` to 0 to index without worker processes."

_SILENCE_TIMEOUT_S = 120.0  # wall-clock time without progress, for example on a hanging network drive
_SILENCE_TIMEOUT_S_PER_MB = 20.0  # of the largest file; its CPU limit is far lower
_END_RUN_TIMEOUT_S = 20.0  # wall-clock time to close the cache, which may wait for another process
_PIPE_BYTES = 1 << 20
_COMMAND = "from coderag.ingestion.workers.worker import main; main()"
_EXTERNAL_SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")


class WorkerDiedError(Exception):
    """A worker ended during a job.

    Attributes:
        position: Position of the current file; -1 after the last, None before the first.
        is_external: Whether another process ended it, for example the system when memory ran out.
    """

    def __init__(self, position: int | None, reason: str, *, is_external: bool) -> None:
        super().__init__(reason)
        self.position = position
        self.is_external = is_external


class WorkerProcess:
    """A worker process and the pipes to it.

    Raises:
        IngestionError: The system cannot start a process.
    """

    def __init__(self) -> None:
        try:
            self._process = subprocess.Popen(
                build_python_command(_COMMAND),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # NumPy's linear algebra is unused, but would start a thread per core.
                env=build_python_environment(OPENBLAS_NUM_THREADS="1"),
            )
        except OSError as error:
            raise IngestionError(f"no worker process can be started: {error}", hint=NO_WORKERS_HINT) from error
        self._input = cast("IO[bytes]", self._process.stdin)
        self._output = cast("IO[bytes]", self._process.stdout)
        for pipe in (self._input, self._output):
            _widen_pipe(pipe)
        self._run = ""

    @property
    def is_alive(self) -> bool:
        """Return whether the process is running."""
        return self._process.poll() is None

    def run_job(self, job: "ParseJob", settings: "RunSettings") -> "JobResult":
        """Run a job and return its result.

        Raises:
            WorkerDiedError: The process ended, or was ended because a file took too long.
            IngestionError: An internal error.
        """
        position = None
        max_file_bytes = max((task.candidate.size for task in job.files), default=0)
        watchdog = _Watchdog(
            self._process.kill, _SILENCE_TIMEOUT_S + _SILENCE_TIMEOUT_S_PER_MB * max_file_bytes / 1_000_000
        )
        try:
            if self._run != settings.run:
                write_message(self._input, settings)
                self._run = settings.run
            write_message(self._input, job)
            while isinstance(message := read_message(self._output), int):
                position = message
                watchdog.reset()
        except (EOFError, OSError, ValueError) as error:  # ValueError: `close` was called concurrently
            reason, is_external = self._describe_end(timed_out=watchdog.has_fired)
            raise WorkerDiedError(position, reason, is_external=is_external) from error
        finally:
            watchdog.cancel()
        if isinstance(message, WorkerFault):
            raise IngestionError(f"indexing failed in a worker process:\n{message.message}")
        return cast("JobResult", message)

    def call_function(self, function: str) -> Pipes:
        """Call a function in the worker, between two runs, and return the pipes to it.

        Raises:
            OSError: The process is gone.
        """
        write_message(self._input, WorkerCall(function))
        return Pipes(self._input, self._output)

    def end_run(self) -> None:
        """Have the worker release the resources of the run, such as the cache file; stop it if that fails."""
        self._run = ""
        with suppress(OSError):
            write_message(self._input, None)
        self.await_return()

    def await_return(self) -> None:
        """Wait until the worker has ended a run, or a called function has returned; stop it on failure."""
        watchdog = _Watchdog(self._process.kill, _END_RUN_TIMEOUT_S)
        try:
            while read_message(self._output) is not None:
                pass  # an answer that the borrower did not read
        except (EOFError, OSError):
            self.close()
        finally:
            watchdog.cancel()

    def close(self) -> None:
        """Stop the process, busy or not."""
        with suppress(OSError):
            self._process.kill()
        for stream in (self._input, self._output):
            with suppress(OSError):
                stream.close()
        self._process.wait()

    def _describe_end(self, *, timed_out: bool) -> tuple[str, bool]:
        """Describe the end of the process, and return whether another process caused it."""
        end = describe_exit(self._process.wait())
        if timed_out or end == "SIGPROF":
            return "parsing took too long", False
        return f"parsing ended its process ({end})", end in _EXTERNAL_SIGNALS


class _Watchdog:
    """Kills a process after a period of silence.

    Args:
        on_timeout: Kills the process.
        seconds: Maximum silence.

    Attributes:
        has_fired: Whether the timeout has passed.
    """

    def __init__(self, on_timeout: Callable[[], None], seconds: float) -> None:
        self._on_timeout = on_timeout
        self._seconds = seconds
        self._last_message_s = time.monotonic()
        self._is_cancelled = False
        self.has_fired = False
        self._start(seconds)

    def reset(self) -> None:
        """Note a message of the process."""
        self._last_message_s = time.monotonic()

    def cancel(self) -> None:
        """Stop watching."""
        self._is_cancelled = True
        self._timer.cancel()

    def _start(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._check)
        self._timer.daemon = True
        self._timer.start()

    def _check(self) -> None:
        remaining_s = self._last_message_s + self._seconds - time.monotonic()
        if self._is_cancelled:
            return
        if remaining_s > 0:
            self._start(remaining_s)
        else:
            self.has_fired = True
            self._on_timeout()


def _widen_pipe(pipe: IO[bytes]) -> None:
    """Enlarge a pipe to hold a whole result, so that a worker continues while its parent is busy."""
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415  # POSIX only

        with suppress(OSError):  # the user's limit may be reached
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
