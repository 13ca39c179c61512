"""`coderag mcp` as a program, with a fault in it: ``python driven_mcp.py FAULT [ARGUMENTS OF THE COMMAND]``.

``none``: as it is. ``broken``: parts of the installation are missing. ``noisy``: the server is a small one which, like what it
imports, prints to standard output in every way there is. ``crashing``: that server's tool ends its thread's session.
"""

import atexit
import importlib.abc
import importlib.util
import os
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

SERVER = "coderag.interfaces.mcp.server"


def main() -> None:
    fault = sys.argv.pop(1)
    if fault == "broken":
        sys.meta_path.insert(0, Missing())
    elif fault != "none":
        sys.meta_path.insert(0, Replaced())
    if fault == "noisy":
        atexit.register(make_noise)
    from coderag.interfaces.cli.main import run

    run()


def make_noise() -> None:
    print("noise of print")  # noqa: T201  # the fault itself
    sys.stdout.flush()
    os.write(1, b"noise of a descriptor\n")
    subprocess.run([sys.executable, "-c", "print('noise of a child')"], check=True)
    warnings.warn("noise of a warning", stacklevel=1)


class Missing(importlib.abc.MetaPathFinder):
    """Nothing of what the server needs is installed."""

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> None:
        if name.partition(".")[0] in ("mcp", "mcp_types", "pydantic", "numpy", "anyio"):
            raise ImportError(f"{name} is missing")


class Replaced(importlib.abc.MetaPathFinder):
    """The server is the one of this file's folder."""

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> Any:
        if name == SERVER:
            make_noise()
            return importlib.util.spec_from_file_location(name, Path(__file__).with_name("small_server.py"))
        return None


if __name__ == "__main__":
    main()
