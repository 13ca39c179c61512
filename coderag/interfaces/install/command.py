"""The command that an agent is to start: the installed ``coderag``, by its absolute path."""

import os
import shutil
import sys
from pathlib import Path
from typing import Final

_SCRIPT_NAMES: Final = ("coderag.exe", "coderag") if os.name == "nt" else ("coderag",)


def find_server_command() -> list[str]:
    """Return the command and its arguments.

    The script beside this interpreter comes first, then the one on the path, then the interpreter with the module, which
    is told to import nothing from the folder that it is started in.
    """
    folder = Path(sys.executable).absolute().parent
    sibling = next((folder / name for name in _SCRIPT_NAMES if (folder / name).is_file()), None)
    script = str(sibling) if sibling else shutil.which("coderag")
    start = [str(Path(script).absolute())] if script else [str(Path(sys.executable).absolute()), "-P", "-m", "coderag"]
    return [*start, "mcp"]
