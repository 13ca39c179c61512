"""Client of the writer process: starting it, sending tasks, detecting its end."""

import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Final, Protocol, cast

from coderag.errors import CodeRAGError, IngestionError
from coderag.schema.indexing import IndexProgress, IndexReport
from coderag.system.subprocesses import build_python_command, build_python_environment, describe_exit
from coderag.workspace.writer_messages import IndexTask, parse_reply, write_task

_COMMAND: Final = "from coderag.workspace.writer_process import main; main()"
_EXIT_TIMEOUT_S: Final = 5.0
_WINDOWS_FLAGS: Final = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(
    subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0
)


class WriterDiedError(IngestionError):
    """The process died during a task."""


class IndexTaskRunner(Protocol):
    """Runner of indexing tasks, one at a time."""

    @property
    def is_alive(self) -> bool:
        """Return whether it accepts tasks."""
        ...

    def run_task(self, task: IndexTask, progress: Callable[[IndexProgress], None]) -> IndexReport:
        """Run a task and return its report.

        Raises:
            WriterDiedError: It died meanwhile.
            CodeRAGError: The error of indexing.
        """
        ...

    def kill(self) -> None:
        """Kill it at once. May be called from any thread."""
        ...

    def close(self) -> None:
        """End it while idle; return when it has ended."""
        ...


class WriterProcess:
    """Process that indexes repositories. It ends with this process, even on a crash.

    Raises:
        IngestionError: The process cannot be started.
    """

    def __init__(self) -> None:
        try:
            self._process = subprocess.Popen(
                build_python_command(_COMMAND),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=build_python_environment(),
                creationflags=_WINDOWS_FLAGS,
            )
        except OSError as error:
            hint = "Close other programs, or index with `coderag index` while no service runs."
            raise IngestionError(f"the indexing process cannot be started: {error}", hint=hint) from error
        self._tasks = cast("IO[bytes]", self._process.stdin)
        self._replies = cast("IO[bytes]", self._process.stdout)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Return whether it is running."""
        return self._process.poll() is None

    def run_task(self, task: IndexTask, progress: Callable[[IndexProgress], None]) -> IndexReport:
        """Run a task and return its report.

        Args:
            progress: Called with its progress.

        Raises:
            WriterDiedError: The process died; the index is unchanged or has the new generation.
            CodeRAGError: The error of indexing.
        """
        try:
            write_task(self._tasks, task)
            while line := self._replies.readline():
                match parse_reply(line):
                    case IndexProgress() as step:
                        progress(step)
                    case IndexReport() as report:
                        return report
                    case CodeRAGError() as error:
                        raise error
        except (OSError, ValueError) as error:  # it is gone, or its last line is incomplete
            raise self._make_death_error(task) from error
        raise self._make_death_error(task)

    def kill(self) -> None:
        """Kill it at once. The index survives."""
        with suppress(OSError):
            self._process.kill()

    def close(self) -> None:
        """End it and wait."""
        with suppress(OSError):
            self._tasks.close()  # end of input
        try:
            self._process.wait(_EXIT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        self._replies.close()

    def _make_death_error(self, task: IndexTask) -> WriterDiedError:
        self.kill()
        ending = describe_exit(self._process.wait())
        hint = "The index is intact. Try again; if memory ran out, a smaller `ingestion.workers` needs less."
        return WriterDiedError(f"{task.root}: the indexing process died ({ending})", hint=hint)
