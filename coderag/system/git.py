"""Safe git commands: nothing that an untrusted repository names is run."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

_SAFE_OPTIONS: Final = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.pager=cat")
"""Override commands that a repository's configuration may name."""

_SAFE_ENVIRONMENT: Final = {
    "GIT_ALLOW_PROTOCOL": "none",  # a missing object would be fetched by a command from the configuration
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
"""Prevent git from fetching, prompting and writing."""

_TIMEOUT_S: Final = 10


def run_git_command(
    directory: Path,
    arguments: Sequence[str],
    *,
    is_excluded: Callable[[str], object],
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    protocols: Sequence[str] = (),
) -> subprocess.CompletedProcess[bytes] | None:
    """Run a git command in a directory; return None if git is unavailable or times out.

    Args:
        directory: Working directory; a ``git`` executable inside it is not run.
        arguments: Arguments of git.
        is_excluded: Predicate of environment variables to remove: at least those by which a git hook selects its repository.
        timeout_s: Time limit of the command.
        environment: Further variables.
        stdin: Its input; by default none.
        protocols: Protocols by which it may fetch from an address that this user has given, such as https; by default none.

    Returns:
        The finished process; None if git is missing or unusable, or the time limit is exceeded.
    """
    git = find_git(directory)
    if git is None:
        return None
    try:
        return subprocess.run(
            [git, *_SAFE_OPTIONS, *arguments],
            cwd=directory,
            env={**_build_environment(is_excluded, environment), "GIT_ALLOW_PROTOCOL": ":".join(protocols) or "none"},
            stdin=subprocess.DEVNULL if stdin is None else None,
            input=stdin,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def find_git(directory: Path) -> str | None:
    """Return the ``git`` executable, unless it lies inside a directory."""
    git = shutil.which("git")
    return None if git is None or Path(git).resolve().is_relative_to(directory.resolve()) else git


@dataclass(slots=True)
class GitProcess:
    """A running git command.

    Attributes:
        stdin: Its input; None unless requested.
        returncode: Exit code, once it has ended by itself; None before that, and if it was ended early.
        error: Its error messages, once it has ended.
    """

    stdin: IO[bytes] | None
    stdout: IO[bytes]
    returncode: int | None = None
    error: str = ""


@contextmanager
def open_git_process(
    directory: Path,
    arguments: Sequence[str],
    *,
    is_excluded: Callable[[str], object],
    environment: Mapping[str, str] | None = None,
    has_input: bool = False,
    stdin: bytes | None = None,
) -> Iterator[GitProcess | None]:
    """Run a git command whose output is read as it comes; yield None if git is unavailable. It ends with the block.

    Args:
        directory: Working directory; a ``git`` executable inside it is not run.
        arguments: Arguments of git.
        is_excluded: See `run_git_command`.
        environment: Further variables.
        has_input: Whether its standard input is a pipe.
        stdin: Its complete input, instead.
    """
    git = find_git(directory)
    if git is None:
        yield None
        return
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as source:
        if stdin is not None:
            source.write(stdin)
            source.seek(0)
        try:
            process = subprocess.Popen(
                [git, *_SAFE_OPTIONS, *arguments],
                cwd=directory,
                env=_build_environment(is_excluded, environment),
                stdin=subprocess.PIPE if has_input else source if stdin is not None else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        except OSError:
            yield None
            return
        assert process.stdout is not None
        running = GitProcess(process.stdin, process.stdout)
        is_complete = False
        try:
            yield running
            is_complete = not process.stdout.read(1)
        finally:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            if not is_complete:
                process.kill()
            code = process.wait()
            running.returncode = code if is_complete else None
            errors.seek(0)
            running.error = os.fsdecode(errors.read()).strip()


def start_git(  # noqa: PLR0913  # each is one of `Popen` or of `run_git_command`
    directory: Path,
    arguments: Sequence[str],
    *,
    is_excluded: Callable[[str], object],
    environment: Mapping[str, str],
    protocols: Sequence[str] = (),
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stdout: IO[bytes] | int = subprocess.DEVNULL,
    descriptors: Sequence[int] = (),
) -> "subprocess.Popen[bytes] | None":
    """Start a git command in a process group of its own, with a pipe for its messages; None if git is unavailable.

    Args:
        directory: Working directory; a ``git`` executable inside it is not run.
        arguments: Arguments of git.
        is_excluded: See `run_git_command`.
        environment: Further variables.
        protocols: Protocols by which it may fetch; by default none.
        stdin: Its input.
        stdout: Its output.
        descriptors: Descriptors that it inherits; not on Windows.
    """
    git = find_git(directory)
    if git is None:
        return None
    variables = _build_environment(is_excluded, environment)
    try:
        return subprocess.Popen(
            [git, *_SAFE_OPTIONS, *arguments],
            cwd=directory,
            env={**variables, "GIT_ALLOW_PROTOCOL": ":".join(protocols) or "none"},
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            pass_fds=descriptors if os.name == "posix" else (),
            start_new_session=True,
        )
    except OSError:
        return None


def _build_environment(is_excluded: Callable[[str], object], added: Mapping[str, str] | None) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if not is_excluded(name)}
    return {**environment, **(added or {}), **_SAFE_ENVIRONMENT}


def is_tracked(directory: Path, paths: Sequence[str]) -> bool:
    """Return whether git tracks any of the paths of a directory; False without git.

    Args:
        directory: Working directory.
        paths: Git pathspecs, relative to the directory.
    """
    arguments = ["ls-files", "-z", "--", *paths]
    result = run_git_command(
        directory, arguments, is_excluded=lambda name: name.startswith("GIT_"), timeout_s=_TIMEOUT_S
    )
    return result is not None and bool(result.stdout)
