"""A service of its own: a repository that is a copy, a home that is empty, nothing shared with that of the user."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .processes import descendants, is_running

_START_S: Final = 60.0
_END_S: Final = 20.0
_PAUSE_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Folders of one run.

    Attributes:
        root: The repository.
        home: The home folder of all processes; the service's files are below it.
        command: The ``coderag`` of this environment.
    """

    root: Path
    home: Path
    command: str

    @classmethod
    def make(cls, folder: Path, source: Path) -> "Sandbox":
        """Return a sandbox in an empty folder with a copy of a repository's Python files, under git."""
        root, home = folder / "repository", folder / "home"
        shutil.copytree(
            source, root, ignore=shutil.ignore_patterns(".git", ".venv", ".coderag", "node_modules", "*.pyc")
        )
        home.mkdir()
        (home / "run").mkdir(mode=0o700)
        sandbox = cls(root, home, str(Path(sys.executable).with_name("coderag")))
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "begin"]):
            subprocess.run(
                ["git", *arguments], cwd=root, env=sandbox.environment, check=True, stdout=subprocess.DEVNULL
            )
        return sandbox

    @property
    def environment(self) -> dict[str, str]:
        """Variables of every process of the run."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CODERAG_", "XDG_", "GIT_"))}
        author = {f"GIT_{who}_{what}": "load" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        return {
            **kept,
            **author,
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.home / "run"),
            "CODERAG_SERVICE__REQUESTS_PER_MINUTE": "1000000",
        }

    def run(self, *arguments: str, timeout_s: float = 300) -> "subprocess.CompletedProcess[str]":
        """Run a command of CodeRAG to its end."""
        return subprocess.run(
            [self.command, *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def start(self) -> "subprocess.Popen[bytes]":
        """Start the service and return when it answers.

        Raises:
            RuntimeError: It does not.
        """
        log = (self.home / "service.log").open("ab")
        service = subprocess.Popen([self.command, "serve"], env=self.environment, stdout=log, stderr=log)
        log.close()
        ends = time.monotonic() + _START_S
        while time.monotonic() < ends and service.poll() is None:
            address = self.address()
            if address.get("pid") == service.pid:
                return service
            time.sleep(_PAUSE_S)
        service.kill()
        raise RuntimeError(f"the service does not start: {(self.home / 'service.log').read_text()[-2_000:]}")

    def address(self) -> Mapping[str, str | int]:
        """Return what the service tells of itself; nothing while there is none."""
        with suppress(OSError, ValueError):
            found: dict[str, str | int] = json.loads((self.home / "run" / "coderag" / "service.json").read_bytes())
            return found
        return {}


def left_behind(pids: "set[int]") -> list[int]:
    """Return which of some processes still live after a while that is long enough to end."""
    ends = time.monotonic() + _END_S
    while time.monotonic() < ends and any(map(is_running, pids)):
        time.sleep(_PAUSE_S)
    return sorted(filter(is_running, pids))


def family(pid: int) -> set[int]:
    """Return a process and all below it."""
    return {pid, *descendants(pid)}
