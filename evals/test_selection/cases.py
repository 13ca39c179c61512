"""Cases: a past commit with the tests that fail without its change of the source code."""

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from .past_commits import PastCommit, iterate_commits
from .pytest_runs import PytestSetup, run_pytest

_IDENTITY: Final = ("-c", "user.name=evals", "-c", "user.email=evals@localhost", "-c", "commit.gpgsign=false")


@dataclass(frozen=True, slots=True)
class Case:
    """A commit and its failing tests, as ids of test functions.

    Attributes:
        base: Commit with the source code of the parent and the tests of the change.
        failing: Tests that fail, or cannot be imported, on `base` and pass on the change.
        passing: All tests that pass on the change.
        edited: Changed files with the role of a test.
        import_error: Whether a test file of the failing tests cannot be imported on `base`.
    """

    revision: str
    parent: str
    base: str
    date: str
    failing: list[str]
    passing: list[str]
    edited: list[str]
    import_error: bool


def record_cases(
    source: Path, checkout: Path, setup: PytestSetup, limit: int, note: Callable[[str], None]
) -> Iterator[Case]:
    """Yield the newest cases of a repository, in a clone at `checkout` that keeps the commit `Case.base` of each.

    Args:
        source: The repository; it is only read.
        checkout: Folder of the clone, made if it is missing.
        setup: How its tests run.
        limit: Maximum number of cases.
        note: Called with a line on each examined commit.
    """
    if not checkout.exists():
        _run_git(checkout.parent, "clone", "--quiet", "--shared", str(source), str(checkout))
    n_cases = 0
    for commit in iterate_commits(source):
        case = _record_case(checkout, commit, setup)
        note(
            f"{commit.revision[:10]} {commit.date} {case if isinstance(case, str) else f'{len(case.failing)} failing'}"
        )
        if not isinstance(case, str):
            n_cases += 1
            yield case
            if n_cases >= limit:
                return


def read_cases(path: Path) -> list[Case]:
    """Read recorded cases."""
    return [Case(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def format_case(case: Case) -> str:
    """Format a case as a line of JSON."""
    return json.dumps(asdict(case))


def check_out(checkout: Path, revision: str) -> None:
    """Check a commit out, without files of earlier runs."""
    _run_git(checkout, "checkout", "--quiet", "--force", "--detach", revision)
    _run_git(checkout, "clean", "-ffdxq", "-e", ".coderag")


def _record_case(checkout: Path, commit: PastCommit, setup: PytestSetup) -> Case | str:
    """Return the case of a commit, or the reason why it has none."""
    check_out(checkout, commit.revision)
    after = run_pytest(checkout, setup)
    if after is None or "passed" not in after.values():
        return "its tests do not run"
    base = _commit_base(checkout, commit)
    before = run_pytest(checkout, setup)
    if before is None:
        return "the tests of its parent do not end"
    passing = sorted(test for test, outcome in after.items() if outcome == "passed")
    failing = [test for test in passing if before.get(test, "failed") == "failed"]
    if not failing:
        return "no test fails without it"
    has_import_error = any(test not in before for test in failing)
    edited = [path for _, path in commit.test_files]
    return Case(
        commit.revision, commit.parent, base, commit.date, failing, passing, edited, import_error=has_import_error
    )


def _commit_base(checkout: Path, commit: PastCommit) -> str:
    """Commit the source code of the parent with the tests of the change, and return the commit."""
    check_out(checkout, commit.parent)
    for status, path in commit.test_files:
        if status == "D":
            (checkout / path).unlink(missing_ok=True)
        else:
            _run_git(checkout, "checkout", "--quiet", commit.revision, "--", path)
    _run_git(checkout, "add", "--all")
    _run_git(checkout, *_IDENTITY, "commit", "--quiet", "--no-verify", "--allow-empty", "--message", "base")
    base = _run_git(checkout, "rev-parse", "HEAD").strip()
    _run_git(checkout, "update-ref", f"refs/cases/{commit.revision}", base)
    return base


def _run_git(folder: Path, *arguments: str) -> str:
    """Run git in a clone of our own, which has no hooks."""
    command: Sequence[str] = ("git", *arguments)
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, encoding="utf-8").stdout
