"""Python subprocesses that run parts of CodeRAG: command, environment, exit. Imports nothing slow."""

import os
import sys
from contextlib import suppress
from pathlib import Path


def build_python_command(code: str) -> list[str]:
    """Build the command that runs code of CodeRAG with this Python."""
    # -P: the working directory may be a repository, which must not be imported from.
    return [sys.executable, "-P", "-c", code]


def build_python_environment(**variables: str) -> dict[str, str]:
    """Build the environment of a process with the same import path; `variables` are added."""
    paths = [path for path in sys.path if path and Path(path).is_absolute()]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables}


def describe_exit(code: int) -> str:
    """Describe how a process ended: the name of the signal that killed it, or ``exit code 1``."""
    if sys.platform != "win32" and code < 0:
        import signal  # noqa: PLC0415  # seldom needed

        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"
