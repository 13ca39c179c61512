"""The command that an agent is to start: the installed ``coderag``, by its absolute path."""

import os
import shutil
import sys
from pathlib import Path
from typing import Final

_NAMES: Final = ("coderag.exe", "coderag") if os.name == "nt" else ("coderag",)


def server_command() -> list[str]:
    """Return the command and its arguments.

    The script beside this interpreter comes first, then the one on the path, then the interpreter with the module, which
    is told to import nothing from the folder that it is started in.
    """
    folder = Path(sys.executable).absolute().parent
    beside = next((folder / name for name in _NAMES if (folder / name).is_file()), None)
    found = str(beside) if beside else shutil.which("coderag")
    start = [str(Path(found).absolute())] if found else [str(Path(sys.executable).absolute()), "-P", "-m", "coderag"]
    return [*start, "mcp"]
