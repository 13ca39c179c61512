"""Git repositories of a run: copies of given folders, each with a token of its own and a numbered marker."""

import os
import shutil
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

MARKER_PATH: Final = "load_marker.py"
_IGNORED: Final = shutil.ignore_patterns(".git", ".venv", ".coderag", "node_modules", "__pycache__", "*.pyc")
_AUTHOR: Final = {f"GIT_{who}_{what}": "load" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@dataclass(slots=True)
class Origin:
    """A bare repository with a working tree beside it.

    Attributes:
        name: Name of the repository on the server.
        token: Word that no other repository has, and that only who sees it may ever read.
        bare: The bare repository.
        work: The working tree.
        number: Number of the newest pushed marker.
        commit: Newest pushed commit.
    """

    name: str
    token: str
    bare: Path
    work: Path
    number: int = 0
    commit: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def marker(self) -> str:
        """Name of the function that the newest push added."""
        return f"marker_{self.token}_{self.number}"

    def push(self) -> str:
        """Push an edit, and return its commit."""
        with self.lock:
            number = self.number + 1
            text = f'"""Marker of the repository {self.token}."""\n\n\n'
            text += f"def marker_{self.token}_{number}():\n"
            text += f'    """Return the number of the last push to {self.token}."""\n    return {number}\n'
            (self.work / MARKER_PATH).write_text(text, encoding="utf-8")
            run_git(self.work, "add", "--all", "--force")
            run_git(self.work, "commit", "--quiet", "-m", f"Push {number}")
            run_git(self.work, "push", "--quiet", "origin", "HEAD:main")
            self.number, self.commit = number, run_git(self.work, "rev-parse", "HEAD")
            return self.commit


def create_origin(folder: Path, source: Path, number: int) -> Origin:
    """Create a repository with a copy of a folder, and push its first commit."""
    name = f"repository-{number}"
    origin = Origin(name, f"zq{number:03}x{number * 7_919 % 1_000:03}", folder / f"{name}.git", folder / f"{name}.work")
    shutil.copytree(source, origin.work, ignore=_IGNORED)
    run_git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(origin.bare))
    run_git(origin.work, "init", "--quiet", "--initial-branch=main")
    run_git(origin.work, "remote", "add", "origin", str(origin.bare))
    origin.push()
    return origin


def run_git(folder: Path, *arguments: str) -> str:
    """Run git, and return what it prints."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["git", *arguments], cwd=folder, env={**inherited, **_AUTHOR}, check=True, capture_output=True, text=True
    ).stdout.strip()
