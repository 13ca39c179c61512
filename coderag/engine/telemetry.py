"""Queries as OpenTelemetry spans: one per query, with one child per node (docs/explain.md).

Spans are built from the graph's trace and exported as the standard ``OTEL_*`` variables say. They contain numbers and
CodeRAG's own names; text of questions or of the repository requires ``telemetry.queries``.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from coderag.config.sections import TelemetrySettings
from coderag.errors import ConfigurationError
from coderag.schema.query import QueryInput, QueryOutput

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

_SERVICE_NAME = "coderag"
_MIN_SERVER_ERROR = 500
_EXPORTABLE_WORDS = frozenset({"intent", "evidence", "relation", "direction", "generator", "reranker", "order_stands"})
"""Details whose words are CodeRAG's own; others may contain words of the question."""

_OTLP_MODULES = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http")


class QueryTracer:
    """Exporter of queries as spans.

    Args:
        tracer: OpenTelemetry tracer.
        exports_queries: Whether spans may contain the question and its expansion.
    """

    def __init__(self, tracer: "Tracer", *, exports_queries: bool = False) -> None:
        self._tracer = tracer
        self._exports_queries = exports_queries

    @contextmanager
    def trace_query(self, query_input: QueryInput) -> Iterator[Callable[[QueryOutput], None]]:
        """Trace one query; the block records its output. Errors are recorded by class name only."""
        from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context  # noqa: PLC0415  # an extra

        span = self._tracer.start_span("coderag.query", kind=SpanKind.INTERNAL, start_time=time.time_ns())
        span.set_attribute("coderag.goal", query_input.get("goal", "search"))
        if self._exports_queries:
            span.set_attribute("coderag.query", query_input["query"])

        def record_output(output: QueryOutput) -> None:
            judgement = output["judgement"]
            span.set_attribute("coderag.intent", output["analysis"]["intent"])
            span.set_attribute("coderag.evidence", judgement["verdict"])
            span.set_attribute("coderag.confidence", judgement["confidence"])
            span.set_attribute("coderag.results", len(output["results"]))
            for entry in output["trace"]:
                child = self._tracer.start_span(
                    f"coderag.{entry['node']}", context=set_span_in_context(span), start_time=entry["start_ns"]
                )
                child.set_attributes(self._select_attributes(entry["detail"]))
                child.end(entry["start_ns"] + round(entry["ms"] * 1e6))

        try:
            yield record_output
        except BaseException as error:
            span.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise
        finally:
            span.end(time.time_ns())

    @contextmanager
    def trace_request(self, method: str, headers: Mapping[str, str]) -> Iterator[Callable[[str, int], None]]:
        """Trace one request; queries in the block are its children, and it is one of the client's ``traceparent``.

        Args:
            method: Method of the request.
            headers: Headers of the request, with names in lower case.

        Yields:
            Function that records the template of the route and the status. The path itself may hold names.
        """
        from opentelemetry.trace import SpanKind, Status, StatusCode, use_span  # noqa: PLC0415  # an extra
        from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415  # an extra
            TraceContextTextMapPropagator,
        )

        parent = TraceContextTextMapPropagator().extract(headers)
        span = self._tracer.start_span("coderag.request", kind=SpanKind.SERVER, context=parent)
        span.set_attribute("http.request.method", method)

        def record_reply(route: str, status: int) -> None:
            span.update_name(f"{method} {route}")
            span.set_attribute("http.route", route)
            span.set_attribute("http.response.status_code", status)
            if status >= _MIN_SERVER_ERROR:
                span.set_status(Status(StatusCode.ERROR))

        try:
            with use_span(span, record_exception=False, set_status_on_exception=False):
                yield record_reply
        finally:
            span.end()

    def _select_attributes(self, detail: Mapping[str, Any]) -> dict[str, Any]:
        return {f"coderag.{name}": value for name, value in detail.items() if self._is_exportable(name, value)}

    def _is_exportable(self, name: str, value: object) -> bool:
        if isinstance(value, bool | int | float) or (isinstance(value, str) and name in _EXPORTABLE_WORDS):
            return True
        words = [value] if isinstance(value, str) else value
        return self._exports_queries and isinstance(words, list) and all(isinstance(word, str) for word in words)


class NullTracer:
    """Tracer that does nothing."""

    def trace_query(self, query_input: QueryInput) -> AbstractContextManager[Callable[[QueryOutput], None]]:
        """Return a block that records nothing."""
        del query_input
        return nullcontext(_ignore_output)

    def trace_request(
        self, method: str, headers: Mapping[str, str]
    ) -> AbstractContextManager[Callable[[str, int], None]]:
        """Return a block that records nothing."""
        del method, headers
        return nullcontext(_ignore_reply)


def _ignore_reply(route: str, status: int) -> None:
    del route, status


def _ignore_output(output: QueryOutput) -> None:
    del output


def build_tracer(settings: TelemetrySettings) -> QueryTracer | NullTracer:
    """Build the configured tracer; OpenTelemetry is imported only if needed.

    Raises:
        ConfigurationError: The extra is not installed.
    """
    if settings.traces == "none":
        return NullTracer()
    if not all(map(_is_installed, _OTLP_MODULES if settings.traces == "otlp" else ("opentelemetry.trace",))):
        message = f"telemetry.traces is '{settings.traces}', but the extra 'telemetry' is not installed"
        hint = 'Install the extra "telemetry" of coderag-engine; from a checkout: pip install ".[telemetry]"'
        raise ConfigurationError(message, hint=hint)
    from opentelemetry.trace import get_tracer_provider  # noqa: PLC0415  # an extra

    provider = _build_otlp_provider() if settings.traces == "otlp" else get_tracer_provider()
    tracer = provider.get_tracer(_SERVICE_NAME, version("coderag-engine"))
    return QueryTracer(tracer, exports_queries=settings.queries)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package is missing
        return False


@cache
def _build_otlp_provider() -> "TracerProvider":
    """Build the process's provider that exports spans by OTLP over HTTP; it flushes at exit.

    Address, headers, sampling and service name come from ``OTEL_*`` variables, never from a repository.
    """
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415  # an extra
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415  # an extra
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415  # an extra
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415  # an extra

    resource = Resource.create()
    if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: _SERVICE_NAME}))
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
