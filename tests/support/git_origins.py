"""Bare repositories that a git server serves, and commits in them."""

import shutil
import subprocess
from pathlib import Path


class GitOrigin:
    """A bare repository with a working tree beside it, from which commits are pushed."""

    def __init__(self, folder: Path, name: str = "shop.git", branch: str = "main") -> None:
        self.bare = folder / name
        self.work = folder / f"{name}.work"
        self.branch = branch
        self.bare.parent.mkdir(parents=True, exist_ok=True)
        self.git(folder, "init", "--quiet", "--bare", f"--initial-branch={branch}", str(self.bare))
        self.git(folder, "init", "--quiet", f"--initial-branch={branch}", str(self.work))
        self.git(self.work, "remote", "add", "origin", str(self.bare))

    @staticmethod
    def git(folder: Path, *arguments: str) -> str:
        """Run git as a user would."""
        return subprocess.run(
            ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
        ).stdout.strip()

    def write(self, files: dict[str, str | bytes | None]) -> None:
        """Write files of the working tree; None removes one."""
        for name, content in files.items():
            path = self.work / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: dict[str, str | bytes | None], message: str = "Change", branch: str = "") -> str:
        """Commit files and push them; return the commit."""
        self.write(files)
        self.git(self.work, "add", "--all", "--force")
        return self.push(message, branch)

    def replace_all(self, files: dict[str, str | bytes | None]) -> str:
        """Commit files as the only ones, and push them; return the commit."""
        for path in self.work.iterdir():
            if path.is_dir() and path.name != ".git":
                shutil.rmtree(path)
            elif path.is_file():
                path.unlink()
        return self.commit(files)

    def push(self, message: str = "Change", branch: str = "") -> str:
        """Commit what is staged and push it; return the commit."""
        self.git(self.work, "commit", "--quiet", "--allow-empty", "-m", message)
        self.git(self.work, "push", "--quiet", "--force", "--tags", "origin", f"HEAD:{branch or self.branch}")
        return self.git(self.work, "rev-parse", "HEAD")


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the files of a checkout without those of git and of the index."""
    return {
        str(path.relative_to(folder)): str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if (path.is_symlink() or path.is_file()) and path.relative_to(folder).parts[0] not in (".git", ".coderag")
    }
