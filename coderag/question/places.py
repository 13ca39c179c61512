"""Places in files as they are typed: ``path:10-42``."""

import re
import shlex
from collections.abc import Sequence
from typing import Final

from coderag.errors import InvalidQueryError

_PLACE: Final = re.compile(r"(?P<path>.+?)(?::(?P<start>\d{1,9})(?:-(?P<end>\d{1,9}))?)?", re.DOTALL)
_LAST: Final = 10**9


def parse_place(text: str) -> tuple[str, int, int]:
    """Return path, first and last line of ``path``, ``path:10`` or ``path:10-42``.

    Raises:
        InvalidQueryError: It is none.
    """
    found = _PLACE.fullmatch(text.strip())
    if found is None:
        raise InvalidQueryError("no place is given", hint="Give one as src/app.py:10-42.")
    start = int(found["start"] or 1)
    end = int(found["end"] or found["start"] or _LAST)
    if not 1 <= start <= end:
        raise InvalidQueryError(f"{text} has no lines: they are counted from 1, the first before the last")
    return found["path"], start, end


def paths_of_places(places: Sequence[str]) -> list[str]:
    """Return the path of each place.

    Raises:
        InvalidQueryError: One of them is none; or they are one text, whose characters would be taken for places.
    """
    if isinstance(places, str):
        raise InvalidQueryError(f"the places are a list, not {places!r}", hint=f"Give [{places!r}].")
    return [parse_place(place)[0] for place in places]


def fetching_call(path: str, start_line: int, end_line: int) -> str:
    """Return the command that shows some lines."""
    return f"coderag context --file {shlex.quote(f'{path}:{start_line}-{end_line}')}"
