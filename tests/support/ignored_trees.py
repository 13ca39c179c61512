"""A tree of files, and what git and we ignore in it."""

import os
import subprocess
from pathlib import Path

from coderag.ingestion.files.ignore import IgnoreRules

TREE = """a b ab A .x a.c b.c ] [a] !a #a - xab
    d/ d/a d/b d/a.c d/ab d/d/ d/d/a d/d/b d/d/é d/x/ d/x/a d/x/b/ d/x/b/a d/x/b/ab d/.x
    x/ x/a x/b x/a.c x/d/ x/d/a x/d/b x/A x/[a] x/b.c
    ad/ ad/b ad/x/ ad/x/b D/ D/a é/ é/a é/d/ é/d/b"""
POSIX_ONLY = ["a ", "a b", "a\tb", "d/a ", "a\nb", "a\\", "\\", "d/a\\", "*", "a*b"]


def git(directory: Path, *arguments: str, stdin: str = "") -> bytes:
    """Return what git prints; its failures are not checked."""
    return subprocess.run(
        ["git", *arguments], cwd=directory, input=os.fsencode(stdin), capture_output=True, check=False
    ).stdout


def make_tree(root: Path, paths: list[str]) -> None:
    """Make empty files and, for paths ending in ``/``, folders."""
    for path in paths:
        if path.endswith("/"):
            (root / path).mkdir(parents=True, exist_ok=True)
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).touch()


def make_repository(root: Path) -> Path:
    """Make a repository with a file for every pattern that is tried, and return its root."""
    git(root, "init", "-q")
    make_tree(root, [*TREE.split(), *(POSIX_ONLY if os.name == "posix" else [])])
    return root


def _every_path(root: Path) -> list[str]:
    return [path.relative_to(root).as_posix() for path in root.rglob("*") if ".git" not in path.relative_to(root).parts]


def ignored_by_git(root: Path) -> set[str]:
    """Return the relative paths that git leaves out, tracked or not."""
    listed = git(root, "check-ignore", "--no-index", "-z", "--stdin", stdin="\0".join(_every_path(root)))
    return set(os.fsdecode(listed).split("\0")) - {""}


def ignored_by_us(root: Path) -> set[str]:
    """Return the relative paths that `IgnoreRules` leave out, and everything below them."""
    found: set[str] = set()
    pending = [(root, IgnoreRules.load_for_root(root))]
    while pending:
        directory, rules = pending.pop()
        for path in directory.iterdir():
            if path.name == ".git":
                continue
            if rules.find_ignore_reason(path.name, path.is_dir()):
                below = path.rglob("*") if path.is_dir() else ()
                found.update(one.relative_to(root).as_posix() for one in (path, *below))
            elif path.is_dir():
                pending.append((path, rules.enter_directory(path)))
    return found
