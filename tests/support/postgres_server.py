"""A real PostgreSQL server for the tests, started once a session where its programs are installed; else a visible skip.

Fixtures, known in every test: `postgres_server`, `postgres_url` (a new database), `database_url` (SQLite and PostgreSQL).
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

_USER = "coderag"
_START_S = 60


class PostgresServer:
    """A server on a port of the loopback. PostgreSQL refuses to run as root, so another account runs it there."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self._account: dict[str, object] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def initialise(self) -> None:
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            import pwd

            nobody = pwd.getpwnam("nobody")
            self._account = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
        command = [_find_program("initdb"), "-D", self.folder / "data", "-U", _USER, "-A", "trust", "-E", "UTF8"]
        finished = subprocess.run(
            [*command, "--no-sync"], cwd=self.folder, capture_output=True, text=True, check=False, **self._account
        )
        if finished.returncode:
            pytest.skip(f"PostgreSQL cannot be set up here: {finished.stderr[-300:]}")

    def get_url(self, name: str = "postgres") -> str:
        return f"postgresql://{_USER}@127.0.0.1:{self.port}/{name}"

    def start(self) -> None:
        command = [_find_program("postgres"), "-D", self.folder / "data", "-p", str(self.port)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "-h", "127.0.0.1", "-k", "", "-F"], cwd=self.folder, stdout=log, stderr=log, **self._account
            )
        self._wait()

    def stop(self) -> None:
        """Stop it as an administrator does in a hurry: all connections are ended at once."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(60)
            self._process = None

    def kill(self) -> None:
        """Kill it: the other processes of the server notice and end themselves."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(60)
        self._process = None
        while _is_answering(self.port):
            time.sleep(0.05)

    @contextmanager
    def stopped(self):
        """Stop it for the block."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def create_database(self) -> str:
        """Create a database and return its URL."""
        name = f"test_{uuid.uuid4().hex}"
        self.execute(f"CREATE DATABASE {name}")
        return self.get_url(name)

    def drop_database(self, url: str) -> None:
        self.execute(f"DROP DATABASE IF EXISTS {url.rpartition('/')[2]} WITH (FORCE)")

    def execute(self, statement: str, database: str = "postgres"):
        import psycopg

        with psycopg.connect(self.get_url(database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def _wait(self) -> None:
        import psycopg

        end = time.monotonic() + _START_S
        while self._process is not None and self._process.poll() is None and time.monotonic() < end:
            with suppress(psycopg.OperationalError), psycopg.connect(self.get_url(), connect_timeout=2):
                return
            time.sleep(0.05)
        pytest.skip("PostgreSQL does not start here: " + (self.folder / "log").read_text(errors="replace")[-300:])


def find_free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.fixture(scope="session")
def postgres_server(_isolated_session):
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    for name in ("initdb", "postgres"):
        if _find_program(name) is None:
            pytest.skip(f"PostgreSQL's {name} is not installed")
    folder = Path(tempfile.mkdtemp(prefix="coderag-postgres-"))  # other accounts may not enter pytest's folder
    server = PostgresServer(folder, find_free_port())
    try:
        server.initialise()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server):
    """URL of a new and empty database."""
    url = postgres_server.create_database()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request, tmp_path):
    """URL of a new and empty database, on SQLite and on PostgreSQL."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path / 'server.sqlite'}"


def _find_program(name: str) -> str | None:
    """Find a program of PostgreSQL; Debian has them outside of the path."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return shutil.which(name) or next((str(path / name) for path in folders if (path / name).exists()), None)


def _is_answering(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
