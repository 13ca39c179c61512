"""Confirmation prompts, and suppression of typed input while output is printed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from coderag.errors import InvalidQueryError


def can_prompt() -> bool:
    """Return whether standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def confirm(question: str, *, default: bool = False) -> bool:
    """Ask for confirmation on standard error; Ctrl-C and end of input mean no.

    Raises:
        InvalidQueryError: Standard input is not a terminal.
    """
    if not can_prompt():
        raise InvalidQueryError("cannot prompt: stdin is not a terminal", hint="Confirm with --yes.")
    try:
        return typer.confirm(question, default=default, err=True)
    except typer.Abort:
        typer.echo(err=True)
        return False


@contextmanager
def suppress_typing() -> Iterator[None]:
    """Discard typed input in this context: it would appear amid the output, and each line would become a question."""
    try:
        import termios
    except ImportError:  # Windows
        yield
        return
    descriptor = sys.stdin.fileno()
    saved = termios.tcgetattr(descriptor)
    quiet = [*saved]
    quiet[3] = saved[3] & ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSAFLUSH, saved)
