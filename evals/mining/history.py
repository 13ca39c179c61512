"""Git history of a repository: its commits and the lines of the parent that each commit changed."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coderag.errors import InvalidQueryError
from coderag.ingestion.files.git_repository import find_repository, run_git
from coderag.text.encodings import decode

_FORMAT = "%H%x00%P%x00%cs%x00%an <%ae>%x00%B"
"""Fields end with NUL, the one character that no message and no name contains: any other would let a message forge fields."""

_OBJECT_IDS: Final = re.compile(r"(?:[0-9a-f]{40,64}(?: |\Z))*")
_PLAIN: Final = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.]+)?|\d+[ .](?:day|week|month|year)s?(?:[ .]ago)?|yesterday")


@dataclass(frozen=True, slots=True)
class MinedCommit:
    """Commit of the history.

    Attributes:
        date: Commit date, ISO 8601.
        message: Subject and body.
    """

    revision: str
    parents: tuple[str, ...]
    date: str
    author: str
    message: str


@dataclass(frozen=True, slots=True)
class MinedHunk:
    """Changed lines, numbered as in the parent; a count of 0 is an insertion after `first`."""

    first: int
    count: int

    def has_overlap(self, lines: range) -> bool:
        """Return whether the hunk changes one of some lines, or inserts between them."""
        if self.count == 0:
            return lines.start <= self.first and self.first + 1 < lines.stop
        return lines.start < self.first + self.count and self.first < lines.stop


class History:
    """Read-only access to the git history of a folder. No program that the git configuration names is run.

    Args:
        root: The folder; paths are relative to it, and changes outside it are ignored.

    Raises:
        InvalidQueryError: The folder is in no git repository, git is missing, or there is no commit.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        if find_repository(self.root) is None:
            hint = "Mine its tests instead: --from tests."
            raise InvalidQueryError(f"no history: {root} is not in a git repository", hint=hint)
        if run_git(self.root, "rev-list", "--max-count=1", "HEAD") is None:
            hint = "Check that git is installed and that `git log` works there."
            raise InvalidQueryError(f"git finds no commit in {root}", hint=hint)

    @property
    def is_shallow(self) -> bool:
        """True if older commits were not fetched."""
        return (run_git(self.root, "rev-parse", "--is-shallow-repository") or b"").strip() == b"true"

    def iter_commits(self, since: str = "") -> Iterator[MinedCommit]:
        """Yield the ancestors of HEAD, the newest first.

        Args:
            since: Yield only commits after a revision or since a date: ``v2.0``, ``2024-05-01`` or ``6 months ago``.

        Raises:
            InvalidQueryError: `since` is neither a known revision nor a date.
        """
        printed = run_git(
            self.root, "log", "-z", f"--format={_FORMAT}", "--no-show-signature", *self._parse_range(since), "--"
        )
        fields = (printed or b"").decode("utf-8", "replace").split("\0")
        for revision, parents, date, author, message in zip(*[iter(fields)] * 5, strict=False):
            if revision and _OBJECT_IDS.fullmatch(f"{revision} {parents}".strip()):  # never an option of a git command
                yield MinedCommit(revision, tuple(parents.split()), date, author, message.strip())

    def read_changes(self, commit: MinedCommit) -> Mapping[str, list[MinedHunk]] | None:
        """Return the changed lines of a commit by file, numbered as in its first parent.

        Whitespace changes are ignored, and an added file has no lines. None if the parent is missing, as at the end of a
        shallow clone.
        """
        if not commit.parents:
            return None
        # Without quotePath=false, quoted paths would have to be unquoted.
        printed = run_git(
            self.root, "-c", "core.quotePath=false", "diff-tree", "-r", "-p", "-U0", "-w", "--ignore-blank-lines",
            "--relative", *_PLAIN, "--src-prefix=a/", "--dst-prefix=b/", commit.parents[0], commit.revision,
        )  # fmt: skip
        return None if printed is None else dict(_read_patch(printed.decode("utf-8", "replace")))

    def read_text(self, revision: str, path: str) -> str | None:
        """Return a file's text in a revision; None if it is missing or not text."""
        data = run_git(self.root, "cat-file", "blob", f"{revision}:./{path}")
        decoded = decode(data) if data is not None else None
        return decoded.text if decoded else None

    def _parse_range(self, since: str) -> list[str]:
        if not since:
            return ["HEAD"]
        revision = "" if since.startswith("-") or ".." in since else since
        if revision and run_git(self.root, "rev-list", "--ignore-missing", "--max-count=1", revision, "--"):
            return [f"{revision}..HEAD"]
        if _DATE.fullmatch(since):
            return [f"--since={since}", "HEAD"]
        hint = "Use a branch, a tag, a hash, a date such as 2024-05-01, or '6 months ago'."
        raise InvalidQueryError(f"{since!r} is neither a git revision nor a date", hint=hint)


def _read_patch(patch: str) -> Iterator[tuple[str, list[MinedHunk]]]:
    """Yield the path and hunks of each file of a patch without context lines."""
    path, hunks = "", list[MinedHunk]()
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
            if first := int(hunk[1]):  # 0 means above the first line
                hunks.append(MinedHunk(first, int(hunk[2] or 1)))
    if path:
        yield path, hunks
