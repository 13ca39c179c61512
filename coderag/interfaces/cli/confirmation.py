"""What a person types, but for questions: yes or no, and nothing while an answer is printed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from coderag.errors import InvalidQueryError


def can_prompt() -> bool:
    """Whether somebody is there to be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


def confirm(question: str, *, default: bool = False) -> bool:
    """Ask a person, on standard error; Ctrl-C and the end of the input are a no.

    Raises:
        InvalidQueryError: Nobody can be asked.
    """
    if not can_prompt():
        raise InvalidQueryError("nobody can be asked: standard input is no terminal", hint="Agree with --yes.")
    try:
        return typer.confirm(question, default=default, err=True)
    except typer.Abort:
        typer.echo(err=True)
        return False


@contextmanager
def suppress_typing() -> Iterator[None]:
    """Drop what is typed while an answer is printed: it would show in the middle of it, and each line be a question."""
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
