"""The outermost layer: request ids, one log line a request, metrics by template, spans."""

import json
import logging

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.responses import StreamingResponse

from coderag.engine.telemetry import QueryTracer
from coderag.errors import DatabaseUnavailableError, QuotaExceededError, ServiceBusyError, UnknownNameError
from coderag.interfaces.rest.problems import install_handlers
from coderag.interfaces.rest.request_runner import RequestRunner
from coderag.interfaces.server.access_gate import PRINCIPAL_KEY
from coderag.interfaces.server.observed_app import ObservedApp
from coderag.server.logs import FIELDS, REQUEST_ID
from coderag.server.metrics import ServerMetrics

ERRORS = {
    "quota": QuotaExceededError("your account has used up its 5 requests a day", wait_s=61.2),
    "database": DatabaseUnavailableError("the database does not answer"),
    "busy": ServiceBusyError("the server is busy"),
    "unknown": UnknownNameError("unknown repository 'secret-repository'"),
}


class Server:
    def __init__(self, database, make_principal):
        self.metrics = ServerMetrics(database)
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.seen = []
        app = FastAPI()
        install_handlers(app)
        router = APIRouter()

        @router.get("/things/{name}")
        def read_thing(name: str):
            if name in ERRORS:
                raise ERRORS[name]
            if name == "crash":
                raise ValueError("who stores passwords?")
            self.seen.append(REQUEST_ID.get())
            return {"name": name}

        @router.get("/stream")
        def open_stream():
            def produce():
                self.seen.append(self.read())
                yield "data: x\n\n"

            return StreamingResponse(produce(), media_type="text/event-stream")

        app.include_router(router, prefix="/api/v1")
        administration = APIRouter(prefix="/server")  # as the routers of the administration: the prefix is their own
        administration.add_api_route("/things/{name}", read_thing)
        app.include_router(administration, prefix="/api/v1")
        principal = make_principal()

        async def identified(scope, receive, send):
            scope[PRINCIPAL_KEY] = principal
            await app(scope, receive, send)

        observed = ObservedApp(identified, self.metrics, QueryTracer(provider.get_tracer("test")))
        transport = httpx.ASGITransport(observed, raise_app_exceptions=False)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://server")

    def read(self):
        return self.metrics.render().decode().splitlines()


@pytest.fixture
def server(sqlite_database, make_principal, caplog):
    caplog.set_level(logging.INFO, "coderag.server.requests")
    return Server(sqlite_database, make_principal)


def get_fields(caplog):
    return [getattr(record, FIELDS) for record in caplog.records if record.name == "coderag.server.requests"]


async def test_request_has_one_line_with_its_template_and_caller(server, caplog):
    reply = await server.client.get("/api/v1/things/secret-repository?q=who+stores+passwords")
    (fields,) = get_fields(caplog)
    assert fields.pop("ms") >= 0
    assert fields == {"principal": "member-id", "method": "GET", "route": "/api/v1/things/{name}", "status": 200}
    assert server.seen == [reply.headers["x-request-id"]]
    own = " ".join(json.dumps(vars(record), default=str) for record in caplog.records if record.name != "httpx")
    assert "secret" not in own
    assert "passwords" not in own


async def test_valid_request_id_is_taken_over_and_another_one_replaced(server):
    replies = [
        await server.client.get("/api/v1/things/a", headers={"x-request-id": given})
        for given in ("trace-12345678", "short", "with spaces and more", "x" * 65)
    ]
    ids = [reply.headers["x-request-id"] for reply in replies]
    assert ids[0] == "trace-12345678"
    assert all(len(request_id) == 24 for request_id in ids[1:])


async def test_metrics_have_templates_with_their_prefix_and_no_paths(server):
    for path in ("/api/v1/things/a", "/api/v1/things/b", "/api/v1/server/things/c", "/api/v1/secret", "/mcp", "/x"):
        await server.client.get(path)
    text = "\n".join(server.read())
    assert 'coderag_requests_total{method="GET",route="/api/v1/things/{name}",status="200"} 2.0' in text
    assert 'coderag_requests_total{method="GET",route="/api/v1/server/things/{name}",status="200"} 1.0' in text
    assert 'coderag_requests_total{method="GET",route="unmatched",status="404"} 2.0' in text
    assert 'coderag_requests_total{method="GET",route="/mcp",status="404"} 1.0' in text
    assert "secret" not in text
    assert "coderag_requests_in_flight 0.0" in text


async def test_event_stream_is_counted_apart_while_it_is_open(server):
    await server.client.get("/api/v1/stream")
    during, after = server.seen[0], server.read()
    assert {"coderag_requests_in_flight 0.0", "coderag_open_streams 1.0"} <= set(during)
    assert "coderag_open_streams 0.0" in after


async def test_crash_is_a_500_without_its_message_in_spans(server, caplog):
    reply = await server.client.get("/api/v1/things/crash")
    assert reply.status_code == 500
    assert get_fields(caplog)[0]["status"] == 500
    (span,) = server.exporter.get_finished_spans()
    assert span.name == "GET /api/v1/things/{name}"
    assert "passwords" not in span.to_json()


async def test_span_continues_the_trace_of_the_client(server):
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    await server.client.get("/api/v1/things/secret-repository", headers={"traceparent": parent})
    (span,) = server.exporter.get_finished_spans()
    assert format(span.context.trace_id, "032x") == "0af7651916cd43dd8448eb211c80319c"
    assert dict(span.attributes) == {
        "http.request.method": "GET", "http.route": "/api/v1/things/{name}", "http.response.status_code": 200,
    }  # fmt: skip


@pytest.mark.parametrize(("name", "status", "wait"), [("quota", 429, "62"), ("database", 503, "5"), ("busy", 429, "1")])
async def test_refusal_that_may_succeed_later_says_when(server, name, status, wait):
    reply = await server.client.get(f"/api/v1/things/{name}")
    assert (reply.status_code, reply.headers["retry-after"]) == (status, wait)
    assert reply.json()["retryable"] is True


async def test_refusal_that_stays_has_no_time_to_wait(server):
    reply = await server.client.get("/api/v1/things/unknown")
    assert (reply.status_code, "retry-after" in reply.headers) == (404, False)


async def test_client_that_leaves_early_is_counted_as_such(sqlite_database, caplog):
    caplog.set_level(logging.INFO, "coderag.server.requests")

    async def app(scope, receive, send):
        await receive()

    async def receive():
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": "GET", "path": "/mcp", "headers": []}
    await ObservedApp(app, ServerMetrics(sqlite_database))(scope, receive, None)
    assert get_fields(caplog)[0]["status"] == 499


async def test_threads_of_a_request_know_its_id():
    runner = RequestRunner(None, 30)
    token = REQUEST_ID.set("request-1")
    assert await runner.run(REQUEST_ID.get) == "request-1"
    REQUEST_ID.reset(token)
    assert await runner.run(REQUEST_ID.get, is_long=True) == ""
    runner.close()
