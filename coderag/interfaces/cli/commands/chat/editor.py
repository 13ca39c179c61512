"""Opening files in the user's editor."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Final

from coderag.errors import ConfigurationError

_GOTO_EDITORS: Final = frozenset({"code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"})
_COLON_EDITORS: Final = frozenset({"subl", "zed", "zeditor", "hx", "helix"})
_PLUS_EDITORS: Final = frozenset(
    {"vi", "vim", "nvim", "gvim", "nano", "pico", "emacs", "emacsclient", "micro", "kak", "joe", "mg", "ne", "gedit"}
)
_LINE_OPTION_EDITORS: Final = frozenset(
    {"idea", "pycharm", "webstorm", "goland", "clion", "rider", "rubymine", "phpstorm", "kate", "mate", "xed"}
)


def find_editor(environment: Mapping[str, str]) -> Sequence[str]:
    """Return the editor command of the environment, with its arguments.

    Raises:
        ConfigurationError: No editor is set, or it cannot be found.
    """
    text = environment.get("VISUAL") or environment.get("EDITOR") or ""
    try:
        command = shlex.split(text, posix=os.name != "nt")
    except ValueError as error:
        raise ConfigurationError(f"invalid editor command {text!r}: {error}") from error
    if not command:
        raise ConfigurationError("no editor is set", hint="Set VISUAL or EDITOR, such as EDITOR='code'.")
    program = shutil.which(command[0].strip('"'))
    if program is None:
        raise ConfigurationError(f"the editor {command[0]!r} is not installed", hint="Set VISUAL or EDITOR to another.")
    return [program, *command[1:]]


def build_command(editor: Sequence[str], file: Path, line: int) -> Sequence[str]:
    """Build the command that opens a file at a line; unknown editors open the file only."""
    name = PurePath(editor[0]).stem.lower()
    if name in _GOTO_EDITORS:
        return [*editor, "--goto", f"{file}:{line}"]
    if name in _COLON_EDITORS:
        return [*editor, f"{file}:{line}"]
    if name in _PLUS_EDITORS:
        return [*editor, f"+{line}", str(file)]
    if name in _LINE_OPTION_EDITORS:
        return [*editor, "--line", str(line), str(file)]
    return [*editor, str(file)]


def open_in_editor(file: Path, line: int) -> None:
    """Open a file at a line, and wait until a terminal editor exits.

    Raises:
        ConfigurationError: No editor is set, or it cannot be started.
    """
    command = build_command(find_editor(os.environ), file, line)
    try:
        result = subprocess.run(command, check=False)
    except OSError as error:
        raise ConfigurationError(f"{command[0]} cannot be started: {error.strerror or error}") from error
    if result.returncode:
        raise ConfigurationError(f"{command[0]} ended with {result.returncode}")
