"""Streaming reader of ``git log --raw -z``: commits with the files that they changed against their first parent."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import IO, Final, NamedTuple

from coderag.errors import HistoryError
from coderag.lineage.git_history import GitHistory, describe_failure
from coderag.schema.lineage import FileChange, Hunk, PathChange

_BLOCK_BYTES: Final = 1 << 18
_FIELDS: Final = ("H", "P", "aN", "aE", "ad", "cd", "B")
# The leading NUL ends a patch; without one, the token before it is empty.
_FORMAT: Final = "tformat:%x00" + "%x00".join(f"%{field}" for field in _FIELDS) + "%x00"
_ARGUMENTS: Final = (
    "log", "-z", f"--format={_FORMAT}", "--date=raw", "--no-color", "--no-decorate", "--no-notes", "--no-show-signature",
    "--no-textconv", "--no-ext-diff", "--encoding=UTF-8", "--raw", "--no-abbrev", "--root",
    "--diff-merges=first-parent", "--relative",
)  # fmt: skip
_PATCH_ARGUMENTS: Final = ("--patch", "--unified=0", "--inter-hunk-context=0", "--full-index", "--no-prefix")
_CHANGES: Final[dict[str, PathChange]] = {
    "A": "added", "M": "modified", "D": "deleted", "R": "renamed", "C": "copied", "T": "type",
}  # fmt: skip
_PATCH_START: Final = b"diff --git "
_SUBMODULE_MODE: Final = b"160000"
_NO_BLOB: Final = frozenset(b"0")
_HUNK: Final = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_MAX_OFFSET_MINUTES: Final = 24 * 60 - 1
_MAX_TIMESTAMP: Final = 253_402_300_799
"""Last second of the year 9999, the last that Python's datetime has."""


class RawTime(NamedTuple):
    """Seconds since the epoch, and the offset from UTC in minutes."""

    seconds: int
    offset_minutes: int

    def to_datetime(self) -> datetime:
        """Return it as a datetime; times outside of the years 1 to 9999 are moved to their bounds."""
        seconds = min(max(self.seconds, -_MAX_TIMESTAMP // 5), _MAX_TIMESTAMP - 86_400)
        zone = timezone(timedelta(minutes=self.offset_minutes)) if self.offset_minutes else UTC
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).astimezone(zone)


@dataclass(slots=True)
class LogEntry:
    """A commit as ``git log`` prints it.

    Attributes:
        message: Subject and body, decoded.
        encoding_note: Remark on a message that is not valid in its encoding.
        changes: Changed files against the first parent, below the indexed folder.
        hunks: Changed lines of each entry in `changes`; None if the file is binary or no text. Empty unless requested.
        are_changes_known: False for the boundary of a shallow clone.
    """

    id: str
    parents: tuple[str, ...]
    author: str
    email: str
    time: RawTime
    commit_time: RawTime
    message: str
    encoding_note: str
    changes: list[FileChange]
    hunks: list[tuple[Hunk, ...] | None]
    are_changes_known: bool = True


def read_log(
    history: GitHistory,
    revisions: Sequence[str] = ("HEAD",),
    *,
    options: Sequence[str] = (),
    paths: Sequence[str] = (),
    has_patches: bool = False,
    has_changes: bool = True,
    commits: Sequence[str] | None = None,
) -> Iterator[LogEntry]:
    """Read commits, children before parents.

    Args:
        history: The repository.
        revisions: Revisions whose ancestors are read; ``^revision`` leaves out those of another one.
        options: Further options of ``git log``.
        paths: Paths relative to the indexed folder, to read the changes of these only.
        has_patches: Whether changed lines are read.
        has_changes: Whether changed files are read.
        commits: Ids of single commits to read, in this order, instead of `revisions`.

    Raises:
        HistoryError: git failed, for example because an object is missing.
    """
    arguments = [*_ARGUMENTS, *options]
    # Without contents, only renames of equal files can be told.
    arguments.append("-M100%" if history.is_partial else "-M")
    if not has_changes:
        arguments += ["--no-patch", "--diff-merges=off"]
    elif has_patches:
        arguments += _PATCH_ARGUMENTS
    stdin = None
    if commits is not None:
        arguments += ["--no-walk=unsorted", "--stdin"]
        stdin = "".join(f"{commit}\n" for commit in commits).encode("ascii")
        if not commits:
            return
    else:
        arguments += ["--end-of-options", *revisions]
    with history.open_process(*arguments, "--", *paths, stdin=stdin) as process:
        if process is None:
            raise HistoryError("git is not installed", state="no_git")
        yield from _Parser(process.stdout, history.boundary, has_patches=has_patches and has_changes).parse()
    if process.returncode != 0:
        raise HistoryError(describe_failure("log", process.error))


class _Parser:
    """Parser of one output: tokens that end with NUL, and patches in lines. A patch ends at a NUL or at the end."""

    def __init__(self, source: IO[bytes], boundary: Iterable[str], *, has_patches: bool) -> None:
        self._source = source
        self._boundary = frozenset(boundary)
        self._has_patches = has_patches
        self._buffer = b""
        self._position = 0

    def parse(self) -> Iterator[LogEntry]:
        token = self._read_token()
        while token is not None:
            if not token or token == b"\n":  # between two commits
                token = self._read_token()
                continue
            entry = self._parse_header(token)
            while True:
                if self._has_patches and self._peek(len(_PATCH_START)) == _PATCH_START:
                    self._parse_patch(entry)
                    continue
                token = self._read_token()
                if token is not None and token.startswith((b":", b"\n:")):
                    self._parse_change(token, entry)
                elif token not in (b"", b"\n"):
                    break
            if entry.id in self._boundary:
                entry.are_changes_known, entry.changes, entry.hunks = False, [], []
            yield entry

    def _parse_header(self, first: bytes) -> LogEntry:
        values = [first, *(self._read_token() for _ in _FIELDS[1:])]
        if values[-1] is None:
            raise HistoryError("git log printed a truncated commit")
        commit, parents, author, email, time, commit_time, message = (value or b"" for value in values)
        text, note = decode_text(message)
        return LogEntry(
            commit.decode("ascii", "replace"),
            tuple(parents.decode("ascii", "replace").split()),
            decode_text(author)[0],
            decode_text(email)[0],
            _parse_time(time),
            _parse_time(commit_time),
            text.rstrip("\n"),
            note,
            [],
            [],
        )

    def _parse_change(self, token: bytes, entry: LogEntry) -> None:
        old_mode, new_mode, old_blob, new_blob, status = token.lstrip(b"\n").split(b" ")
        change = _CHANGES.get(chr(status[0]), "modified")
        path = decode_path(self._read_token() or b"")
        old_path = path
        if change in ("renamed", "copied"):
            path = decode_path(self._read_token() or b"")
        if change == "modified" and old_blob == new_blob and old_mode[1:] != new_mode:
            change = "mode"
        entry.changes.append(
            FileChange(
                path,
                old_path,
                change,
                is_submodule=_SUBMODULE_MODE in (old_mode[1:], new_mode),
                old_blob="" if _NO_BLOB.issuperset(old_blob) else old_blob.decode("ascii"),
                new_blob="" if _NO_BLOB.issuperset(new_blob) else new_blob.decode("ascii"),
            )
        )

    def _parse_patch(self, entry: LogEntry) -> None:
        """Parse the patch of a commit, whose files have the order of the changes; a change of type has two parts."""
        parts: list[tuple[Hunk, ...] | None] = []
        hunks: list[Hunk] = []
        is_open = is_binary = False
        while True:
            start = self._peek(1)
            if start in (b"", b"\0"):
                break
            line = self._read_line()
            if line.startswith(_PATCH_START):
                if is_open:
                    parts.append(None if is_binary else tuple(hunks))
                is_open, hunks, is_binary = True, [], False
            elif match := _HUNK.match(line):
                hunk = Hunk(*(1 if value is None else int(value) for value in match.groups()))
                hunks.append(hunk)
                for _ in range(hunk.old_count + hunk.new_count):
                    self._skip_line()
            elif line.startswith((b"Binary files ", b"GIT binary patch")):
                is_binary = True
        parts.append(None if is_binary else tuple(hunks))
        entry.hunks = _match_parts(entry.changes, parts)

    def _fill(self) -> bool:
        block = self._source.read(_BLOCK_BYTES)
        if not block:
            return False
        self._buffer = self._buffer[self._position :] + block
        self._position = 0
        return True

    def _peek(self, count: int) -> bytes:
        while len(self._buffer) - self._position < count and self._fill():
            pass
        return self._buffer[self._position : self._position + count]

    def _read_until(self, end: bytes) -> bytes | None:
        searched = self._position
        while (found_at := self._buffer.find(end, searched)) < 0:
            searched = len(self._buffer) - self._position
            if not self._fill():
                return None
        token = self._buffer[self._position : found_at]
        self._position = found_at + 1
        return token

    def _read_token(self) -> bytes | None:
        return self._read_until(b"\0")

    def _read_line(self) -> bytes:
        line = self._read_until(b"\n")
        if line is None:
            line, self._position = self._buffer[self._position :], len(self._buffer)
        return line

    def _skip_line(self) -> None:
        """Skip a line of a hunk, with the remark on a missing line end after it."""
        self._read_line()
        if self._peek(1) == b"\\":
            self._read_line()


def _match_parts(
    changes: Sequence[FileChange], parts: Sequence[tuple[Hunk, ...] | None]
) -> list[tuple[Hunk, ...] | None]:
    matched: list[tuple[Hunk, ...] | None] = []
    rest = iter(parts)
    for change in changes:
        part = next(rest, None)
        if change.change == "type":
            next(rest, None)
            part = None
        matched.append(None if change.is_submodule else part)
    if next(rest, None) is not None:
        raise HistoryError("git log printed a patch that does not match its list of files")
    return matched


def _parse_time(text: bytes) -> RawTime:
    seconds, _, zone = text.decode("ascii", "replace").partition(" ")
    try:
        sign = -1 if zone.startswith("-") else 1
        digits = int(zone.lstrip("+-") or 0)
        offset = min(digits // 100 * 60 + digits % 100, _MAX_OFFSET_MINUTES)
        return RawTime(int(seconds), sign * offset)
    except ValueError:
        return RawTime(0, 0)


def decode_text(data: bytes) -> tuple[str, str]:
    """Decode a name or message, which git has converted to UTF-8 if its commit names its encoding correctly.

    Returns:
        The text, and a note if it is invalid UTF-8: it is then read as Windows-1252.
    """
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), "not valid UTF-8: read as Windows-1252"


def decode_path(data: bytes) -> str:
    """Decode a path as the index does; undecodable bytes become surrogates."""
    return data.decode("utf-8", "surrogateescape")
