"""Results of a text search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, Literal

TextMode = Literal["exact", "regex"]

DEFAULT_MAX_MATCHES: Final = 200
"""Default number of returned matches."""

MAX_COUNTED_MATCHES: Final = 100_000
MAX_CONTEXT_LINES: Final = 1_000


@dataclass(frozen=True, slots=True)
class TextMatch:
    """One match.

    Attributes:
        start_column, end_column: 1-based characters; `end_column` is behind the match.
        text: Whole lines from `start_line` to `end_line`, as on disk.
        before, after: Requested lines around them.
        symbol: Qualified name of the innermost enclosing declaration; empty if there is none, or if the file changed
            since it was indexed.
        kind: Kind of that declaration.
        definition: Whether it is at the declared name of a declaration.
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
        """Location as ``path:line:column``."""
        return f"{self.path}:{self.start_line}:{self.start_column}"


@dataclass(frozen=True, slots=True)
class TextMatches:
    """All matches of a text in the indexed files on disk.

    Source files precede tests and files not written by hand; files that define the match precede others.

    Attributes:
        matches: First matches, file by file.
        total: Number of all matches.
        files: Number of matches per file, in the order of `matches`.
        complete: False if counting stopped at a limit.
        whitespace_ignored: Whether there is no exact match, and these differ in white space.
        stale: Files with matches that have changed since they were indexed.
        unread: ``(path, reason)`` of indexed files that could not be read.
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
