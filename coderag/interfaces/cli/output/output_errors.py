"""Errors of writing to standard output."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


class ReaderGoneError(Exception):
    """The reader of standard output has closed it, as ``head`` does. Not an error."""


class OutputError(Exception):
    """Standard output is not writable."""
