"""Metrics: what Prometheus reads, and that no name gets into a label."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, OperationalError

from coderag.errors import ConfigurationError
from coderag.server.metrics import Metrics, forget_process
from coderag.server.metrics_folder import prepare_metrics_folder
from coderag.server.storage.database import Database
from coderag.server.storage.models import HostedRepository, Job, Team

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def metrics(sqlite_database):
    return Metrics(sqlite_database, lambda: NOW)


def read(metrics):
    """Return the samples by name and labels."""
    families = text_string_to_metric_families(metrics.render().decode())
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value for family in families for sample in family.samples
    }


def test_requests_are_counted_by_route_method_and_status(metrics):
    metrics.observe_request("/api/v1/search", "POST", 200, 0.2)
    metrics.observe_request("/api/v1/search", "POST", 200, 3.0)
    metrics.observe_request("/api/v1/search", "POST", 429, 0.001)
    metrics.observe_request("/api/v1/search", "BREW", 405, 0.001)
    samples = read(metrics)
    assert samples["coderag_requests_total", "/api/v1/search", "200", "POST"] == 2
    assert samples["coderag_requests_total", "/api/v1/search", "405", "other"] == 1
    assert samples["coderag_request_seconds_bucket", "/api/v1/search", "0.25", "POST"] == 2
    assert samples["coderag_request_seconds_count", "/api/v1/search", "POST"] == 3
    assert samples["coderag_quota_refusals_total",] == 1


def test_state_of_jobs_queue_and_indexes_is_read_from_the_database(metrics, sqlite_database):
    with sqlite_database.begin() as session:
        fresh = HostedRepository(name="fresh", url="https://h/f", indexed_at=NOW - timedelta(hours=1))
        stale = HostedRepository(name="stale", url="https://h/s", indexed_at=NOW - timedelta(hours=5))
        new = HostedRepository(name="new", url="https://h/n")
        session.add_all([fresh, stale, new])
        session.flush()
        for state, minutes in (("queued", 7), ("queued", 3), ("running", 20), ("failed", 90)):
            created = NOW - timedelta(minutes=minutes)
            session.add(Job(repository_id=new.id, reason="add", state=state, created_at=created))
    samples = read(metrics)
    assert [samples["coderag_jobs", state] for state in ("queued", "running", "failed")] == [2, 1, 1]
    assert (samples["coderag_queue_length",], samples["coderag_queue_age_seconds",]) == (2, 420)
    assert (samples["coderag_repositories", "indexed"], samples["coderag_repositories", "waiting"]) == (2, 1)
    assert samples["coderag_index_age_seconds",] == 5 * 3600
    assert samples["coderag_database_up",] == 1
    assert not any(name in metrics.render().decode() for name in ("fresh", "stale"))


def test_database_that_is_away_is_a_value_and_no_failure(tmp_path):
    metrics = Metrics(Database("postgresql://nobody@127.0.0.1:1/nothing"))
    read(metrics)  # counts the failure, for the next time
    samples = read(metrics)
    assert samples["coderag_database_up",] == 0
    assert samples["coderag_database_errors_total", "OperationalError"] >= 1
    assert ("coderag_queue_length",) not in samples


def test_database_errors_are_counted_but_not_those_of_callers(metrics, sqlite_database):
    with pytest.raises(OperationalError), sqlite_database.engine.begin() as connection:
        connection.execute(text("SELECT * FROM nowhere"))
    for _ in range(2):
        try:
            with sqlite_database.begin() as session:
                session.add(Team(name="red"))
        except IntegrityError:
            pass
    samples = read(metrics)
    assert samples["coderag_database_errors_total", "OperationalError"] == 1
    assert ("coderag_database_errors_total", "IntegrityError") not in samples


def test_audit_writes_are_counted(metrics):
    metrics.count_audit_entries(3)
    metrics.count_audit_failure()
    samples = read(metrics)
    assert (samples["coderag_audit_entries_total",], samples["coderag_audit_failures_total",]) == (3, 1)


_PROCESS = """
import os, sys
from coderag.server.metrics import Metrics
from coderag.server.storage.database import Database
from coderag.server.storage.models import ServerTable
database = Database(sys.argv[1])
ServerTable.metadata.create_all(database.engine)
metrics = Metrics(database)
metrics.observe_request("/api/v1/search", "POST", 200, 0.1)
metrics.in_flight.inc()
if sys.argv[2] == "render":
    print(metrics.render().decode())
else:
    print(os.getpid())
"""


def test_processes_with_a_folder_add_up(tmp_path, monkeypatch):
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")  # so that it is taken back
    folder = tmp_path / "metrics"
    folder.mkdir()
    (folder / "counter_1.db").write_bytes(b"left by a process of before")
    prepare_metrics_folder(folder)

    def run(mode):
        command = [sys.executable, "-c", _PROCESS, f"sqlite:///{tmp_path / 'server.sqlite'}", mode]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    ended = int(run("count"))
    run("count")
    forget_process(ended)
    lines = run("render").splitlines()
    assert 'coderag_requests_total{method="POST",route="/api/v1/search",status="200"} 3.0' in lines
    assert "coderag_requests_in_flight 2.0" in lines
    assert "coderag_queue_length 0.0" in lines


def test_folder_that_cannot_be_used_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="cannot be used for metrics"):
        prepare_metrics_folder(tmp_path / "file" / "metrics")
