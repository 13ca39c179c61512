"""Processes of our own that run a part of CodeRAG: how each is started, and how it ended. Imports nothing slow."""

import os
import sys
from contextlib import suppress
from pathlib import Path


def build_python_command(code: str) -> list[str]:
    """Return the command that runs some code of CodeRAG with this Python."""
    # -P: the folder we are called in may be a repository, which must not be imported from.
    return [sys.executable, "-P", "-c", code]


def build_python_environment(**variables: str) -> dict[str, str]:
    """Return the environment of a process that imports from where this one does; `more` are further variables."""
    paths = [path for path in sys.path if path and Path(path).is_absolute()]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables}


def describe_exit(code: int) -> str:
    """Return how a process ended, by its exit code: as the name of the signal that ended it, or ``exit code 1``."""
    if sys.platform != "win32" and code < 0:
        import signal  # noqa: PLC0415  # seldom needed

        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"
