"""Parsing of typed locations such as ``path:10-42``."""

import re
import shlex
from collections.abc import Sequence
from typing import Final

from coderag.errors import InvalidQueryError

_LOCATION: Final = re.compile(r"(?P<path>.+?)(?::(?P<start>\d{1,9})(?:-(?P<end>\d{1,9}))?)?", re.DOTALL)
_MAX_LINE: Final = 10**9


def parse_location(text: str) -> tuple[str, int, int]:
    """Parse ``path``, ``path:10`` or ``path:10-42`` to path, first and last line.

    Raises:
        InvalidQueryError: The text is not a location.
    """
    match = _LOCATION.fullmatch(text.strip())
    if match is None:
        raise InvalidQueryError("the location is empty", hint="Give one such as src/app.py:10-42.")
    start = int(match["start"] or 1)
    end = int(match["end"] or match["start"] or _MAX_LINE)
    if not 1 <= start <= end:
        raise InvalidQueryError(f"{text} has an invalid line range: lines start at 1, first before last")
    return match["path"], start, end


def parse_location_paths(locations: Sequence[str]) -> list[str]:
    """Return the path of each location.

    Raises:
        InvalidQueryError: A location is invalid, or a single text is given instead of a list.
    """
    if isinstance(locations, str):
        raise InvalidQueryError(f"locations must be a list, not {locations!r}", hint=f"Pass [{locations!r}].")
    return [parse_location(location)[0] for location in locations]


def format_fetch_command(path: str, start_line: int, end_line: int) -> str:
    """Format the command that shows some lines."""
    return f"coderag context --file {shlex.quote(f'{path}:{start_line}-{end_line}')}"
