"""Isolated service: a copy of a repository and an empty home, nothing shared with the user's service."""

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

from .processes import is_running, list_descendants

_START_S: Final = 60.0
_END_S: Final = 20.0
_PAUSE_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Folders and command of one run.

    Attributes:
        root: Copy of the repository.
        home: Home folder of all processes, with the service's files.
        command: Path of ``coderag`` in this environment.
    """

    root: Path
    home: Path
    command: str

    @classmethod
    def create(cls, folder: Path, source: Path) -> "Sandbox":
        """Create a sandbox in an empty folder, with a copy of a repository under git."""
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
        """Environment variables of every process of the run."""
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("CODERAG_", "XDG_", "GIT_"))
        }
        author = {f"GIT_{who}_{what}": "load" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        return {
            **inherited,
            **author,
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.home / "run"),
            "CODERAG_SERVICE__REQUESTS_PER_MINUTE": "1000000",
        }

    def run(self, *arguments: str, timeout_s: float = 300) -> "subprocess.CompletedProcess[str]":
        """Run a ``coderag`` command to completion."""
        return subprocess.run(
            [self.command, *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def start(self) -> "subprocess.Popen[bytes]":
        """Start the service and return once it answers.

        Raises:
            RuntimeError: The service does not start in time.
        """
        log = (self.home / "service.log").open("ab")
        service = subprocess.Popen([self.command, "serve"], env=self.environment, stdout=log, stderr=log)
        log.close()
        ends = time.monotonic() + _START_S
        while time.monotonic() < ends and service.poll() is None:
            address = self.read_address()
            if address.get("pid") == service.pid:
                return service
            time.sleep(_PAUSE_S)
        service.kill()
        raise RuntimeError(f"the service does not start: {(self.home / 'service.log').read_text()[-2_000:]}")

    def read_address(self) -> Mapping[str, str | int]:
        """Return the content of the service's address file; empty while there is none."""
        with suppress(OSError, ValueError):
            address: dict[str, str | int] = json.loads((self.home / "run" / "coderag" / "service.json").read_bytes())
            return address
        return {}


def find_survivors(pids: "set[int]") -> list[int]:
    """Return the processes that are still running after the time that they have to end."""
    ends = time.monotonic() + _END_S
    while time.monotonic() < ends and any(map(is_running, pids)):
        time.sleep(_PAUSE_S)
    return sorted(filter(is_running, pids))


def list_family(pid: int) -> set[int]:
    """Return a process and all its descendants."""
    return {pid, *list_descendants(pid)}
