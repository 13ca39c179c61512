"""SIGHUP reads the settings of a running server again, and loses no request."""

import os
import signal
import subprocess
import sys
import threading
import time

import httpx
import pytest

from coderag.server.initialization import initialize
from coderag.server.settings import ServerSettings

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="the system has no SIGHUP"),
]


@pytest.fixture
def server(tmp_path):
    key = initialize(ServerSettings(data=tmp_path / "data"), "Ada", "ada@example.org").secret
    (tmp_path / "server.yaml").write_text("limits: {requests_per_minute: 0}\n")
    environment = {**os.environ, "CODERAG_SERVER_DATA": str(tmp_path / "data"), "CODERAG_SERVER_PORT": "0"}
    command = [sys.executable, "-m", "coderag", "server", "start"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=log)
    try:
        line = process.stdout.readline().decode()
        assert line.startswith("serving at "), (tmp_path / "log").read_text()
        client = httpx.Client(base_url=line.split()[-1], headers={"authorization": f"Bearer {key}"}, timeout=60)
        with client:
            yield process, client, tmp_path
    finally:
        process.terminate()
        assert process.wait(60) == 0
        process.stdout.close()


def write_and_reload(process, folder, text, expected):
    (folder / "server.yaml").write_text(text)
    process.send_signal(signal.SIGHUP)
    end = time.monotonic() + 60
    while expected not in (folder / "log").read_text():
        assert time.monotonic() < end, (folder / "log").read_text()
        time.sleep(0.1)


def test_new_limits_hold_and_an_invalid_file_changes_nothing(server):
    process, client, folder = server
    write_and_reload(process, folder, "limits: {requests_per_minute: many}\n", "the settings in force stay")
    assert {client.get("/api/v1/server/me").status_code for _ in range(3)} == {200}
    write_and_reload(process, folder, "limits: {requests_per_minute: 1}\nhost: 127.0.0.2\n", "were read again")
    assert 429 in {client.get("/api/v1/server/me").status_code for _ in range(4)}
    assert "need a restart: host" in (folder / "log").read_text()


def test_no_request_is_lost_while_settings_are_read_again(server):
    process, client, folder = server
    statuses, stopping = [], threading.Event()

    def ask():
        while not stopping.is_set():
            statuses.append(client.get("/api/v1/server/me").status_code)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(1, 4):
        (folder / "log").write_text("")
        write_and_reload(process, folder, f"limits: {{requests_per_day: {number}00000}}\n", "were read again")
    stopping.set()
    for thread in threads:
        thread.join()
    assert len(statuses) > 3
    assert set(statuses) == {200}
