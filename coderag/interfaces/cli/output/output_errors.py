"""Errors of writing to standard output."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


class ReaderGoneError(Exception):
    """Whoever reads standard output has stopped, as ``head`` does. No fault."""


class OutputError(Exception):
    """Standard output cannot be written."""
