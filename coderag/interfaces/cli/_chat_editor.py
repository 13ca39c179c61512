"""Open a file at a line in the editor of the environment."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Final

from coderag.errors import ConfigurationError

_GOTO: Final = frozenset({"code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"})
_COLON: Final = frozenset({"subl", "zed", "zeditor", "hx", "helix"})
_PLUS: Final = frozenset(
    {"vi", "vim", "nvim", "gvim", "nano", "pico", "emacs", "emacsclient", "micro", "kak", "joe", "mg", "ne", "gedit"}
)
_LINE: Final = frozenset(
    {"idea", "pycharm", "webstorm", "goland", "clion", "rider", "rubymine", "phpstorm", "kate", "mate", "xed"}
)


def editor_of(environment: Mapping[str, str]) -> Sequence[str]:
    """Return the editor's command and its arguments.

    Raises:
        ConfigurationError: None is set, or it cannot be found.
    """
    text = environment.get("VISUAL") or environment.get("EDITOR") or ""
    try:
        command = shlex.split(text, posix=os.name != "nt")
    except ValueError as error:
        raise ConfigurationError(f"the editor {text!r} cannot be read: {error}") from error
    if not command:
        raise ConfigurationError("no editor is set", hint="Set VISUAL or EDITOR, such as EDITOR='code'.")
    program = shutil.which(command[0].strip('"'))
    if program is None:
        raise ConfigurationError(f"the editor {command[0]!r} is not there", hint="Set VISUAL or EDITOR to another.")
    return [program, *command[1:]]


def opening(editor: Sequence[str], file: Path, line: int) -> Sequence[str]:
    """Return the command that opens a file at a line; an editor that is not known opens the file."""
    name = PurePath(editor[0]).stem.lower()
    if name in _GOTO:
        return [*editor, "--goto", f"{file}:{line}"]
    if name in _COLON:
        return [*editor, f"{file}:{line}"]
    if name in _PLUS:
        return [*editor, f"+{line}", str(file)]
    if name in _LINE:
        return [*editor, "--line", str(line), str(file)]
    return [*editor, str(file)]


def open_in_editor(file: Path, line: int) -> None:
    """Open a file, and wait until an editor in this terminal is left.

    Raises:
        ConfigurationError: No editor is set, or it cannot be started.
    """
    command = opening(editor_of(os.environ), file, line)
    try:
        done = subprocess.run(command, check=False)
    except OSError as error:
        raise ConfigurationError(f"{command[0]} cannot be started: {error.strerror or error}") from error
    if done.returncode:
        raise ConfigurationError(f"{command[0]} ended with {done.returncode}")
