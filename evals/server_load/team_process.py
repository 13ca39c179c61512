"""The process of a team server, on a data folder of its own."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from evals.service.processes import list_descendants

_ADDRESS: Final = re.compile(r"http://127\.0\.0\.1:\d+")
_START_S: Final = 60.0
_END_S: Final = 60.0
_PAUSE_S: Final = 0.05


class TeamProcess:
    """Starts, stops and kills ``coderag server start``.

    Args:
        folder: Folder of the run; its data folder and the log lie in it.
        variables: Further environment variables.
    """

    def __init__(self, folder: Path, variables: Mapping[str, str] | None = None) -> None:
        self.data = folder / "data"
        self.log = folder / "server.log"
        self.url = ""
        self._command = str(Path(sys.executable).with_name("coderag"))
        self._home = folder / "home"
        self._home.mkdir(parents=True, exist_ok=True)
        self._variables = dict(variables or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Id of the process."""
        if self._process is None:
            raise RuntimeError("the server is not started")
        return self._process.pid

    def run(self, *arguments: str) -> str:
        """Run a command of ``coderag server``, and return what it prints.

        Raises:
            RuntimeError: It fails.
        """
        command = [self._command, "server", *arguments, "--data", str(self.data)]
        done = subprocess.run(
            command, cwd=self._home, env=self._build_environment(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"`coderag server {' '.join(arguments)}` failed: {done.stderr[-2_000:]}")
        return done.stdout.strip()

    def initialize(self) -> str:
        """Initialise the data folder, and return the key of the owner."""
        return self.run("init", "--name", "Owner", "--email", "owner@example.org")

    def start(self) -> None:
        """Start the server, and return when it listens.

        Raises:
            RuntimeError: It does not start in time.
        """
        size = self.log.stat().st_size if self.log.exists() else 0
        command = [self._command, "server", "start", "--port", "0", "--data", str(self.data)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self._home, env=self._build_environment(), stdout=log, stderr=log, start_new_session=True
            )
        ends = time.monotonic() + _START_S
        while time.monotonic() < ends and self._process.poll() is None:
            if announced := _ADDRESS.search(self.log.read_bytes()[size:].decode("utf-8", "replace")):
                self.url = announced[0]
                return
            time.sleep(_PAUSE_S)
        self.kill()
        raise RuntimeError(f"the server does not start: {self.log.read_text(encoding='utf-8')[-2_000:]}")

    def list_processes(self) -> list[int]:
        """Return the server's process and its descendants."""
        return [self.pid, *list_descendants(self.pid)]

    def kill(self) -> None:
        """End the server at once, as a crash would; its descendants have to end by themselves."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> int:
        """End the server gracefully, and return its exit status."""
        if self._process is None:
            return 0
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def _build_environment(self) -> dict[str, str]:
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("CODERAG_", "XDG_", "GIT_"))
        }
        return {
            **inherited,
            "HOME": str(self._home),
            "CODERAG_SERVER_REPOSITORIES__SCHEMES": '["http"]',
            "CODERAG_SERVER_REPOSITORIES__ALLOWED_HOSTS": '["127.0.0.1"]',
            **self._variables,
        }
