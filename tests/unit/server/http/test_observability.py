"""The app of a server with its routes of monitoring, on loopback."""

from types import SimpleNamespace

import httpx
import pytest
from pydantic import SecretStr

from coderag.interfaces.server.observability import Observability
from coderag.server.audit.audit_log import AuditLog
from coderag.server.metrics import ServerMetrics
from coderag.server.sealing import MasterKey, create_master_key
from coderag.server.settings import AuditSettings, ServerSettings
from coderag.server.storage.database import Database
from coderag.server.storage.upgrade import downgrade, upgrade


@pytest.fixture
def server(tmp_path):
    settings = ServerSettings(data=tmp_path, metrics_token=SecretStr("scrape"))
    database = Database(settings.url)
    upgrade(database)
    create_master_key(tmp_path / "master.key")
    audit = AuditLog(database, MasterKey(bytes(32)), AuditSettings(), tmp_path / "audit.counter")
    yield SimpleNamespace(settings=settings, database=database, audit=audit, metrics=ServerMetrics(database))
    database.close()


def open_client(server, **arguments):
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    observability = Observability(app, server, **arguments)
    return httpx.AsyncClient(transport=httpx.ASGITransport(observability), base_url="http://server")


async def test_monitoring_is_answered_and_everything_else_reaches_the_app(server):
    client = open_client(server)
    assert (await client.get("/healthz")).status_code == 200
    assert (await client.get("/readyz")).json()["parts"]["database"] == "ok"
    assert (await client.get("/api/v1/search")).status_code == 204
    reply = await client.get("/metrics", headers={"authorization": "Bearer scrape"})
    assert 'coderag_requests_total{method="GET",route="/readyz",status="200"} 1.0' in reply.text
    assert len(reply.headers["x-request-id"]) == 24


async def test_metrics_without_a_way_to_identify_open_to_the_token_only(server):
    assert (await open_client(server).get("/metrics")).status_code == 401


async def test_tables_of_another_revision_are_not_ready(server):
    downgrade(server.database, "base")
    reply = await open_client(server).get("/readyz")
    assert (reply.status_code, reply.json()["parts"]["database"]) == (503, "failed")
