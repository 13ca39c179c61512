"""Agents that grep and read: they pay for a list of matches, read files or parts of them, then take the next list."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from .grepping import FileMatches, Files, Grep
from .spending import Line, Place, make_line

READ_LINES: Final = 2_000
"""Maximum number of lines per read of a file, as in common agents."""

MAX_LIST_TOKENS: Final = 25_000
"""Maximum number of tokens of one list, as in common agents."""

_MAX_FILE_LINES = 10  # per list, so that one file does not fill it
_MAX_LINE_CHARS = 300  # longer lines are cut in lists


@dataclass(frozen=True, slots=True)
class Policy:
    """Strategy of an agent that greps and reads.

    Attributes:
        name: Name of its curve.
        listed: Matching lines per list; 0 to list only file names, or nothing.
        files: File names per list; 0 for none.
        around: Lines to read above and below a match; None to read whole files.
    """

    name: str
    listed: int = 0
    files: int = 0
    around: int | None = None


POLICIES: Final = (
    Policy("grep 100 lines, read files", listed=100),
    Policy("grep 100 lines, read 50 around", listed=100, around=50),
    Policy("grep 30 lines, read 50 around", listed=30, around=50),
    Policy("grep names of 20 files, read files", files=20),
    Policy("grep with 10 lines around", around=10),
)


@dataclass(frozen=True, slots=True)
class _RankedMatch:
    """Match with its score over all files."""

    file: FileMatches
    number: int
    score: float


class GrepAgent:
    """Agent that greps for the words of a question and reads in order of the matches."""

    def __init__(self, policy: Policy, grep: Grep, files: Files) -> None:
        self.name = policy.name
        self._policy = policy
        self._grep = grep
        self._files = files

    def stream_lines(self, question: str) -> Iterator[Line]:
        """Yield the lines that cost tokens, until all files with a match are read."""
        files = self._grep(question)
        read: set[Place] = set()
        if self._policy.files:
            yield from self._read_by_names(files, read)
            return
        matches = list(_order_matches(files))
        step = self._policy.listed or len(matches) or 1
        for start in range(0, len(matches), step):
            page = matches[start : start + step]
            if self._policy.listed:
                yield from self._list(page)
            yield from self._read(page, read)
        for file in files:  # the rest of files that were read in parts
            yield from self._read_file(file, read)

    def _read_by_names(self, files: Sequence[FileMatches], read: set[Place]) -> Iterator[Line]:
        for start in range(0, len(files), self._policy.files):
            page = files[start : start + self._policy.files]
            yield from (make_line(file.path) for file in page)
            for file in page:
                yield from self._read_file(file, read)

    def _list(self, page: Sequence[_RankedMatch]) -> Iterator[Line]:
        """Yield matching lines below their file names, in ripgrep's format."""
        remaining = MAX_LIST_TOKENS
        for path, matches in groupby(page, key=lambda match: match.file.path):
            lines = [make_line(path)]
            for match in matches:
                text = self._files.read_lines(path)[match.number - 1][:_MAX_LINE_CHARS]
                lines.append(make_line(f"{match.number}:{text}", (path, match.number)))
            for line in lines:
                remaining -= line.tokens
                if remaining < 0:
                    return
                yield line

    def _read(self, page: Sequence[_RankedMatch], read: set[Place]) -> Iterator[Line]:
        """Yield what is read for a list: its files in order, or the lines around its matches, the highest score first."""
        around = self._policy.around
        if around is None:
            for file in dict.fromkeys(match.file for match in page):
                yield from self._read_file(file, read)
            return
        for match in sorted(page, key=lambda match: -match.score):
            if (match.file.path, match.number) not in read:
                numbers = range(max(1, match.number - around), match.number + around + 1)
                yield from number_lines(self._files, match.file.path, numbers, read)

    def _read_file(self, file: FileMatches, read: set[Place]) -> Iterator[Line]:
        """Yield a file, or the parts of a long file that have a match, in order."""
        for part in sorted({(match.number - 1) // READ_LINES for match in file.matches} or {0}):
            numbers = range(part * READ_LINES + 1, (part + 1) * READ_LINES + 1)
            yield from number_lines(self._files, file.path, numbers, read)


def number_lines(files: Files, path: str, numbers: Iterable[int], read: set[Place]) -> Iterator[Line]:
    """Yield numbered lines of a file that were not read before.

    Args:
        files: Files of the repository.
        path: Path of the file.
        numbers: Line numbers; those beyond its end are skipped.
        read: Places that were read so far; the yielded lines are added.
    """
    lines = files.read_lines(path)
    for number in numbers:
        if number <= len(lines) and (path, number) not in read:
            read.add((path, number))
            yield make_line(f"{number}\t{lines[number - 1]}", (path, number))


def _order_matches(files: Sequence[FileMatches]) -> Iterator[_RankedMatch]:
    """Yield all matches round-robin: the best few of each file, the best file first, then the next few of each."""
    longest = max((len(file.matches) for file in files), default=0)
    for start in range(0, longest, _MAX_FILE_LINES):
        for file in files:
            for match in file.matches[start : start + _MAX_FILE_LINES]:
                yield _RankedMatch(file, match.number, file.score + match.score)
