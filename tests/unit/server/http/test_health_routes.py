"""Health, readiness and metrics over HTTP: who may read what."""

import shutil

import httpx
import pytest
from pydantic import SecretStr

from coderag.errors import AuthenticationError, DatabaseUnavailableError
from coderag.interfaces.server.health_routes import HealthRoutes
from coderag.server.access.roles import Role
from coderag.server.audit.audit_log import AuditLog
from coderag.server.audit.search import AuditFilter
from coderag.server.metrics import ServerMetrics
from coderag.server.readiness import Readiness, make_folder_check, make_key_check
from coderag.server.sealing import MasterKey, create_master_key
from coderag.server.settings import AuditSettings

TOKEN = "scrape-token-1234"


class Health:
    def __init__(self, database, folder):
        create_master_key(folder / "master.key")
        (folder / "data").mkdir()
        self.now, self.checks = 0.0, 0
        checks = {
            "database": self.check_database,
            "key": make_key_check(folder / "master.key"),
            "folder": make_folder_check(folder / "data", 1),
        }
        self.database = database
        self.readiness = Readiness(checks, timer=lambda: self.now)
        self.audit = AuditLog(database, MasterKey(bytes(32)), AuditSettings(), folder / "audit.counter")
        self.principal, self.error = None, None

    def check_database(self):
        self.checks += 1
        self.database.check()

    async def identify(self, scope):
        if self.error is not None:
            raise self.error
        return self.principal

    def open(self, token=TOKEN):
        routes = HealthRoutes(self.readiness, ServerMetrics(self.database), self.audit, self.identify, SecretStr(token))
        return httpx.AsyncClient(transport=httpx.ASGITransport(routes.make_app()), base_url="http://server")


@pytest.fixture
def health(sqlite_database, tmp_path):
    return Health(sqlite_database, tmp_path)


async def test_browsers_neither_store_nor_guess_at_replies(health):
    for path in ("/healthz", "/readyz", "/metrics"):
        reply = await health.open().get(path)
        names = ("cache-control", "x-content-type-options")
        assert [reply.headers[name] for name in names] == ["no-store", "nosniff"], path


async def test_process_that_lives_is_healthy(health):
    reply = await health.open().get("/healthz")
    assert (reply.status_code, reply.json(), reply.headers["cache-control"]) == (200, {"status": "ok"}, "no-store")


async def test_readiness_names_what_fails_without_a_reason(health, tmp_path, caplog):
    client = health.open()
    reply = await client.get("/readyz")
    parts = {"database": "ok", "key": "ok", "folder": "ok", "process": "ok"}
    assert (reply.status_code, reply.json()) == (200, {"status": "ok", "parts": parts})
    (tmp_path / "master.key").unlink()
    shutil.rmtree(tmp_path / "data")
    assert (await client.get("/readyz")).status_code == 200  # the last result, for two seconds
    health.now += 2
    reply = await client.get("/readyz")
    assert (reply.status_code, reply.json()["parts"]) == (503, parts | {"key": "failed", "folder": "failed"})
    assert str(tmp_path) not in reply.text
    assert "not ready: key" in caplog.text
    assert health.checks == 2


async def test_full_disk_is_not_ready(tmp_path):
    readiness = Readiness({"folder": make_folder_check(tmp_path, 1 << 62)})
    assert readiness.check() == {"folder": "failed", "process": "ok"}


async def test_process_that_drains_is_alive_but_not_ready(health):
    health.readiness.drain()
    reply = await health.open().get("/readyz")
    assert (reply.status_code, reply.json()["parts"]["process"]) == (503, "draining")
    assert (await health.open().get("/healthz")).status_code == 200


async def test_token_reads_metrics_without_an_entry_in_the_record(health):
    reply = await health.open().get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "coderag_database_up 1.0" in reply.text
    assert health.audit.search(AuditFilter()) == []


@pytest.mark.parametrize("token", ["", "wrong", "scrape-token-1234x", "ä"])
async def test_metrics_need_a_token_or_an_account(health, token):
    headers = {"authorization": f"Bearer {token}".encode()}
    reply = await health.open().get("/metrics", headers=headers)
    assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer")
    reply = await health.open(token="").get("/metrics", headers=headers)  # none is set: an empty one opens nothing
    assert reply.status_code == 401


@pytest.mark.parametrize(
    ("role", "status", "outcome"),
    [(Role.ADMIN, 200, "allowed"), (Role.MEMBER, 403, "denied"), (Role.AUDITOR, 403, "denied")],
)
async def test_operators_read_metrics_and_the_record_has_who_did_or_tried(
    health, make_principal, role, status, outcome
):
    health.principal = make_principal(role)
    assert (await health.open().get("/metrics")).status_code == status
    (entry,) = health.audit.search(AuditFilter())
    assert (entry.actor_id, entry.action, entry.outcome) == (f"{role}-id", "server.operate", outcome)


async def test_faults_of_the_identification_are_problems(health):
    health.error = AuthenticationError("the key is not accepted")
    assert (await health.open().get("/metrics")).json()["type"] == "AuthenticationError"
    health.error = DatabaseUnavailableError("the database does not answer")
    reply = await health.open().get("/metrics")
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "5")
