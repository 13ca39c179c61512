"""A real PostgreSQL server for tests, where its programs are installed; without them the test is skipped aloud."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


def find_program(name: str) -> str | None:
    """Return where a program of PostgreSQL is; Debian has them outside of the path."""
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or next((str(path) for path in debian), None)


@contextmanager
def open_postgres(folder: Path) -> Iterator[str]:
    """Run a server in a folder; yield the URL of an empty database."""
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    initdb, postgres = find_program("initdb"), find_program("postgres")
    if not (initdb and postgres):
        pytest.skip("PostgreSQL's initdb and postgres are not installed")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    account = {}
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # PostgreSQL refuses to run as root
        account = {"user": "nobody", "group": "nogroup", "extra_groups": []}
        for parent in (folder, *folder.parents):
            with suppress(PermissionError):
                parent.chmod(parent.stat().st_mode | 0o111)
        shutil.chown(folder, "nobody", "nogroup")
    data = folder / "data"
    command = [initdb, "-D", data, "-U", "server", "-A", "trust", "-E", "UTF8", "--no-sync"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, **account)
    if result.returncode:
        pytest.skip(f"PostgreSQL cannot be set up here: {result.stderr[-300:]}")
    command = [postgres, "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", "", "-F"]
    with (folder / "log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, **account)
    try:
        url = f"postgresql://server@127.0.0.1:{port}/postgres"
        _wait_for(url, process)
        yield url
    finally:
        process.send_signal(signal.SIGINT)  # waits for no client, unlike SIGTERM
        process.wait(30)


def _wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    import psycopg

    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        with suppress(psycopg.OperationalError), psycopg.connect(url, connect_timeout=2):
            return
        time.sleep(0.1)
    pytest.skip("PostgreSQL does not start here")
