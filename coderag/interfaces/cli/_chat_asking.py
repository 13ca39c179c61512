"""What a person types, but for questions: yes or no, and nothing while an answer is printed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from coderag.errors import InvalidQueryError


def can_ask() -> bool:
    """Whether somebody is there to be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


def agrees(question: str, *, default: bool = False) -> bool:
    """Ask a person, on standard error; Ctrl-C and the end of the input are a no.

    Raises:
        InvalidQueryError: Nobody can be asked.
    """
    if not can_ask():
        raise InvalidQueryError("nobody can be asked: standard input is no terminal", hint="Agree with --yes.")
    try:
        return typer.confirm(question, default=default, err=True)
    except typer.Abort:
        typer.echo(err=True)
        return False


@contextmanager
def no_typing() -> Iterator[None]:
    """Drop what is typed while an answer is printed: it would show in the middle of it, and each line be a question."""
    try:
        import termios
    except ImportError:  # Windows
        yield
        return
    stream = sys.stdin.fileno()
    before = termios.tcgetattr(stream)
    quiet = [*before]
    quiet[3] = before[3] & ~termios.ECHO
    termios.tcsetattr(stream, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(stream, termios.TCSAFLUSH, before)
