"""What a search for exact text or a regular expression returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, Literal

TextMode = Literal["exact", "regex"]

DEFAULT_MAX_MATCHES: Final = 200
"""Matches returned by default."""

MAX_COUNTED_MATCHES: Final = 100_000
MAX_CONTEXT_LINES: Final = 1_000


@dataclass(frozen=True, slots=True)
class TextMatch:
    """One place where the text stands.

    Attributes:
        start_column, end_column: In characters from 1; `end_column` is that of the character behind the match.
        text: The whole lines from `start_line` to `end_line`, as they are on disk.
        before, after: Lines around them, as many as were asked for.
        symbol: Qualified name of the innermost declaration around it; empty if there is none, or if the file has changed
            since it was indexed, so that nobody knows.
        kind: Of that declaration.
        definition: Whether it is (a part of) the name that a declaration declares.
    """

    path: PurePosixPath
    start_line: int
    start_column: int
    end_line: int
    end_column: int
    text: str
    before: Sequence[str]
    after: Sequence[str]
    symbol: str
    kind: str
    definition: bool
    language: str
    role: str

    @property
    def location(self) -> str:
        """The place as ``path:line:column``."""
        return f"{self.path}:{self.start_line}:{self.start_column}"


@dataclass(frozen=True, slots=True)
class TextMatches:
    """All places where a text stands in the indexed files as they are on disk now.

    Files of source come before tests and what is not written by hand, those that define what matched before others.

    Attributes:
        matches: The first of them, file by file.
        total: Number of all.
        files: Number of matches of each file, in the order of `matches`.
        complete: False if counting stopped because there are very many.
        whitespace_ignored: Whether the text stands nowhere exactly so, and these places differ from it in white space.
        stale: Files with matches that have changed since they were indexed.
        unread: ``(path, reason)`` of indexed files that could not be searched.
    """

    query: str
    mode: TextMode
    matches: Sequence[TextMatch]
    total: int
    files: Mapping[str, int]
    complete: bool = True
    whitespace_ignored: bool = False
    stale: Sequence[str] = ()
    unread: Sequence[tuple[str, str]] = ()
