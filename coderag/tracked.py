"""Ask git whether it tracks something, so that it came with the repository. Nothing that the repository names is run."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

SAFE_OPTIONS: Final = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.pager=cat")
"""Options of git that take the place of commands which a repository's own configuration may name."""

_TIMEOUT_S: Final = 10
SAFE_VARIABLES: Final = {
    "GIT_ALLOW_PROTOCOL": "none",  # a missing object would be fetched, by a command that the configuration names
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
"""Variables of git that keep it from fetching, from asking, and from writing."""


def _environment() -> dict[str, str]:
    """Return the environment for git: nothing in it, such as a hook sets, says which repository is meant."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, **SAFE_VARIABLES}


def is_tracked(directory: Path, paths: Sequence[str]) -> bool:
    """Whether git tracks anything at some paths of a directory; no where there is no git, or none that can be used.

    Args:
        directory: Where git is asked.
        paths: Path specifications of git's, seen from there.
    """
    git = shutil.which("git")
    if git is None or Path(git).resolve().is_relative_to(directory.resolve()):
        return False
    command = [git, *SAFE_OPTIONS, "ls-files", "-z", "--", *paths]
    try:
        found = subprocess.run(
            command,
            cwd=directory,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return bool(found.stdout)
