"""Agents that grep and read: a list of what matches is paid for, then files or parts of them are read, then the next list."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from .grepping import FileMatches, Files, Grep
from .spending import Line, Place, written

READ_LINES: Final = 2_000
"""Lines that one reading of a file gives, as agents' tools have it."""

MOST_LISTED: Final = 25_000
"""Tokens of one list, at most, as agents' tools have it."""

_LINES_A_FILE = 10  # of a list, so that one file does not fill it
_LONGEST_LINE = 300  # characters; a longer one is cut where it is listed


@dataclass(frozen=True, slots=True)
class Policy:
    """How an agent greps and reads.

    Attributes:
        name: Of its curve.
        listed: Matching lines in one list; 0 if only the names of files are listed, or nothing.
        files: Names of files in one list; 0 if there is none.
        around: Lines that are read above and below a match; None for whole files.
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
class _Found:
    """A match that the agent knows of, with how much is to be hoped from it."""

    file: FileMatches
    number: int
    score: float


class GrepReader:
    """An agent that greps for the words of a question and reads in the order of the matches."""

    def __init__(self, policy: Policy, grep: Grep, files: Files) -> None:
        self.name = policy.name
        self._policy = policy
        self._grep = grep
        self._files = files

    def lines(self, question: str) -> Iterator[Line]:
        """Yield the lines that are paid for, until all files with a match were read."""
        files = self._grep(question)
        read: set[Place] = set()
        if self._policy.files:
            yield from self._by_names(files, read)
            return
        found = list(_in_turn(files))
        step = self._policy.listed or len(found) or 1
        for start in range(0, len(found), step):
            page = found[start : start + step]
            if self._policy.listed:
                yield from self._list(page)
            yield from self._read(page, read)
        for one in files:  # what is left, where only parts were read
            yield from self._whole(one, read)

    def _by_names(self, files: Sequence[FileMatches], read: set[Place]) -> Iterator[Line]:
        for start in range(0, len(files), self._policy.files):
            page = files[start : start + self._policy.files]
            yield from (written(one.path) for one in page)
            for one in page:
                yield from self._whole(one, read)

    def _list(self, found: Sequence[_Found]) -> Iterator[Line]:
        """Yield matching lines as ripgrep prints them below the names of their files."""
        left = MOST_LISTED
        for path, matches in groupby(found, key=lambda match: match.file.path):
            shown = [written(path)]
            for match in matches:
                text = self._files.lines(path)[match.number - 1][:_LONGEST_LINE]
                shown.append(written(f"{match.number}:{text}", (path, match.number)))
            for line in shown:
                left -= line.tokens
                if left < 0:
                    return
                yield line

    def _read(self, found: Sequence[_Found], read: set[Place]) -> Iterator[Line]:
        """Yield what is read because of a list: the files in its order, or the most telling matches with what is around."""
        around = self._policy.around
        if around is None:
            for file in dict.fromkeys(match.file for match in found):
                yield from self._whole(file, read)
            return
        for match in sorted(found, key=lambda match: -match.score):
            if (match.file.path, match.number) not in read:
                numbers = range(max(1, match.number - around), match.number + around + 1)
                yield from numbered(self._files, match.file.path, numbers, read)

    def _whole(self, file: FileMatches, read: set[Place]) -> Iterator[Line]:
        """Yield a file, or those parts of a long one that have a match, from the first on."""
        for part in sorted({(match.number - 1) // READ_LINES for match in file.matches} or {0}):
            numbers = range(part * READ_LINES + 1, (part + 1) * READ_LINES + 1)
            yield from numbered(self._files, file.path, numbers, read)


def numbered(files: Files, path: str, numbers: Iterable[int], read: set[Place]) -> Iterator[Line]:
    """Yield lines of a file as tools for reading print them, without those that were read before.

    Args:
        files: That it is one of.
        path: Of the file.
        numbers: The lines; those beyond its end are passed over.
        read: What was read so far; the lines are added.
    """
    lines = files.lines(path)
    for number in numbers:
        if number <= len(lines) and (path, number) not in read:
            read.add((path, number))
            yield written(f"{number}\t{lines[number - 1]}", (path, number))


def _in_turn(files: Sequence[FileMatches]) -> Iterator[_Found]:
    """Yield all matches: the best few of each file, the best file first, then the next few of each."""
    longest = max((len(one.matches) for one in files), default=0)
    for start in range(0, longest, _LINES_A_FILE):
        for one in files:
            for match in one.matches[start : start + _LINES_A_FILE]:
                yield _Found(one, match.number, one.score + match.score)
