"""Server processes that are killed at random moments under load: nothing that was acknowledged is lost, nothing is half."""

import hashlib
import hmac
import json
import os
import random
import re
import sys
import threading
import time
import uuid
from dataclasses import dataclass, field

import httpx
import pytest

from evals.server_load.git_server import GitServer
from evals.server_load.origins import MARKER_PATH, create_origin
from evals.server_load.team_process import TeamProcess
from evals.server_load.world import OwnerClient, create_teams, host_origins
from evals.service.processes import is_running
from tests.integration.service_machine import write_repository

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

KILLS = int(os.environ.get("CODERAG_TEST_KILLS", "1"))
HAS_TIME = "CODERAG_TEST_KILLS" in os.environ  # read before tests get a clean environment
REPOSITORIES = 3


@dataclass
class Acknowledged:
    """What the server has acknowledged."""

    teams: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    revoked: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    pushed: dict[str, int] = field(default_factory=dict)
    searches: int = 0
    refused: list[str] = field(default_factory=list)


class Load:
    """Threads that change, push and search until the server is gone."""

    def __init__(self, url, key, hosted, account, done, seed):
        self._url, self._key, self._hosted, self._account, self._done = url, key, hosted, account, done
        self._stop, self._searches = threading.Event(), done.searches
        targets = (self._change, self._push, self._search, self._search)
        self._threads = [
            threading.Thread(target=self._run, args=(target, seed * 10 + number))
            for number, target in enumerate(targets)
        ]

    def start(self):
        for thread in self._threads:
            thread.start()

    def wait_until_acknowledged(self):
        """Wait for a search, a team and a job, or a slow machine would kill the server before it had its load."""
        ends = time.monotonic() + 120
        while not (self._done.searches > self._searches and self._done.teams and self._done.jobs):
            assert time.monotonic() < ends, self._done
            time.sleep(0.05)

    def stop(self):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, step, seed):
        chance = random.Random(seed)
        headers = {"authorization": f"Bearer {self._key}"}
        with httpx.Client(base_url=self._url, headers=headers, timeout=60, trust_env=False) as client:
            while not self._stop.is_set():
                try:
                    step(client, chance)
                except httpx.TransportError:
                    return  # killed

    def _accept(self, reply):
        if reply.is_success:
            return True
        if reply.status_code not in (429, 503):
            self._done.refused.append(
                f"{reply.request.method} {reply.request.url} {reply.status_code} {reply.text[:300]}"
            )
        return False

    def _change(self, client, chance):
        name = f"team {uuid.uuid4()}"
        reply = client.post("/api/v1/server/teams", json={"name": name})
        if self._accept(reply):
            self._done.teams.add(name)
            repository = chance.choice(self._hosted).origin.name
            grant = {"repository": repository, "level": "read"}
            self._accept(client.put(f"/api/v1/server/teams/{reply.json()['id']}/grants", json=grant))
            if chance.random() < 0.3:
                self._done.teams.discard(name)  # unknown until it is acknowledged
                if self._accept(client.delete(f"/api/v1/server/teams/{reply.json()['id']}")):
                    self._done.removed.add(name)
        path = f"/api/v1/server/users/{self._account}/keys"
        reply = client.post(path, json={"name": "kill"})
        if not self._accept(reply):
            return
        secret, identifier = reply.json()["secret"], reply.json()["key"]["id"]
        if len(self._done.keys) < 10 and chance.random() < 0.5:
            self._done.keys.append(secret)
        elif self._accept(client.delete(f"{path}/{identifier}")):
            self._done.revoked.append(secret)

    def _push(self, client, chance):
        entry = chance.choice(self._hosted)
        body = json.dumps({"ref": "refs/heads/main", "after": entry.origin.push()}).encode()
        headers = {
            "content-type": "application/json",
            "x-github-event": "push",
            "x-github-delivery": str(uuid.uuid4()),
            "x-hub-signature-256": f"sha256={hmac.digest(entry.secret.encode(), body, hashlib.sha256).hex()}",
        }
        reply = client.post(f"/hooks/{entry.id}", content=body, headers=headers)
        if self._accept(reply):
            self._done.jobs.append(reply.json()["job_id"])
            self._done.pushed[entry.id] = entry.origin.number
        self._stop.wait(chance.uniform(0.1, 0.5))

    def _search(self, client, chance):
        body = {"root": chance.choice(self._hosted).origin.name, "query": "open a session for a user"}
        reply = client.post("/api/v1/search", json=body)
        if self._accept(reply):
            self._done.searches += 1
            if not reply.json()["hits"]:
                self._done.refused.append(f"no result: {reply.text[:300]}")


def list_team_names(owner):
    names, cursor = set(), ""
    while cursor is not None:
        page = owner.call("GET", f"/teams?limit=200{cursor}")
        names |= {team["name"] for team in page["items"]}
        cursor = None if page["next"] is None else f"&cursor={page['next']}"
    return names


def get_status(url, key):
    """Return the status that a key gets, from an address of its own: refused keys slow their address down."""
    transport = httpx.HTTPTransport(local_address=f"127.{uuid.uuid4().int % 250 + 1}.{uuid.uuid4().int % 250}.1")
    headers = {"authorization": f"Bearer {key}"}
    with httpx.Client(base_url=url, headers=headers, transport=transport, timeout=60) as client:
        return client.get("/api/v1/server/me").status_code


def read_state(owner, identifier):
    """Return the state of a job; one that failed has given way to a newer one of its repository."""
    job = owner.call("GET", f"/jobs/{identifier}")
    assert job["state"] in ("queued", "running", "done", "failed")
    if job["state"] == "failed":
        newer = owner.call("GET", f"/jobs?repository={job['repository']}&limit=1")["items"][0]
        assert newer["id"] != job["id"], job["error"]
        assert newer["state"] in ("queued", "running", "done")
    return job["state"]


def check_world(server, owner, hosted, done, key):
    """Check that what was acknowledged is there, and that every index answers."""
    names = list_team_names(owner)
    assert done.teams <= names
    assert not done.removed & names
    assert {get_status(server.url, secret) for secret in done.revoked[-5:]} <= {401}
    assert {get_status(server.url, secret) for secret in done.keys[-5:]} <= {200}
    for job in done.jobs[-10:]:
        read_state(owner, job)
    with httpx.Client(
        base_url=server.url, headers={"authorization": f"Bearer {key}"}, trust_env=False, timeout=60
    ) as client:
        for entry in hosted:
            body = {"root": entry.origin.name, "query": "open a session for a user"}
            hits = client.post("/api/v1/search", json=body)
            assert hits.status_code == 200, hits.text
            assert "login" in {hit["name"] for hit in hits.json()["hits"]}


def wait_until_gone(pids):
    ends = time.monotonic() + 30
    while any(map(is_running, pids)):
        assert time.monotonic() < ends, "descendants outlive the server"
        time.sleep(0.05)


@pytest.fixture(params=["sqlite", "postgres"])
def database_variables(request):
    """Variables of a server's database. PostgreSQL is tested by hand: the other database is enough for each run."""
    if request.param == "sqlite":
        return {}
    if not HAS_TIME:
        pytest.skip("PostgreSQL is killed upon CODERAG_TEST_KILLS only")
    return {"CODERAG_SERVER_DATABASE_URL": request.getfixturevalue("postgres_url")}


def test_kills_lose_nothing_that_was_acknowledged(tmp_path, database_variables):
    chance, done = random.Random(11), Acknowledged()
    (tmp_path / "origins").mkdir()
    source = write_repository(tmp_path / "source")
    server = TeamProcess(tmp_path / "server", database_variables)
    with GitServer(tmp_path / "origins") as git:
        key = server.initialize()
        server.start()
        owner = OwnerClient(server.url, key)
        origins = [create_origin(tmp_path / "origins", source, number) for number in range(REPOSITORIES)]
        hosted = host_origins(owner, git, origins, create_teams(owner, 2))
        account = owner.call("POST", "/users", {"kind": "service", "name": "program"})["id"]
        owner.wait_until_idle(180)
        try:
            for kill in range(KILLS):
                load = Load(server.url, key, hosted, account, done, kill)
                load.start()
                load.wait_until_acknowledged()
                time.sleep(chance.uniform(0.3, 3.0))
                pids = server.list_processes()
                server.kill()
                load.stop()
                owner.close()
                wait_until_gone(pids)
                server.start()
                owner = OwnerClient(server.url, key)
                check_world(server, owner, hosted, done, key)
                with (tmp_path / "kills").open("a") as progress:
                    progress.write(f"{kill + 1}: {done.searches} searches, {len(done.jobs)} jobs\n")
            owner.wait_until_idle(300)
            assert "done" in {read_state(owner, job) for job in done.jobs}
            headers = {"authorization": f"Bearer {key}"}
            with httpx.Client(base_url=server.url, headers=headers, trust_env=False, timeout=60) as client:
                for entry in hosted:
                    origin = entry.origin
                    text = client.get("/api/v1/file", params={"root": origin.name, "path": MARKER_PATH}).text
                    marker = re.search(rf"marker_{origin.token}_(\d+)", text)
                    assert marker is not None, text
                    assert int(marker[1]) >= done.pushed.get(entry.id, 1)
                    body = {"root": origin.name, "query": marker[0], "top_k": 3}
                    assert marker[0] in client.post("/api/v1/search", json=body).text
            assert owner.call("POST", "/audit/verify")["is_intact"]
            recorded = count_entries(owner, "repository.read")
        finally:
            owner.close()
            status = server.stop()
    assert done.refused == []
    assert recorded >= done.searches >= KILLS
    assert done.teams
    assert done.jobs
    assert status == 0
    server.run("audit", "verify")


def count_entries(owner, action):
    total, before = 0, ""
    while True:
        page = owner.call("GET", f"/audit?action={action}&limit=200{before}")
        total += len(page["items"])
        if page["next"] is None:
            return total
        before = f"&before={page['next']}"
