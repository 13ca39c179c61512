"""Queries as OpenTelemetry spans, in memory and as a real collector receives them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coderag.config.sections import TelemetrySettings
from coderag.engine.telemetry import NullTracer, QueryTracer, build_tracer
from coderag.errors import ConfigurationError
from tests.loopback.otlp_collector import Collector
from tests.support.corpora import make_context
from tests.support.graphs import run

FILES = {
    "money.py": 'def round_up(value):\n    """Round a value up."""\n    return int(value + 0.5)\n',
    "users.py": "def authenticate(user):\n    return user.known\n",
}
ROOT = Path(__file__).parents[3]
NOT_INSTALLED = "the extra telemetry is not installed"


@pytest.fixture(scope="module")
def output():
    return run(make_context(FILES), "secret_zebra giraffe login of kubernetes ingress", "context")


@pytest.fixture
def spans():
    """The spans that were ended, and a tracer that writes them."""
    sdk = pytest.importorskip("opentelemetry.sdk.trace", reason=NOT_INSTALLED)
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), sdk.TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter.get_finished_spans, provider.get_tracer("test")


def write(tracer, output, query="secret_zebra giraffe login of kubernetes ingress", **options):
    with QueryTracer(tracer, **options).trace_query({"query": query, "goal": "context"}) as tell:
        tell(output)


def test_query_is_a_span_with_a_child_per_node(spans, output):
    finished, tracer = spans
    write(tracer, output)
    *children, root = finished()
    assert root.name == "coderag.query"
    assert [child.name for child in children] == [f"coderag.{entry['node']}" for entry in output["trace"]]
    assert {child.parent.span_id for child in children} == {root.context.span_id}
    assert {child.context.trace_id for child in children} == {root.context.trace_id}


def test_span_has_the_times_of_its_node(spans, output):
    finished, tracer = spans
    write(tracer, output)
    for child, entry in zip(finished(), output["trace"], strict=False):
        assert child.start_time == entry["start_ns"]
        assert child.end_time - child.start_time == pytest.approx(entry["ms"] * 1e6, abs=1)


def test_spans_have_the_verdict_and_numbers(spans, output):
    finished, tracer = spans
    write(tracer, output)
    by_name = {span.name: dict(span.attributes) for span in finished()}
    assert by_name["coderag.query"]["coderag.evidence"] == output["evidence"]
    assert by_name["coderag.query"]["coderag.goal"] == "context"
    assert by_name["coderag.rerank"]["coderag.candidates"] == len(output["results"])
    assert by_name["coderag.budget"]["coderag.tokens"] == output["context"]["tokens"]


def test_spans_contain_no_question_or_repository_text(spans, output):
    finished, tracer = spans
    write(tracer, output)
    assert any(entry["node"] == "widen" and entry["detail"]["terms"] for entry in output["trace"])
    values = str([dict(span.attributes) for span in finished()])
    assert not any(text in values for text in ("secret_zebra", "zebra", "round", "login", "money.py"))


def test_question_is_exported_if_allowed(spans, output):
    finished, tracer = spans
    write(tracer, output, exports_queries=True)
    by_name = {span.name: dict(span.attributes) for span in finished()}
    assert by_name["coderag.query"]["coderag.query"] == "secret_zebra giraffe login of kubernetes ingress"
    assert by_name["coderag.widen"]["coderag.terms"]


def test_failed_query_is_recorded_by_its_error_class(spans):
    finished, tracer = spans
    with pytest.raises(ValueError, match="secret"), QueryTracer(tracer).trace_query({"query": "q"}):
        raise ValueError("secret")
    (span,) = finished()
    assert (span.status.status_code.name, span.status.description) == ("ERROR", "ValueError")
    assert "secret" not in span.to_json()


def test_surrounding_span_is_the_parent(spans, output):
    finished, tracer = spans
    with tracer.start_as_current_span("request") as request:
        write(tracer, output)
    root = next(span for span in finished() if span.name == "coderag.query")
    assert root.parent.span_id == request.get_span_context().span_id


def test_disabled_tracing_imports_and_writes_nothing():
    tracer = build_tracer(TelemetrySettings())
    assert isinstance(tracer, NullTracer)
    code = (
        "import sys; from coderag.config.settings import TelemetrySettings; from coderag.engine.telemetry import build_tracer\n"
        "with build_tracer(TelemetrySettings()).trace_query({'query': 'q'}) as tell: tell({})\n"
        "assert not any(name.startswith('opentelemetry') for name in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT).returncode == 0


@pytest.mark.parametrize("traces", ["otlp", "global"])
def test_missing_extra_error_has_a_hint(monkeypatch, traces):
    monkeypatch.setattr("coderag.engine.telemetry._is_installed", lambda module: False)
    with pytest.raises(ConfigurationError, match="telemetry") as caught:
        build_tracer(TelemetrySettings(traces=traces))
    assert '".[telemetry]"' in caught.value.hint


def test_surrounding_program_can_receive_the_spans():
    pytest.importorskip("opentelemetry.sdk.trace", reason=NOT_INSTALLED)
    assert isinstance(build_tracer(TelemetrySettings(traces="global")), QueryTracer)


PROGRAM = """
import sys
from coderag import CodeRAG
rag = CodeRAG(sys.argv[1], telemetry={"traces": "otlp"}, ingestion={"workers": 0})
rag.index()
rag.search("where are values rounded up")
"""


def test_collector_receives_the_spans_at_process_exit(tmp_path):
    trace_service = pytest.importorskip(
        "opentelemetry.proto.collector.trace.v1.trace_service_pb2", reason=NOT_INSTALLED
    )
    (tmp_path / "money.py").write_text(FILES["money.py"])
    with Collector() as collector:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_SERVICE_NAME": "shop", "PATH": ""}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path)],
            env={**variables, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        ((path, body),) = collector.received
    assert path == "/v1/traces"
    sent = trace_service.ExportTraceServiceRequest.FromString(body)
    (resource,) = sent.resource_spans
    assert {value.key: value.value.string_value for value in resource.resource.attributes}["service.name"] == "shop"
    names = [span.name for scope in resource.scope_spans for span in scope.spans]
    assert {"coderag.query", "coderag.analyze", "coderag.retrieve", "coderag.rerank"} <= set(names)
    assert b"rounded" not in body
