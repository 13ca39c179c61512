"""A repository's history in git: its commits, and which lines of the files before each one it changed."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coderag.errors import InvalidQueryError
from coderag.ingestion.files.file_text import decode
from coderag.ingestion.files.git_repository import find_repository, run_git

_FIELD, _END = "\x1f", "\x1e"
_FORMAT = "%H%x1f%P%x1f%cs%x1f%an <%ae>%x1f%B%x1e"
_PLAIN: Final = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.]+)?|\d+[ .](?:day|week|month|year)s?(?:[ .]ago)?|yesterday")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit.

    Attributes:
        date: When it was committed, ISO 8601.
        message: Subject and body.
    """

    revision: str
    parents: tuple[str, ...]
    date: str
    author: str
    message: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that were changed, as they are numbered before; with a count of 0, what was inserted after the first."""

    first: int
    count: int

    def touches(self, lines: range) -> bool:
        """Whether some lines have one of them, or the place of the insertion inside of them."""
        if self.count == 0:
            return lines.start <= self.first and self.first + 1 < lines.stop
        return lines.start < self.first + self.count and self.first < lines.stop


class History:
    """What git knows of the repository that a folder is in. Nothing that its configuration names is run.

    Args:
        root: The folder; paths begin there, and what is outside of it is passed over.

    Raises:
        InvalidQueryError: It is in no git repository, there is no git, or there is no commit.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        if find_repository(self.root) is None:
            hint = "Its tests can be mined without git: --from tests."
            raise InvalidQueryError(f"there is no history: {root} is in no git repository", hint=hint)
        if run_git(self.root, "rev-list", "--max-count=1", "HEAD") is None:
            hint = "Is git installed, and does `git log` work there?"
            raise InvalidQueryError(f"git finds no commit in {root}", hint=hint)

    @property
    def is_shallow(self) -> bool:
        """Whether older commits were not fetched."""
        return (run_git(self.root, "rev-parse", "--is-shallow-repository") or b"").strip() == b"true"

    def commits(self, since: str = "") -> Iterator[Commit]:
        """Yield the commits that lead to HEAD, the newest first.

        Args:
            since: Only those after a revision, or from a date on, such as ``v2.0``, ``2024-05-01`` or ``6 months ago``.

        Raises:
            InvalidQueryError: Git knows no such revision, and it is no date.
        """
        printed = run_git(self.root, "log", f"--format={_FORMAT}", "--no-show-signature", *self._range(since), "--")
        text = (printed or b"").decode("utf-8", "replace")
        for entry in text.split(_END):
            fields = entry.strip("\n").split(_FIELD)
            if len(fields) == 5:
                revision, parents, date, author, message = fields
                yield Commit(revision, tuple(parents.split()), date, author, message.strip())

    def changes(self, commit: Commit) -> Mapping[str, list[Hunk]] | None:
        """Return the lines that a commit changed, by file, as they are numbered in its first parent.

        Changes of white space alone count as none, and a file
        that was added has no lines. None if the parent is not there, as at the end of a shallow clone.
        """
        if not commit.parents:
            return None
        # `-c` of its own: quoted paths would have to be read back.
        printed = run_git(
            self.root, "-c", "core.quotePath=false", "diff-tree", "-r", "-p", "-U0", "-w", "--ignore-blank-lines",
            "--relative", *_PLAIN, "--src-prefix=a/", "--dst-prefix=b/", commit.parents[0], commit.revision,
        )  # fmt: skip
        return None if printed is None else dict(_read_patch(printed.decode("utf-8", "replace")))

    def text(self, revision: str, path: str) -> str | None:
        """Return a file as it is in a revision; None if it is not there, or no text."""
        data = run_git(self.root, "cat-file", "blob", f"{revision}:./{path}")
        decoded = decode(data) if data is not None else None
        return decoded.text if decoded else None

    def _range(self, since: str) -> list[str]:
        if not since:
            return ["HEAD"]
        revision = "" if since.startswith("-") or ".." in since else since
        if revision and run_git(self.root, "rev-list", "--ignore-missing", "--max-count=1", revision, "--"):
            return [f"{revision}..HEAD"]
        if _DATE.fullmatch(since):
            return [f"--since={since}", "HEAD"]
        hint = "Give a branch, a tag or a hash, a date such as 2024-05-01, or '6 months ago'."
        raise InvalidQueryError(f"git knows no revision {since!r}, and it is no date", hint=hint)


def _read_patch(patch: str) -> Iterator[tuple[str, list[Hunk]]]:
    """Yield each file of a patch without context with the lines that it changes."""
    path, hunks = "", list[Hunk]()
    in_header = False
    for line in patch.split("\n"):
        if line.startswith("diff --git "):
            if path:
                yield path, hunks
            path, hunks, in_header = "", [], True
        elif in_header and line.startswith(("--- a/", "+++ b/")):
            path = path or line[6:].rstrip("\t")
        elif hunk := _HUNK.match(line):
            in_header = False
            if first := int(hunk[1]):  # 0 is above the first line
                hunks.append(Hunk(first, int(hunk[2] or 1)))
    if path:
        yield path, hunks
