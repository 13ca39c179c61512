"""Small git repositories with real histories, made by git itself."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


class GitFolder:
    """A git repository whose commits are one day apart, independent of the user's settings.

    Args:
        path: Folder; created if missing.
        init: Arguments of ``git init``; None for an existing repository.
    """

    def __init__(self, path: Path, *init: str, existing: bool = False) -> None:
        self.path = path
        self._day = 0
        path.mkdir(parents=True, exist_ok=True)
        if not existing:
            self.git("init", "-q", "-b", "main", *init)

    def git(self, *arguments: str, stdin: bytes = b"", **variables: str) -> str:
        """Run git and return its output without the last line end."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment |= {
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@x.test", "GIT_COMMITTER_NAME": "Ann",
            "GIT_COMMITTER_EMAIL": "ann@x.test", "GIT_ALLOW_PROTOCOL": "file", **variables,
        }  # fmt: skip
        result = subprocess.run(
            ["git", *arguments], cwd=self.path, env=environment, input=stdin, capture_output=True, check=False
        )
        assert result.returncode == 0, result.stderr.decode()
        return result.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")

    def write(self, path: str, content: str | bytes) -> None:
        """Write a file."""
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, message: str | bytes, files: Mapping[str, str | bytes] | None = None, author: str = "Ann") -> str:
        """Write files, commit everything and return the commit's id."""
        for path, content in (files or {}).items():
            self.write(path, content)
        self.git("add", "-A")
        text = message.encode() if isinstance(message, str) else message
        self.git("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-F", "-", stdin=text, **self._sign(author))
        return self.git("rev-parse", "HEAD")

    def commit_tree(self, message: str | bytes, *parents: str) -> str:
        """Commit what is staged with given parents, and move the branch there."""
        tree = self.git("write-tree")
        options = [part for parent in parents for part in ("-p", parent)]
        text = message.encode() if isinstance(message, str) else message
        commit = self.git("commit-tree", tree, *options, "-F", "-", stdin=text, **self._sign("Ann"))
        self.git("reset", "-q", "--hard", commit)
        return commit

    def _sign(self, author: str) -> dict[str, str]:
        self._day += 1
        date = f"{1_600_000_000 + 86_400 * self._day} +0200"
        email = f"{author.lower()}@x.test"
        return {
            "GIT_AUTHOR_NAME": author,
            "GIT_AUTHOR_EMAIL": email,
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_DATE": date,
        }
