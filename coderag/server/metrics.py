"""Metrics for Prometheus. Labels hold routes, methods, states and statuses: never the name of a repository or account."""

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from sqlalchemy import ExceptionContext, event, func, select
from sqlalchemy.exc import IntegrityError

from coderag import __version__
from coderag.errors import DatabaseUnavailableError
from coderag.server.metrics_folder import VARIABLE
from coderag.server.storage.columns import get_time
from coderag.server.storage.database import Database
from coderag.server.storage.models import AuditEntry, HostedRepository, Job

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_BUCKETS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_JOB_STATES: Final = ("queued", "running")
_LIVE_SUM: Final = "livesum"
"""Mode of a gauge: the sum over the processes that live."""


class Metrics:
    """Metrics of a server. Thread-safe.

    With a folder of `prepare_metrics_folder`, they are of all its processes, whichever is asked.

    Args:
        database: The database; its state is read when metrics are rendered.
        clock: Returns the current time.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime] = get_time) -> None:
        registry = self._registry = CollectorRegistry()
        self._state = StateCollector(database, clock)
        self._requests = Counter(
            "coderag_requests", "Requests that ended.", ("route", "method", "status"), registry=registry
        )
        self._seconds = Histogram(
            "coderag_request_seconds",
            "Seconds until the end of a reply, or until the start of an event stream.",
            ("route", "method"),
            buckets=_BUCKETS_S,
            registry=registry,
        )
        self.in_flight = Gauge(
            "coderag_requests_in_flight", "Requests under way.", registry=registry, multiprocess_mode=_LIVE_SUM
        )
        self.open_streams = Gauge(
            "coderag_open_streams", "Open event streams.", registry=registry, multiprocess_mode=_LIVE_SUM
        )
        self._database_errors = Counter(
            "coderag_database_errors", "Failed statements and connections.", ("error",), registry=registry
        )
        self._audit_entries = Counter("coderag_audit_entries", "Entries that were recorded.", registry=registry)
        self._audit_failures = Counter(
            "coderag_audit_failures", "Failed writes of the record; their requests were refused.", registry=registry
        )
        self._refusals = Counter("coderag_quota_refusals", "Requests over a limit.", registry=registry)
        if VARIABLE not in os.environ:
            ProcessCollector(registry=registry)
            registry.register(self._state)
        event.listen(database.engine, "handle_error", self._count_database_error)

    def observe_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Observe a request that has ended.

        Args:
            route: Template of its route, such as ``/api/v1/chat/{thread}``; never a path that a caller wrote.
            method: Its method.
            status: Status of the reply.
            seconds: Time that it took.
        """
        method = method if method in _METHODS else "other"
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route, method).observe(seconds)
        if status == 429:
            self._refusals.inc()

    def count_audit_entries(self, number: int) -> None:
        """Count entries that were recorded."""
        self._audit_entries.inc(number)

    def count_audit_failure(self) -> None:
        """Count a failed write of the audit record."""
        self._audit_failures.inc()

    def render(self) -> bytes:
        """Render all metrics in the text format of Prometheus, whose media type is `CONTENT_TYPE`."""
        if VARIABLE not in os.environ:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        registry.register(self._state)
        return generate_latest(registry)

    def _count_database_error(self, context: ExceptionContext) -> None:
        error = context.sqlalchemy_exception or context.original_exception
        if not isinstance(error, IntegrityError):  # such as a name that is taken: the caller's fault
            self._database_errors.labels(type(error).__name__).inc()


def forget_process(pid: int) -> None:
    """Leave the gauges of a process that ended out of the sums; its counters stay."""
    if VARIABLE in os.environ:
        multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]


class StateCollector(Collector):
    """State of the server in the database: jobs, the queue, indexes, the audit record. All processes see the same.

    Args:
        database: The database.
        clock: Returns the current time.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering it reads no database."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Read the state; without a database, it is only said that there is none."""
        info = GaugeMetricFamily("coderag_info", "Version of CodeRAG.", labels=("version",))
        info.add_metric((__version__,), 1)
        yield info
        try:
            families = list(self._read())
        except DatabaseUnavailableError:
            families = []
        yield _make_gauge("coderag_database_up", "Whether the database answers.", float(bool(families)))
        yield from families

    def _read(self) -> Iterator[Metric]:
        now = self._clock()
        with self._database.read() as session:
            by_state = select(Job.state, func.count()).group_by(Job.state)
            states = dict(session.execute(by_state).all())
            waiting_since = session.scalar(select(func.min(Job.created_at)).where(Job.state == "queued"))
            query = select(func.count(), func.count(HostedRepository.indexed_at), func.min(HostedRepository.indexed_at))
            n_repositories, n_indexed, oldest = session.execute(query).one()
            position = session.scalar(select(func.max(AuditEntry.sequence)))
        jobs = GaugeMetricFamily("coderag_jobs", "Jobs by state.", labels=("state",))
        for state in sorted({*states, *_JOB_STATES}):
            jobs.add_metric((state,), states.get(state, 0))
        repositories = GaugeMetricFamily("coderag_repositories", "Repositories by state.", labels=("state",))
        repositories.add_metric(("indexed",), n_indexed)
        repositories.add_metric(("waiting",), n_repositories - n_indexed)
        yield jobs
        yield repositories
        yield _make_gauge("coderag_queue_length", "Jobs that wait.", states.get("queued", 0))
        yield _make_gauge(
            "coderag_queue_age_seconds", "Age of the oldest job that waits.", _get_age(now, waiting_since)
        )
        yield _make_gauge("coderag_index_age_seconds", "Age of the oldest index.", _get_age(now, oldest))
        yield _make_gauge("coderag_audit_sequence", "Number of the newest entry of the audit record.", position or 0)


def _make_gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _get_age(now: datetime, since: datetime | None) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())
