"""Places in files as they are typed: ``path:10-42``."""

import re
import shlex
from collections.abc import Sequence
from typing import Final

from coderag.errors import InvalidQueryError

_LOCATION: Final = re.compile(r"(?P<path>.+?)(?::(?P<start>\d{1,9})(?:-(?P<end>\d{1,9}))?)?", re.DOTALL)
_MAX_LINE: Final = 10**9


def parse_location(text: str) -> tuple[str, int, int]:
    """Return path, first and last line of ``path``, ``path:10`` or ``path:10-42``.

    Raises:
        InvalidQueryError: It is none.
    """
    match = _LOCATION.fullmatch(text.strip())
    if match is None:
        raise InvalidQueryError("no place is given", hint="Give one as src/app.py:10-42.")
    start = int(match["start"] or 1)
    end = int(match["end"] or match["start"] or _MAX_LINE)
    if not 1 <= start <= end:
        raise InvalidQueryError(f"{text} has no lines: they are counted from 1, the first before the last")
    return match["path"], start, end


def parse_location_paths(locations: Sequence[str]) -> list[str]:
    """Return the path of each place.

    Raises:
        InvalidQueryError: One of them is none; or they are one text, whose characters would be taken for places.
    """
    if isinstance(locations, str):
        raise InvalidQueryError(f"the places are a list, not {locations!r}", hint=f"Give [{locations!r}].")
    return [parse_location(location)[0] for location in locations]


def format_fetch_command(path: str, start_line: int, end_line: int) -> str:
    """Return the command that shows some lines."""
    return f"coderag context --file {shlex.quote(f'{path}:{start_line}-{end_line}')}"
