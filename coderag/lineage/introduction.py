"""Commits that introduced a text, by ``git log -S``: the number of its occurrences in a file changed."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from coderag.lineage.git_history import GitHistory

_TIMEOUT_S: Final = 30
_MAX_COMMITS: Final = 50


class Introduction(NamedTuple):
    """A commit that changed the number of occurrences of a text.

    Attributes:
        before, after: Occurrences in the file, in the commit's first parent and in it.
    """

    commit: str
    path: str
    before: int
    after: int


def find_text_changes(history: GitHistory, paths: Sequence[str], text: str) -> list[Introduction]:
    """Find the commits that changed how often files contain a text, newest first, at most 50.

    Args:
        history: The repository.
        paths: Names that the file has had.
        text: The text, as it is in the file.

    Raises:
        HistoryError: git failed, or took longer than 30 s.
    """
    output = history.run(
        "log", f"-S{text}", "-z", "--format=%x00%H", "--name-only", "--no-renames", "--relative", "--no-textconv",
        "--no-ext-diff", "--no-show-signature", f"--max-count={_MAX_COMMITS}", "HEAD", "--", *paths, timeout_s=_TIMEOUT_S,
    )  # fmt: skip
    needle = text.encode("utf-8", "surrogateescape")
    introductions = []
    commit = ""
    names = set(paths)
    for token in output.split(b"\0"):
        word = token.strip(b"\n").decode("utf-8", "surrogateescape")
        if len(word) in (40, 64) and set(word) <= set("0123456789abcdef") and word not in names:
            commit = word
        elif word and commit:
            after = _count(history, f"{commit}:./{word}", needle)
            before = _count(history, f"{commit}^:./{word}", needle)
            introductions.append(Introduction(commit, word, before, after))
    return introductions


def _count(history: GitHistory, name: str, needle: bytes) -> int:
    return (history.try_run("cat-file", "blob", name) or b"").count(needle)
