"""Two whole processes of one server: PostgreSQL and the data folder are shared, and either may go.

They take too long for each run: `CODERAG_TEST_OUTAGE_S` runs them, and is the length of the database's outage in seconds.
"""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from urllib.parse import urlsplit

import httpx
import pytest

from evals.server_load.team_process import TeamProcess
from evals.server_load.world import OwnerClient
from tests.support.round_robin import RoundRobin

_VARIABLE = "CODERAG_TEST_OUTAGE_S"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_VARIABLE not in os.environ, reason=f"{_VARIABLE} is not set"),
    pytest.mark.skipif(sys.platform != "linux", reason="uses further addresses of the loopback"),
]

OUTAGE_S = float(os.environ.get(_VARIABLE, "1"))
ME = "/api/v1/server/me"


def send(url, key, method, path, body=None, address="127.0.0.1"):
    """Send a request on a connection of its own, so that the proxy gives it to the next server."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    transport = httpx.HTTPTransport(local_address=address)
    with httpx.Client(base_url=url, headers=headers, transport=transport, timeout=60) as client:
        return client.request(method, path, json=body)


@pytest.fixture
def servers(tmp_path, postgres_server, postgres_url):
    """Two processes that were started at the same time, with a proxy before them."""
    variables = {"CODERAG_SERVER_DATABASE_URL": postgres_url}
    processes = [TeamProcess(tmp_path, variables) for _ in range(2)]
    for number, process in enumerate(processes):
        process.log = tmp_path / f"server{number}.log"
    with ThreadPoolExecutor(2) as pool:
        keys = [key for key in pool.map(initialize, processes) if key]
        assert len(keys) == 1  # both create the tables, and one of them the owner
        list(pool.map(TeamProcess.start, processes))
    try:
        with RoundRobin([urlsplit(process.url).port for process in processes]) as proxy:
            yield SimpleNamespace(processes=processes, key=keys[0], url=proxy.url, postgres=postgres_server)
    finally:
        assert [process.stop() for process in processes] in ([0, 0], [-9, 0])


def initialize(process):
    """Return the key of the owner; empty if the other process has created it."""
    try:
        return process.initialize()
    except RuntimeError as error:
        assert "was initialized before" in str(error)
        return ""


def test_processes_agree_and_outlive_each_other_and_the_database(servers):
    first, second = (process.url for process in servers.processes)
    check_identity(servers, first, second)
    status = servers.processes[0].run("status", "--json")
    assert status.count('"state": "ready"') == 2
    teams = check_outage(servers)
    servers.processes[0].kill()
    replies = [send(servers.url, servers.key, "POST", "/api/v1/server/teams", {"name": f"late {n}"}) for n in range(4)]
    assert [reply.status_code for reply in replies] == [201] * 4
    owner = OwnerClient(second, servers.key)
    names = {team["name"] for team in owner.call("GET", "/teams?limit=200")["items"]}
    assert teams | {f"late {number}" for number in range(4)} <= names
    assert owner.call("POST", "/audit/verify")["is_intact"]
    owner.close()
    servers.processes[1].run("audit", "verify")


def check_identity(servers, first, second):
    """Sign in, revoke and guess at one process, and look at the other one."""
    with httpx.Client(base_url=servers.url, trust_env=False, timeout=60) as browser:
        signed_in = browser.post(f"{first}/web/session", json={"key": servers.key}, headers={"origin": first})
        assert signed_in.status_code == 200, signed_in.text
        session = {"cookie": "; ".join(f"{name}={value}" for name, value in signed_in.cookies.items())}
    assert httpx.get(f"{second}{ME}", headers=session, trust_env=False).status_code == 200
    owner = OwnerClient(first, servers.key)
    account = owner.call("POST", "/users", {"kind": "service", "name": "program"})["id"]
    created = owner.call("POST", f"/users/{account}/keys", {"name": "key"})
    assert [send(url, created["secret"], "GET", ME).status_code for url in (first, second)] == [200, 200]
    owner.call("DELETE", f"/users/{account}/keys/{created['key']['id']}")
    assert send(second, created["secret"], "GET", ME).status_code == 401
    owner.close()
    guess, other = f"cr_{0:012x}_{'0' * 43}", "127.0.0.2"  # an address whose delay slows nothing else down
    guesses = [send(url, guess, "GET", ME, address=other).status_code for url in (first, second) * 6]
    assert guesses[:10] == [401] * 10
    assert 429 in guesses[10:]  # failures at both count together


def check_outage(servers):
    """Stop the database under load; return the names of the teams that were acknowledged."""
    acknowledged, statuses = set(), set()

    def create(number):
        reply = send(servers.url, servers.key, "POST", "/api/v1/server/teams", {"name": f"team {number}"})
        statuses.add(reply.status_code)
        if reply.status_code == 201:
            acknowledged.add(f"team {number}")
        elif reply.status_code == 503:
            assert int(reply.headers["retry-after"]) > 0
            assert reply.headers["content-type"] == "application/problem+json"
        return reply.status_code

    assert {create(number) for number in range(4)} == {201}
    with servers.postgres.stopped():
        ends, number = time.monotonic() + OUTAGE_S, 100
        while time.monotonic() < ends or number < 104:
            assert create(number) == 503
            number += 1
        assert send(servers.url, "", "GET", "/healthz").status_code == 200
    assert {create(number) for number in range(1_000, 1_004)} == {201}  # by itself, and at once
    assert statuses == {201, 503}
    return acknowledged
