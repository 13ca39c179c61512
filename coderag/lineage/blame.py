"""Blame of lines by ``git blame``, which follows moves and copies and passes over ignored revisions."""

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from coderag.ingestion.files.git_repository import read_small_file
from coderag.lineage.git_history import GitHistory
from coderag.lineage.git_log import decode_path

IGNORE_FILE: Final = ".git-blame-ignore-revs"

_HEADER: Final = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+)(?: (\d+))?")
_TIMEOUT_S: Final = 60


class BlamedLine(NamedTuple):
    """Origin of a line of a commit's file.

    Attributes:
        line: Line in the blamed version.
        original_path, original_line: Its place in the commit that introduced it.
        is_boundary: Whether the history ends there.
    """

    line: int
    commit: str
    original_path: str
    original_line: int
    is_boundary: bool


@dataclass(frozen=True, slots=True)
class IgnoredRevisions:
    """Revisions whose changes blame passes over.

    Attributes:
        commits: Their ids.
        notes: Remarks on entries that cannot be used.
    """

    commits: frozenset[str] = frozenset()
    notes: Sequence[str] = field(default_factory=tuple)


def read_ignored_revisions(history: GitHistory) -> IgnoredRevisions:
    """Read ``.git-blame-ignore-revs`` of the folder or of the top of the repository; entries that name no commit are noted."""
    folders = [history.root, *history.root.parents][: 1 + history.prefix.count("/")]
    content = next(filter(None, (read_small_file(folder / IGNORE_FILE) for folder in folders)), b"")
    entries = [line.partition(b"#")[0].strip().decode("utf-8", "replace") for line in content.splitlines()]
    entries = list(dict.fromkeys(filter(None, entries)))
    names = [entry for entry in entries if re.fullmatch("[0-9a-fA-F]{40}|[0-9a-fA-F]{64}", entry)]
    notes = [f"{IGNORE_FILE}: {entry[:80]!r} is not a full commit id." for entry in entries if entry not in set(names)]
    if not names:
        return IgnoredRevisions(notes=tuple(notes))
    checked = history.try_run("cat-file", "--batch-check", stdin="".join(f"{name}\n" for name in names).encode())
    kinds = {
        row[0].lower(): row[1]
        for line in (checked or b"").decode("ascii", "replace").splitlines()
        if (row := line.split())
    }
    commits = frozenset(name.lower() for name in names if kinds.get(name.lower()) == "commit")
    missing = [name for name in names if name.lower() not in commits]
    notes += [f"{IGNORE_FILE}: commit {name[:12]} does not exist in this clone." for name in missing]
    return IgnoredRevisions(commits, tuple(notes))


def blame_lines(
    history: GitHistory,
    path: str,
    ranges: Sequence[tuple[int, int]],
    *,
    revision: str = "HEAD",
    ignored: frozenset[str] = frozenset(),
) -> list[BlamedLine]:
    """Blame lines of a file as it is in a commit, as ``git blame -M -C`` does.

    Args:
        history: The repository.
        path: Path relative to the indexed folder.
        ranges: First and last line of each range; empty blames the file.
        revision: The commit.
        ignored: Ids of the commits to pass over.

    Raises:
        HistoryError: git failed, for example because the commit does not have the file.
    """
    # An empty name forgets the revisions of the setting blame.ignoreRevsFile.
    arguments = ["blame", "--porcelain", "-M", "-C", "--no-textconv", "--ignore-revs-file="]
    arguments += [f"-L{start},{end}" for start, end in ranges]
    with tempfile.TemporaryDirectory() as folder:
        if ignored:
            file = Path(folder) / "ignored"
            file.write_text("".join(f"{commit}\n" for commit in sorted(ignored)), encoding="ascii")
            arguments += [f"--ignore-revs-file={file}"]
        output = history.run(*arguments, revision, "--", path, timeout_s=_TIMEOUT_S)
    return list(_parse_porcelain(output, history.prefix))


def _parse_porcelain(output: bytes, prefix: str) -> Iterator[BlamedLine]:
    paths: dict[str, str] = {}
    boundaries: set[str] = set()
    commit, original, line = "", 0, 0
    for row in output.split(b"\n"):
        if row.startswith(b"\t"):
            yield BlamedLine(line, commit, paths.get(commit, ""), original, commit in boundaries)
        elif match := _HEADER.fullmatch(row):
            commit, original, line = match[1].decode("ascii"), int(match[2]), int(match[3])
        elif row.startswith(b"filename "):
            paths[commit] = _strip_prefix(unquote_path(row.removeprefix(b"filename ")), prefix)
        elif row == b"boundary":
            boundaries.add(commit)


def _strip_prefix(path: str, prefix: str) -> str:
    """Return a path relative to the indexed folder; one outside of it as ``../name``."""
    if not prefix or path.startswith(prefix):
        return path.removeprefix(prefix)
    return "../" * prefix.count("/") + path


_ESCAPES: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_ESCAPE: Final = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)


def unquote_path(data: bytes) -> str:
    """Decode a path as git prints it: with special characters it is quoted as in C."""
    if data.startswith(b'"') and data.endswith(b'"'):

        def unescape(match: re.Match[bytes]) -> bytes:
            code = match[1]
            return bytes([int(code, 8)]) if code.isdigit() else _ESCAPES.get(code, code)

        data = _ESCAPE.sub(unescape, data[1:-1])
    return decode_path(data)
