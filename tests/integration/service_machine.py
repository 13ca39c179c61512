"""A user's machine: a home, a runtime directory, a repository, and the command line as processes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coderag.service.client import STATUS_PATH, ServiceClient
from coderag.service.processes import is_alive
from coderag.service.service_address import ServiceAddress

CHECKOUT = Path(__file__).parents[2]
DEADLINE_S = 90.0

FILES = {
    "shop/auth.py": '''"""Logins."""


def verify(user: str, password: str) -> bool:
    """Whether the password is right."""
    return password == "x" + user


def login(user: str, password: str) -> str:
    """Open a session for a user."""
    if not verify(user, password):
        raise PermissionError(user)
    return "session of " + user
''',
    "shop/main.py": "from shop.auth import login, verify\n\n\ndef main() -> None:\n    print(login('a', 'xa'), verify('a', 'b'))\n",  # noqa: E501
    "shop/other.py": 'def verify(number: int) -> bool:\n    """Whether a number is right."""\n    return number > 0\n',
    "README.md": "# Shop\n\nTo log in, call `login`.\n",
}


def write_repository(root: Path) -> Path:
    """Write a small repository."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def wait_until(condition: Callable[[], object], what: str, seconds: float = DEADLINE_S) -> None:
    """Wait for a condition, and fail if it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come within {seconds} s"
        time.sleep(0.02)


class Machine:
    """Runs commands as processes of one user.

    Args:
        home: The user's home; the runtime directory is in it.
        root: The repository that commands work in.
    """

    def __init__(self, home: Path, root: Path) -> None:
        self.root = root
        self.runtime = home / "run"
        self.runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.variables = {"HOME": str(home), "USERPROFILE": str(home), "XDG_RUNTIME_DIR": str(self.runtime)}
        folders = {"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".data", "XDG_CACHE_HOME": ".cache"}
        self.variables |= {name: str(home / folder) for name, folder in folders.items()}

    def environment(self, **variables: str) -> dict[str, str]:
        """Return the environment of its processes."""
        return {**os.environ, "PYTHONPATH": str(CHECKOUT), **self.variables, **variables}

    def run(self, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end."""
        return subprocess.run(
            [sys.executable, "-m", "coderag", *arguments],
            check=False,
            env=self.environment(**variables),
            cwd=self.root,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=DEADLINE_S,
            stdin=subprocess.DEVNULL,
        )

    def spawn(self, *arguments: str, **variables: str) -> "subprocess.Popen[str]":
        """Start a command."""
        return subprocess.Popen(
            [sys.executable, "-m", "coderag", *arguments],
            env=self.environment(**variables),
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    @property
    def address(self) -> dict[str, Any]:
        """What the file of the service says; empty without one."""
        try:
            told: dict[str, Any] = json.loads((self.runtime / "coderag/service.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return told

    @property
    def status(self) -> dict[str, Any]:
        """What the service says of itself."""
        told: dict[str, Any] = ServiceClient(ServiceAddress(**self.address)).call("GET", STATUS_PATH)
        return told

    @property
    def requests(self) -> int:
        """How many requests the service has had, this one included."""
        return int(self.status["requests"])

    def start(self, *options: str, **variables: str) -> int:
        """Start a service in the background, and return its process."""
        done = self.run("serve", "--background", *options, **variables)
        assert done.returncode == 0, done.stderr
        return int(self.address["pid"])

    def stop(self) -> None:
        """End the service, whatever it takes."""
        pid = self.address.get("pid", 0)
        self.run("serve", "--stop")
        if pid:
            wait_until(lambda: not is_alive(pid), "the end of the service")

    def kill(self) -> int:
        """Kill the service without a word."""
        pid = int(self.address["pid"])
        os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        wait_until(lambda: not is_alive(pid), "the end of the service")
        return pid
