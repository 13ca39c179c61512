"""Patches applied to HEAD in a staging area of their own: neither the repository nor its working tree changes."""

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from coderag.errors import InvalidQueryError
from coderag.ingestion.files.git_repository import GitRepository, run_git, try_git

_FORMS: Final = (("-p1",), ("-p0",), ("-p1", "--unidiff-zero"), ("-p0", "--unidiff-zero"))
"""Options for paths with the prefixes ``a/`` and ``b/`` of git, without them, and for changes without lines around them."""

_MAX_ERROR_LINES: Final = 3
_HUNK: Final = re.compile(rb"^(?:@@ -|GIT binary patch|rename from |new file mode |deleted file mode |old mode )", re.M)


@contextmanager
def apply_patch(repository: GitRepository, patch: bytes, commit: str) -> Iterator[Mapping[str, str]]:
    """Apply a patch to a commit; yield the variables by which git finds the result as its staging area.

    Args:
        repository: The repository.
        patch: A unified diff, as of ``git diff``, ``git format-patch`` or ``diff -u``.
        commit: Commit to apply it to; empty for an empty tree.

    Raises:
        InvalidQueryError: It is no patch, or does not apply.
    """
    if not _HUNK.search(patch):
        hint = "Give the output of `git diff`, a revision such as HEAD~1, or a range such as main..HEAD."
        raise InvalidQueryError("the patch has no change: no line begins with '@@ -'", hint=hint)
    with tempfile.TemporaryDirectory(prefix="coderag-patch-") as folder:
        objects = Path(folder, "objects")
        objects.mkdir()
        variables = {
            "GIT_INDEX_FILE": str(Path(folder, "index")),
            "GIT_OBJECT_DIRECTORY": str(objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quote_directory(repository.common_dir / "objects"),
        }
        if commit and run_git(repository.top, "read-tree", commit, variables=variables) is None:
            raise InvalidQueryError(f"git cannot read the files of {commit[:12]} in {repository.top}")
        _apply(repository.top, patch, variables)
        yield variables


def _apply(top: Path, patch: bytes, variables: Mapping[str, str]) -> None:
    messages: list[str] = []
    for options in _FORMS:
        arguments = ("apply", "--cached", "--whitespace=nowarn", *options, "-")
        process = try_git(top, *arguments, data=patch, variables=variables)
        if process is None:
            raise InvalidQueryError("git is not available", hint="Install git, and check that `git status` works.")
        if process.returncode == 0:
            return
        messages.append(process.stderr.decode("utf-8", "replace"))
    reasons = [line.removeprefix("error: ") for line in messages[0].splitlines() if line.startswith("error: ")]
    reason = "; ".join(reasons[:_MAX_ERROR_LINES]) or messages[0].strip()
    hint = "Check out the commit that the patch was made for, or rebase the patch."
    raise InvalidQueryError(f"the patch does not apply to HEAD: {reason}", hint=hint)


def _quote_directory(folder: Path) -> str:
    """Quote a folder for git's list of folders, which ends an item at ``:`` or ``;``."""
    text = str(folder)
    return f'"{text}"' if re.search(r'[:;"]', text[2:]) else text
