"""A real `sshd` on the loopback for tests of git over SSH, where it is installed; without it the test is skipped aloud."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

SSHD = shutil.which("sshd", path=f"/usr/sbin{os.pathsep}/usr/local/sbin{os.pathsep}{os.environ.get('PATH', '')}")


class SshServer:
    """Accepts the keys in `authorized`, for the account that runs the tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.user = getpass.getuser()
        self.authorized = folder / "authorized_keys"
        self.authorized.touch()
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = taken.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self.create_host_key()

    def url(self, path: Path) -> str:
        return f"ssh://{self.user}@127.0.0.1:{self.port}{path}"

    def create_host_key(self) -> None:
        """Create a new host key."""
        for name in ("host", "host.pub"):
            (self.folder / name).unlink(missing_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / "host")], check=True)

    def start(self) -> None:
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # it changes its root to it
        lines = [f"Port {self.port}", "ListenAddress 127.0.0.1", f"HostKey {self.folder / 'host'}", "PidFile none"]
        lines += [f"AuthorizedKeysFile {self.authorized}", "StrictModes no", "UsePAM no", "PasswordAuthentication no"]
        lines += ["KbdInteractiveAuthentication no", "PermitRootLogin prohibit-password"]
        config = self.folder / "sshd_config"
        config.write_text("\n".join(lines) + "\n")
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen([str(SSHD), "-D", "-e", "-f", str(config)], stdout=log, stderr=log)
        end = time.monotonic() + 20
        while self._process.poll() is None and time.monotonic() < end:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.05)
        pytest.skip(f"sshd does not start here: {(self.folder / 'log').read_text()[-300:]}")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)


@contextmanager
def open_ssh_server(folder: Path) -> Iterator[SshServer]:
    """Run a server with its files in a folder."""
    if SSHD is None or shutil.which("ssh-keygen") is None:
        pytest.skip("sshd is not installed (Debian: openssh-server)")
    folder.mkdir(parents=True, exist_ok=True)
    server = SshServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
