"""Past commits that changed source code together with its tests."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coderag.ingestion.files.git_repository import run_git
from coderag.ingestion.files.roles import classify_role

_MAX_SOURCES: Final = 12
_SOURCE_SUFFIX: Final = ".py"


@dataclass(frozen=True, slots=True)
class PastCommit:
    """A commit with one parent that changed source code and tests.

    Attributes:
        test_files: Status letter and path of each changed file with the role of a test.
        n_sources: Number of changed source files.
    """

    revision: str
    parent: str
    date: str
    test_files: tuple[tuple[str, str], ...]
    n_sources: int


def iterate_commits(repository: Path) -> Iterator[PastCommit]:
    """Yield the commits that can be measured, newest first: neither merges nor changes of more than a dozen sources."""
    printed = run_git(
        repository, "log", "--no-merges", "--no-renames", "--name-status", "--no-show-signature", "--no-ext-diff",
        "--format=%x00%H %P %cs", "HEAD",
    )  # fmt: skip
    for entry in (printed or b"").decode("utf-8", "replace").split("\0")[1:]:
        head, _, listing = entry.partition("\n")
        revision, *parents, date = head.split()
        if len(parents) != 1:
            continue
        changes = [tuple(line.split("\t", 1)) for line in listing.splitlines() if "\t" in line]
        test_files = tuple((status, path) for status, path in changes if classify_role(path) == "test")
        sources = [path for _, path in changes if path.endswith(_SOURCE_SUFFIX) and classify_role(path) == "source"]
        has_tests = any(status != "D" and path.endswith(_SOURCE_SUFFIX) for status, path in test_files)
        if has_tests and 1 <= len(sources) <= _MAX_SOURCES:
            yield PastCommit(revision, parents[0], date, test_files, len(sources))
