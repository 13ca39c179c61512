"""The server command for agents: absolute path of the installed ``coderag``."""

import os
import shutil
import sys
from pathlib import Path
from typing import Final

_SCRIPT_NAMES: Final = ("coderag.exe", "coderag") if os.name == "nt" else ("coderag",)


def find_server_command() -> list[str]:
    """Return the server command with its arguments.

    Candidates in order: the script next to this interpreter, the one on PATH, ``python -P -m coderag``. With ``-P`` nothing is
    imported from the current folder.
    """
    folder = Path(sys.executable).absolute().parent
    sibling = next((folder / name for name in _SCRIPT_NAMES if (folder / name).is_file()), None)
    script = str(sibling) if sibling else shutil.which("coderag")
    start = [str(Path(script).absolute())] if script else [str(Path(sys.executable).absolute()), "-P", "-m", "coderag"]
    return [*start, "mcp"]
