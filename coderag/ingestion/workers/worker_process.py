"""The parent's side of one worker process: start it, give it jobs, notice how it ends."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Final, cast

from coderag.errors import IngestionError
from coderag.ingestion.workers.messages import Errand, Fault
from coderag.system.process_messages import Pipes, read_message, write_message
from coderag.system.subprocesses import build_python_command, build_python_environment, describe_exit

if TYPE_CHECKING:  # the parent loads the parsers only if it needs them: a worker does, meanwhile
    from coderag.ingestion.workers.jobs import Job, JobResult, RunSettings

WITHOUT_WORKERS: Final = "Set `ingestion.workers` to 0 to index without worker processes."

_SILENT_S = 120.0  # of wall clock, without a file done: a network drive that hangs
_SILENT_S_A_MEGABYTE = 20.0  # of the largest file; its limit of CPU time comes long before
_FAREWELL_S = 20.0  # of wall clock, to close the cache, for which another process may have to be waited for
_PIPE_BYTES = 1 << 20
_COMMAND = "from coderag.ingestion.workers.worker import main; main()"
_SENT_BY_OTHERS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")


class WorkerDiedError(Exception):
    """A worker ended in the middle of a job.

    Attributes:
        position: Of the file it was at; -1 after the last one, None before the first.
        by_others: Whether another process ended it, such as the system when memory ran out; not what it read, for sure.
    """

    def __init__(self, position: int | None, reason: str, *, by_others: bool) -> None:
        super().__init__(reason)
        self.position = position
        self.by_others = by_others


class WorkerProcess:
    """One worker process and the pipes to it.

    Raises:
        IngestionError: The system starts no process.
    """

    def __init__(self) -> None:
        try:
            self._process = subprocess.Popen(
                build_python_command(_COMMAND),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # NumPy's linear algebra is not used, and would start a thread a core.
                env=build_python_environment(OPENBLAS_NUM_THREADS="1"),
            )
        except OSError as error:
            raise IngestionError(f"no worker process can be started: {error}", hint=WITHOUT_WORKERS) from error
        self._input = cast("IO[bytes]", self._process.stdin)
        self._output = cast("IO[bytes]", self._process.stdout)
        for pipe in (self._input, self._output):
            _widen(pipe)
        self._run = ""

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def do(self, job: "Job", settings: "RunSettings") -> "JobResult":
        """Return what came of a job.

        Raises:
            WorkerDiedError: The process ended, or was ended because a file took too long.
            IngestionError: A fault of ours.
        """
        position = None
        largest = max((task.candidate.size for task in job.files), default=0)
        watch = _Watch(self._process.kill, _SILENT_S + _SILENT_S_A_MEGABYTE * largest / 1_000_000)
        try:
            if self._run != settings.run:
                write_message(self._input, settings)
                self._run = settings.run
            write_message(self._input, job)
            while isinstance(message := read_message(self._output), int):
                position = message
                watch.heard()
        except (EOFError, OSError, ValueError) as error:  # ValueError: `close` was called meanwhile
            reason, by_others = self._describe_end(timed_out=watch.ended)
            raise WorkerDiedError(position, reason, by_others=by_others) from error
        finally:
            watch.cancel()
        if isinstance(message, Fault):
            raise IngestionError(f"indexing failed in a worker process:\n{message.message}")
        return cast("JobResult", message)

    def send_on(self, function: str) -> Pipes:
        """Have it run a function of ours, between two runs, and return the pipes to that.

        Raises:
            OSError: The process is gone.
        """
        write_message(self._input, Errand(function))
        return Pipes(self._input, self._output)

    def end_run(self) -> None:
        """Have it let go of what belongs to the run, such as the file of the cache; end it if that fails."""
        self._run = ""
        with suppress(OSError):
            write_message(self._input, None)
        self.await_return()

    def await_return(self) -> None:
        """Wait until it has put a run away, or the function has returned that it was sent on; end it if that fails."""
        watch = _Watch(self._process.kill, _FAREWELL_S)
        try:
            while read_message(self._output) is not None:
                pass  # an answer that the borrower did not wait for
        except (EOFError, OSError):
            self.close()
        finally:
            watch.cancel()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        with suppress(OSError):
            self._process.kill()
        for stream in (self._input, self._output):
            with suppress(OSError):
                stream.close()
        self._process.wait()

    def _describe_end(self, *, timed_out: bool) -> tuple[str, bool]:
        """Return how the process ended, in words, and whether another one ended it."""
        end = describe_exit(self._process.wait())
        if timed_out or end == "SIGPROF":
            return "parsing took too long", False
        return f"parsing ended its process ({end})", end in _SENT_BY_OTHERS


class _Watch:
    """Ends a process that says nothing for too long.

    Args:
        end: Ends it.
        seconds: How long is too long.

    Attributes:
        ended: Whether it has.
    """

    def __init__(self, end: Callable[[], None], seconds: float) -> None:
        self._end = end
        self._seconds = seconds
        self._heard_at = time.monotonic()
        self._cancelled = False
        self.ended = False
        self._start(seconds)

    def heard(self) -> None:
        """Note that the process said something."""
        self._heard_at = time.monotonic()

    def cancel(self) -> None:
        """Watch no longer."""
        self._cancelled = True
        self._timer.cancel()

    def _start(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._look)
        self._timer.daemon = True
        self._timer.start()

    def _look(self) -> None:
        left = self._heard_at + self._seconds - time.monotonic()
        if self._cancelled:
            return
        if left > 0:
            self._start(left)
        else:
            self.ended = True
            self._end()


def _widen(pipe: IO[bytes]) -> None:
    """Let a pipe hold a whole result, so that a worker goes on while its parent is busy."""
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415  # POSIX only

        with suppress(OSError):  # the system grants each user so much and no more
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
