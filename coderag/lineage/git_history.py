"""Git commands that read a history: nothing that the repository names is run, fetched or believed.

Objects are read as they are stored: replacements and grafts, by which a repository can rewrite its history for readers, are
ignored. Commands that compare the working tree would run its filters, so only commits are compared.
"""

import os
import re
import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from coderag.errors import HistoryError
from coderag.ingestion.files.git_repository import find_repository
from coderag.ingestion.files.regular_files import read_regular_file
from coderag.system.git import GitProcess, find_git, open_git_process, run_git_command
from coderag.text.encodings import decode

_TIMEOUT_S: Final = 60
_MAX_TEXT_BYTES: Final = 16_000_000
_OPTIONS: Final = (
    "--no-pager",
    "--no-replace-objects",
    "--literal-pathspecs",
    *(
        part
        for setting in (
            "color.ui=false",
            "core.attributesFile=",
            "diff.ignoreSubmodules=none",
            "diff.indentHeuristic=true",
            "diff.mnemonicPrefix=false",
            "diff.noprefix=false",
            f"diff.orderFile={os.devnull}",
            "diff.renameLimit=1000",
            "diff.submodule=short",
            "i18n.logOutputEncoding=UTF-8",
            "log.follow=false",
            "log.showSignature=false",  # runs gpg.program
        )
        for part in ("-c", setting)
    ),
)
_ENVIRONMENT: Final = {"GIT_GRAFT_FILE": os.devnull, "LC_ALL": "C"}
_KEPT_VARIABLES: Final = re.compile("GIT_(CONFIG_.*|EXEC_PATH|SSL_.*)")
_REVISION: Final = re.compile(r"[^-\s][^\s\0]*")


def _is_excluded(name: str) -> bool:
    return name.startswith("GIT_") and _KEPT_VARIABLES.fullmatch(name) is None


@dataclass(frozen=True)
class GitHistory:
    """Reader of the repository around a folder.

    Attributes:
        root: The indexed folder.
        prefix: Path of the folder below the top of the working tree, with a slash at its end; empty at the top.
        common_dir: Git directory shared by all working trees.
        head: Id of the commit ``HEAD``; empty without one.
        is_shallow: Whether commits beyond a boundary are missing.
        id_bytes: Length of an object id: 20, or 32 in a SHA-256 repository.
    """

    root: Path
    prefix: str
    common_dir: Path
    head: str
    is_shallow: bool
    id_bytes: int

    @classmethod
    def open(cls, root: Path) -> "GitHistory":
        """Open the repository around a folder.

        Raises:
            HistoryError: There is no git or no repository, or git refuses it.
        """
        if find_git(root) is None:
            raise HistoryError("git is not installed", hint="Install git to read the history.", state="no_git")
        arguments = [
            "rev-parse",
            "--show-prefix",
            "--git-common-dir",
            "--is-shallow-repository",
            "--show-object-format",
        ]
        result = _run(root, [*arguments, "HEAD^{commit}"]) if find_repository(root) is not None else None
        if result is not None and result.returncode != 0:  # perhaps only because there is no commit
            result = _run(root, arguments)
        if result is None or result.returncode != 0:
            reason = os.fsdecode(result.stderr).strip().removeprefix("fatal: ") if result is not None else ""
            message = "this folder is not in a git repository" + (f" that git can read: {reason}" if reason else "")
            raise HistoryError(message, hint="Run the command inside a git working tree.", state="no_repository")
        prefix, common_dir, shallow, algorithm, head = os.fsdecode(result.stdout).split("\n")[:5]
        id_bytes = 32 if algorithm == "sha256" else 20
        return cls(root, prefix, (root / common_dir).resolve(), head, shallow == "true", id_bytes)

    def run(self, *arguments: str, stdin: bytes | None = None, timeout_s: float = _TIMEOUT_S) -> bytes:
        """Run a command and return its output.

        Raises:
            HistoryError: It failed or took too long.
        """
        result = _run(self.root, arguments, stdin=stdin, timeout_s=timeout_s)
        if result is None:
            raise HistoryError(f"git {arguments[0]} did not finish within {timeout_s:g} s", hint="Try again.")
        if result.returncode != 0:
            raise HistoryError(describe_failure(arguments[0], os.fsdecode(result.stderr)), state="failed")
        return result.stdout

    def try_run(self, *arguments: str, stdin: bytes | None = None) -> bytes | None:
        """Run a command and return its output; None if it fails."""
        result = _run(self.root, arguments, stdin=stdin)
        return result.stdout if result is not None and result.returncode == 0 else None

    def open_process(
        self, *arguments: str, has_input: bool = False, stdin: bytes | None = None
    ) -> AbstractContextManager[GitProcess | None]:
        """Run a command whose output is read as it comes, see `open_git_process`."""
        return open_git_process(
            self.root,
            [*_OPTIONS, *arguments],
            is_excluded=_is_excluded,
            environment=_ENVIRONMENT,
            has_input=has_input,
            stdin=stdin,
        )

    def find_commit(self, revision: str) -> str | None:
        """Return the id of the commit that a revision names, such as a tag or ``HEAD~3``; None if there is none."""
        if not _REVISION.fullmatch(revision):
            return None
        output = self.try_run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        return output.decode("ascii", "replace").strip() if output else None

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Return whether a commit is reachable from another one."""
        return self.try_run("merge-base", "--is-ancestor", ancestor, descendant) is not None

    @cached_property
    def is_partial(self) -> bool:
        """True if contents are fetched on demand from another repository; they are never fetched here."""
        pattern = r"^(extensions\.partialclone|remote\..*\.promisor)$"
        return bool(self.try_run("config", "--get-regexp", pattern))

    @cached_property
    def boundary(self) -> frozenset[str]:
        """Commits whose parents are missing in a shallow clone."""
        if not self.is_shallow:
            return frozenset()
        try:
            return frozenset((self.common_dir / "shallow").read_text("ascii").split())
        except (OSError, ValueError):
            return frozenset()

    def find_kind(self, path: str) -> str:
        """Return what the commit ``HEAD`` has at a path, relative to the folder: ``blob``, ``tree``; empty for nothing."""
        output = self.try_run("cat-file", "-t", f"HEAD:./{path}")
        return output.decode("ascii", "replace").strip() if output is not None else ""

    def read_working_text(self, path: str) -> str:
        """Return the text of a file on disk; empty if it cannot be read."""
        try:
            content, _ = read_regular_file(self.root / path, _MAX_TEXT_BYTES)
        except OSError:
            return ""
        decoded = decode(content)
        return decoded.text if decoded is not None else ""


def _run(
    root: Path, arguments: Sequence[str], *, stdin: bytes | None = None, timeout_s: float = _TIMEOUT_S
) -> subprocess.CompletedProcess[bytes] | None:
    return run_git_command(
        root,
        [*_OPTIONS, *arguments],
        is_excluded=_is_excluded,
        timeout_s=timeout_s,
        environment=_ENVIRONMENT,
        stdin=stdin,
    )


def describe_failure(command: str, error: str) -> str:
    """Describe the failure of a git command by the last line of its messages."""
    lines = [line.removeprefix("fatal: ") for line in error.strip().splitlines() if line]
    return f"git {command} failed: {lines[-1] if lines else 'no message'}"
