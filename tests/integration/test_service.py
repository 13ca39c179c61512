"""The life of the service: started, used, ended, killed, replaced."""

import http.client
import json
import os
import shutil
import signal
import socket
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from coderag.errors import ServiceError
from coderag.interfaces.serve.activity import Activity
from coderag.interfaces.serve.asgi import compose
from coderag.interfaces.web.sessions import WebSessions
from coderag.service.client import REPOSITORY_PATH, ServiceClient
from coderag.service.processes import is_alive
from coderag.service.service_address import ServiceAddress
from coderag.workspace.workspace import Workspace
from tests.integration.service_machine import Machine, wait_until, write_repository

pytestmark = pytest.mark.slow  # each starts at least one service

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither Unix sockets nor these signals")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path / "home", write_repository(tmp_path / "repo"))
    yield machine
    machine.stop()


def get(machine: Machine, path: str, **headers: str) -> int:
    url = machine.address["url"].removeprefix("http://")
    connection = http.client.HTTPConnection(url, timeout=30)
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_service_is_started_used_and_ended_and_leaves_nothing(machine: Machine) -> None:
    pid = machine.start()
    assert machine.run("serve", "--status").returncode == 0
    assert "auth.py" in machine.run("search", "login").stdout
    status = json.loads(machine.run("serve", "--status", "--json").stdout)
    assert (status["running"], status["pid"], status["repositories"]) == (True, pid, [str(machine.root)])
    assert machine.address["token"] not in json.dumps(status)
    assert machine.run("serve", "--stop").returncode == 0
    wait_until(lambda: not is_alive(pid), "the end of the service")
    left = {path.name for path in (machine.runtime / "coderag").iterdir()}
    assert left == {"service.lock", "service.log", "web-session.key"}
    assert machine.run("serve", "--status").returncode == 40


async def refuse_web(port: int | None) -> str:
    raise ServiceError(f"no port {port}")


@pytest.mark.parametrize(
    "body", ["[" * 200_000, '{"root": "/", "variables": ["\\ud800"]}', '{"root": "/", "variables": 3}']
)
def test_a_question_about_a_repository_that_is_none_is_refused_and_no_fault(body: str) -> None:
    with Workspace() as workspace:
        served = compose(
            workspace,
            Activity(),
            request_s=9,
            tools="all",
            stop=lambda: None,
            sessions=WebSessions(bytes(32)),
            open_web=refuse_web,
        )
        client = TestClient(served.app, "http://localhost")  # without a lifespan: nothing that needs one is asked
        assert client.post(REPOSITORY_PATH, content=body).status_code == 400


@posix_only
def test_a_service_stays_known_without_its_file_and_ends_without_its_sockets(machine: Machine) -> None:
    pid = machine.start()
    (machine.runtime / "coderag/service.json").unlink()
    wait_until(lambda: machine.address.get("pid") == pid, "the file of the service")
    shutil.rmtree(machine.runtime / "coderag")  # as the system does when its user logs out
    second = machine.start()
    wait_until(lambda: not is_alive(pid), "the end of the service that nobody finds")
    assert machine.status["pid"] == second


@posix_only
def test_a_second_start_finds_the_first_and_a_kill_leaves_nothing_that_hinders_the_next(machine: Machine) -> None:
    first = machine.start()
    assert machine.start() == first
    refused = machine.run("serve")
    assert (refused.returncode, "already running" in refused.stderr) == (40, True)
    machine.kill()
    assert "auth.py" in machine.run("search", "login").stdout  # in its own process
    second = machine.start()
    assert second != first
    modes = {
        name: stat.S_IMODE((machine.runtime / "coderag" / name).stat().st_mode) for name in ("http.sock", "mcp.sock")
    }
    assert set(modes.values()) == {0o600}


def test_a_service_of_another_version_is_replaced_and_not_used_until_then(machine: Machine) -> None:
    old = machine.start()
    file = machine.runtime / "coderag/service.json"
    file.write_text(json.dumps({**machine.address, "version": "0.0.1"}), encoding="utf-8")
    before = machine.requests
    assert "auth.py" in machine.run("search", "login").stdout
    assert machine.requests == before + 1  # only this test asked
    assert machine.start() != old
    wait_until(lambda: not is_alive(old), "the end of the service of the other version")


def test_a_service_that_nobody_uses_ends(machine: Machine) -> None:
    pid = json.loads(machine.run("serve", "--background", "--idle-minutes", "0.02", "--json").stdout)["pid"]
    wait_until(lambda: not is_alive(pid), "the end of the service")
    assert machine.address == {}


def test_on_a_port_it_is_served_to_who_has_the_token(machine: Machine, tmp_path: Path) -> None:
    token_file = tmp_path / "token"
    machine.start("--port", "0", "--no-unix-socket", "--token-file", str(token_file))
    assert machine.address["token"] == token_file.read_text(encoding="ascii").strip()
    right = {"Authorization": f"Bearer {machine.address['token']}"}
    statuses = [
        get(machine, "/health"),
        get(machine, "/api/v1/repositories"),
        get(machine, "/api/v1/repositories", **right),
        get(machine, "/api/v1/repositories", **right, Host="evil.example"),
        get(machine, "/mcp", Authorization="Bearer wrong"),
        get(machine, "/no/such/path", **right),
    ]
    assert statuses == [200, 401, 200, 421, 401, 404]
    assert machine.address["http"].startswith("http://127.0.0.1:")
    assert "auth.py" in machine.run("search", "login").stdout  # as commands do on Windows
    assert machine.requests > 4


@posix_only
def test_a_request_under_way_is_finished_when_the_service_is_told_to_end(machine: Machine) -> None:
    assert machine.run("index").returncode == 0
    pid = machine.start()
    client = ServiceClient(ServiceAddress(**machine.address))
    replies: list[object] = []

    def ask() -> None:
        replies.append(client.call("POST", "/api/v1/search", {"root": str(machine.root), "query": "login"}))

    asking = threading.Thread(target=ask)  # the first search opens the index, which takes a while
    asking.start()
    wait_until(lambda: machine.status["under_way"] > 1 or replies, "the request")
    os.kill(pid, signal.SIGTERM)
    asking.join(60)
    assert isinstance(replies[0], dict)
    wait_until(lambda: not is_alive(pid), "the end of the service")


@posix_only
def test_a_runtime_directory_with_a_long_path_is_no_hindrance_for_commands_nor_agents(machine: Machine) -> None:
    deep = machine.runtime / ("d" * 100)
    deep.mkdir(mode=0o700)
    machine.runtime = deep
    machine.variables["XDG_RUNTIME_DIR"] = str(deep)
    machine.start()
    assert [hello(machine, token)["ok"] for token in (machine.address["token"], "wrong")] == [True, False]
    folder = Path(machine.address["http"].removeprefix("unix:")).parent
    assert (stat.S_IMODE(folder.stat().st_mode), folder.parent == deep) == (0o700, False)
    assert machine.requests > 0
    machine.stop()
    assert not folder.exists()


def hello(machine: Machine, token: str) -> dict[str, object]:
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(60)
        line.connect(machine.address["mcp"].removeprefix("unix:"))
        said = {"coderag": 1, "token": token, "root": str(machine.root), "tools": "all"}
        line.sendall(json.dumps(said).encode() + b"\n")
        told: dict[str, object] = json.loads(line.makefile("rb").readline())
        return told


def test_a_command_starts_a_service_for_the_next_one_if_the_settings_say_so(machine: Machine) -> None:
    assert machine.run("search", "login", CODERAG_SERVICE__AUTOSTART="true").returncode == 0
    wait_until(lambda: machine.address, "the service")
    assert json.loads(machine.run("serve", "--status", "--json").stdout)["usable"]


def test_an_address_that_others_reach_is_refused_without_tls(machine: Machine) -> None:
    done = machine.run("serve", "--background", "--host", "0.0.0.0", "--port", "0")  # it is refused
    assert (done.returncode, "is reachable from the network" in done.stderr, machine.address) == (3, True, {})


def test_a_port_that_is_taken_is_told(machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = machine.run("serve", "--background", "--port", str(taken.getsockname()[1]))
    assert (done.returncode, "cannot listen on" in done.stderr) == (40, True)


def test_ctrl_c_ends_a_service_in_the_foreground(machine: Machine) -> None:
    running = machine.spawn("serve", "--port", "0")
    wait_until(lambda: machine.address, "the service")
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, "/mcp" in err, machine.address) == (0, "", True, {})
