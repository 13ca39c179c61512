"""Standard output for results, standard error for everything else. Imports nothing slow."""

import errno
import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from coderag.interfaces.json_values import to_mapping, to_plain

if TYPE_CHECKING:
    from rich.console import Console
from coderag.interfaces.cli.output.output_errors import OutputError, ReaderGoneError

_HARMFUL_CHARS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)
"""Control characters except tab and newline, marks of direction, other ends of lines, invisible characters, and lone
surrogates. Joiners of letters and emoji are kept."""


_LINE_END = re.compile(r"\r+(?=\n|\Z)")


def escape_controls(text: str) -> str:
    r"""Escape harmful characters (``\x1b``), so that repository text cannot control the terminal.

    Carriage returns at line ends are dropped, as in files with ``\r\n``.
    """
    return _escape(_LINE_END.sub("", text))


def escape_line(text: str) -> str:
    """Escape harmful characters and newlines, as in paths: file names may contain newlines."""
    return _escape(text).replace("\n", "\\n")


def escape_json(text: str) -> str:
    r"""Escape harmful characters in JSON text (``\u202e``); it stays the same value."""
    return _HARMFUL_CHARS.sub(lambda match: json.dumps(match[0])[1:-1], text)


def _escape(text: str) -> str:
    return _HARMFUL_CHARS.sub(lambda match: ascii(match[0])[1:-1], text)


def _dump_json(value: Mapping[str, object], indent: int | None) -> str:
    ascii_only = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
    return escape_json(json.dumps(value, default=to_plain, indent=indent, ensure_ascii=ascii_only, allow_nan=False))


def set_encodings() -> None:
    """Replace unencodable characters by ``?`` instead of failing; on Windows write UTF-8."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller, as with ``>&-``
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  # open for the life of the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            with suppress(OSError, ValueError):
                # A pipe on Windows has the ANSI code page by default.
                encoding = "utf-8" if os.name == "nt" and "PYTHONIOENCODING" not in os.environ else None
                stream.reconfigure(encoding=encoding, errors="replace")


def discard_stdout() -> None:
    """Discard buffered standard output, so that the interpreter's last flush does not fail."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _make_output_error(error: OSError) -> Exception:
    is_closed = error.errno == errno.EPIPE or (os.name == "nt" and error.errno == errno.EINVAL)
    return ReaderGoneError() if is_closed else OutputError(f"the output cannot be written: {error.strerror or error}")


def flush_stdout() -> None:
    """Flush text that Typer printed.

    Raises:
        ReaderGoneError: The reader has closed it.
        OutputError: It cannot be written.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        raise _make_output_error(error) from error


@dataclass(frozen=True, slots=True)
class Output:
    """Output streams of a command.

    Attributes:
        as_json: Write results and errors as JSON; notes then go to a terminal only.
    """

    as_json: bool = False

    @property
    def is_terminal(self) -> bool:
        """True if results go to a terminal as text."""
        return not self.as_json and sys.stdout.isatty()

    def write(self, text: str) -> None:
        """Write a part of the result verbatim, adding a final newline.

        Raises:
            ReaderGoneError: The reader has closed it.
            OutputError: It cannot be written.
        """
        try:
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
            sys.stdout.flush()
        except OSError as error:
            raise _make_output_error(error) from error

    def write_json(self, result: object, **extra: object) -> None:
        """Write a dataclass or mapping as one JSON object; `extra` adds keys."""
        self.write(_dump_json({**to_mapping(result), **extra}, indent=2))

    def write_json_line(self, result: object) -> None:
        """Write a dataclass or mapping as a JSON object on one line."""
        self.write(_dump_json(to_mapping(result), indent=None))

    def note(self, text: str) -> None:
        """Write a note for the user on standard error."""
        if not self.as_json or sys.stderr.isatty():
            with suppress(OSError):
                sys.stderr.write(escape_controls(text) + "\n")

    def make_console(self) -> "Console":
        """Return a Rich console on standard output."""
        from coderag.interfaces.cli.output.console import ResultConsole

        return ResultConsole()

    def show_status(self, activity: str) -> AbstractContextManager[object]:
        """Show a spinner on standard error during the context, if it is a terminal."""
        if not sys.stderr.isatty():
            return nullcontext()
        from coderag.interfaces.cli.output.console import SideConsole

        return SideConsole().status(f"{activity} ...", spinner="line")
