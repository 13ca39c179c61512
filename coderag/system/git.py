"""Ask git, also in a repository that is not trusted: nothing that the repository names is run."""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

_SAFE_OPTIONS: Final = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.pager=cat")
"""They take the place of commands which a repository's own configuration may name."""

_SAFE_ENVIRONMENT: Final = {
    "GIT_ALLOW_PROTOCOL": "none",  # a missing object would be fetched, by a command that the configuration names
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
"""They keep git from fetching, from asking, and from writing."""

_TIMEOUT_S: Final = 10


def run_git_command(
    directory: Path, arguments: Sequence[str], *, is_excluded: Callable[[str], object], timeout_s: float
) -> subprocess.CompletedProcess[bytes] | None:
    """Return what a git command in a directory said and how it ended.

    Args:
        directory: Where git is asked; a ``git`` inside of it is not run.
        arguments: Of git.
        without: Whether a variable of the environment is kept from git: at least those which a git hook sets to say
            which repository is meant.
        timeout_s: When git is given up.

    Returns:
        None if there is no git, or none that can be used, or the time is over.
    """
    git = shutil.which("git")
    if git is None or Path(git).resolve().is_relative_to(directory.resolve()):
        return None
    environment = {name: value for name, value in os.environ.items() if not is_excluded(name)}
    try:
        return subprocess.run(
            [git, *_SAFE_OPTIONS, *arguments],
            cwd=directory,
            env={**environment, **_SAFE_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def is_tracked(directory: Path, paths: Sequence[str]) -> bool:
    """Return whether git tracks anything at some paths of a directory, so that it came with the repository; no without git.

    Args:
        directory: Where git is asked.
        paths: Path specifications of git's, seen from there.
    """
    arguments = ["ls-files", "-z", "--", *paths]
    result = run_git_command(
        directory, arguments, is_excluded=lambda name: name.startswith("GIT_"), timeout_s=_TIMEOUT_S
    )
    return result is not None and bool(result.stdout)
