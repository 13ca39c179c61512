"""Git commands of a mirror, limited in time and size; they end with this process."""

import functools
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from coderag.errors import ConfigurationError, GitFetchError, GitUnavailableError
from coderag.server.repositories.git_access import GitAccess, is_excluded_variable
from coderag.system.git import run_git_command, start_git
from coderag.system.git_failures import translate_failure

ProgressCallback = Callable[[Mapping[str, int | str]], None]
"""Takes the progress of a job; raises to stop it."""

_POLL_S: Final = 0.1
_LOCAL_S: Final = 3_600.0
_MAX_ERROR_BYTES: Final = 8_192
_MAX_OUTPUT_BYTES: Final = 1 << 30
_MIN_VERSION: Final = (2, 37)  # of http.curloptResolve
_PROGRESS: Final = re.compile(rb"(Receiving|Resolving|Counting|Compressing) [a-z]+: +\d+% \((\d+)/(\d+)\)")


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of a git command.

    Attributes:
        timeout_s: Seconds that it may take.
        folders: Folders that it fills.
        max_bytes: Bytes that these folders may hold together; 0 for no limit.
    """

    timeout_s: float = _LOCAL_S
    folders: Sequence[Path] = ()
    max_bytes: int = 0


_NO_LIMITS: Final = RunLimits()


def _ignore_progress(progress: Mapping[str, int | str]) -> None:
    del progress


@dataclass(frozen=True, slots=True)
class GitRunner:
    """Runs git commands with the same lock.

    Attributes:
        descriptors: Descriptors of locks that the commands inherit: a command that outlives this process keeps the lock.
        check: Called several times a second; raises to stop the command.
        report: Called with the progress of a fetch.
    """

    descriptors: Sequence[int] = ()
    check: Callable[[], None] = lambda: None
    report: ProgressCallback = field(default=_ignore_progress)

    @contextmanager
    def open_output(
        self,
        directory: Path,
        arguments: Sequence[str],
        *,
        access: GitAccess | None = None,
        variables: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        limits: RunLimits = _NO_LIMITS,
    ) -> Iterator[IO[bytes]]:
        """Run a command to its end and yield its output as a file.

        Args:
            directory: Working directory.
            arguments: Arguments of git.
            access: Access to a git server.
            variables: Further variables.
            stdin: Its input.
            limits: Its limits.

        Raises:
            GitFetchError: It failed, or exceeded the limit of size.
            GitUnavailableError: It took too long, or its git server does not answer.
            ConfigurationError: There is no git.
        """
        access = access or GitAccess()
        environment = {**access.build_environment(), **(variables or {})}
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as source:
            source.write(stdin)
            source.seek(0)
            process = start_git(
                directory,
                arguments,
                is_excluded=is_excluded_variable,
                environment=environment,
                protocols=access.protocols,
                stdin=source,
                stdout=output,
                descriptors=self.descriptors,
            )
            if process is None:
                raise ConfigurationError("git is not installed", hint="Install git.")
            messages = _Messages(process)
            try:
                self._wait(process, messages, output, limits)
            finally:
                _end(process)
                messages.close()
            if process.returncode != 0:
                raise translate_failure(arguments, messages.text)
            output.seek(0)
            yield output

    def run(
        self,
        directory: Path,
        arguments: Sequence[str],
        *,
        access: GitAccess | None = None,
        variables: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        limits: RunLimits = _NO_LIMITS,
    ) -> bytes:
        """Run a command and return its output. Arguments and errors as of `open_output`."""
        with self.open_output(
            directory, arguments, access=access, variables=variables, stdin=stdin, limits=limits
        ) as output:
            return output.read()

    def _wait(
        self, process: "subprocess.Popen[bytes]", messages: "_Messages", output: IO[bytes], limits: RunLimits
    ) -> None:
        end = time.monotonic() + limits.timeout_s
        is_running = True
        while is_running:
            try:
                process.wait(_POLL_S)
                is_running = False
            except subprocess.TimeoutExpired:
                pass
            self.check()
            if progress := messages.take_progress():
                self.report(progress)
            if limits.max_bytes and sum(map(measure_folder, limits.folders)) > limits.max_bytes:
                megabytes = limits.max_bytes // 1_000_000
                message = f"the repository is larger than the limit of {megabytes:,} megabytes"
                raise GitFetchError(message, hint="An operator can raise repositories.max_megabytes.")
            if os.fstat(output.fileno()).st_size > _MAX_OUTPUT_BYTES:
                raise GitFetchError("the repository lists more files than can be taken", hint="It may be a trap.")
            if is_running and time.monotonic() > end:
                message = f"git did not finish within {limits.timeout_s:g} s"
                raise GitUnavailableError(message, hint="An operator can raise repositories.fetch_s.")


class _Messages:
    """Messages of a running command, read by a thread so that it never blocks on them."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stderr is not None
        self._pipe = process.stderr
        self._tail = b""
        self._progress: dict[str, int | str] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._read, name="git-messages", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            while block := os.read(self._pipe.fileno(), 4096):
                with self._lock:
                    self._tail = (self._tail + block)[-_MAX_ERROR_BYTES:]
                    for match in _PROGRESS.finditer(self._tail):
                        phase = "receiving" if match[1] == b"Receiving" else "preparing"
                        self._progress = {"phase": phase, "done": int(match[2]), "total": int(match[3])}

    def take_progress(self) -> dict[str, int | str]:
        """Return the progress since the last call; empty if there is none."""
        with self._lock:
            progress, self._progress = self._progress, {}
        return progress

    @property
    def text(self) -> str:
        """Last messages."""
        return self._tail.decode("utf-8", "replace")

    def close(self) -> None:
        """Stop reading."""
        self._thread.join(5.0)  # a process that left the group may keep the pipe open
        if not self._thread.is_alive():
            self._pipe.close()


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a command and the programs that it started."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()
    process.wait()


def measure_folder(folder: Path) -> int:
    """Return the bytes of the files below a folder; files that go meanwhile are not counted."""
    total = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    total += measure_folder(Path(entry.path))
                else:
                    total += entry.stat(follow_symlinks=False).st_size
    return total


@functools.cache
def check_git_version() -> None:
    """Check that git can be held to the addresses that were checked.

    Raises:
        ConfigurationError: There is no git, or it is too old.
    """
    result = run_git_command(Path(tempfile.gettempdir()), ["version"], is_excluded=is_excluded_variable, timeout_s=10)
    match = re.search(rb"(\d+)\.(\d+)", result.stdout) if result is not None else None
    needed = ".".join(map(str, _MIN_VERSION))
    if match is None:
        raise ConfigurationError("git is not installed", hint=f"Install git {needed} or newer.")
    if (int(match[1]), int(match[2])) < _MIN_VERSION:
        raise ConfigurationError(f"git {match[0].decode()} is too old", hint=f"Install git {needed} or newer.")
