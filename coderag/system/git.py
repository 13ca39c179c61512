"""Safe git commands: nothing that an untrusted repository names is run."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

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
    data: bytes = b"",
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes] | None:
    """Run a git command in a directory; return None if git is unavailable or times out.

    Args:
        directory: Working directory; a ``git`` executable inside it is not run.
        arguments: Arguments of git.
        is_excluded: Predicate of environment variables to remove: at least those by which a git hook selects its repository.
        timeout_s: Time limit of the command.
        data: Standard input of the command.
        variables: Environment variables to set, such as the file of another staging area.

    Returns:
        The finished process; None if git is missing or unusable, or the time limit is exceeded.
    """
    git = shutil.which("git")
    if git is None or Path(git).resolve().is_relative_to(directory.resolve()):
        return None
    environment = {name: value for name, value in os.environ.items() if not is_excluded(name)}
    try:
        return subprocess.run(
            [git, *_SAFE_OPTIONS, *arguments],
            cwd=directory,
            env={**environment, **(variables or {}), **_SAFE_ENVIRONMENT},
            input=data,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


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
