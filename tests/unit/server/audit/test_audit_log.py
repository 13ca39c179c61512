"""The audit record: what is recorded, by whom, and what happens where it cannot be."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, text

from coderag.errors import DatabaseUnavailableError, ServerError
from coderag.server.audit.audit_log import AuditLog
from coderag.server.audit.entries import format_entry
from coderag.server.audit.search import AuditFilter
from coderag.server.sealing import MasterKey
from coderag.server.settings import AuditSettings
from coderag.server.storage.database import Database
from coderag.server.storage.models import Team

ALL = AuditFilter()


class Clock:
    def __init__(self):
        self.now = datetime(2026, 5, 1, 12, tzinfo=UTC)

    def __call__(self):
        return self.now


def test_entry_says_who_did_what_to_which_repository(log, ada):
    log.record(ada, "repository.read", repository_id="r1", detail={"route": "POST /search"})
    log.record(None, "sign-in", outcome="denied")

    denied, read = log.search(ALL)
    assert (read.sequence, read.actor_id, read.actor, read.credential_id) == (1, "ada-id", "Ada", "key-1")
    assert (read.address, read.action, read.repository_id, read.outcome) == (
        "192.0.2.7", "repository.read", "r1", "allowed",
    )  # fmt: skip
    assert json.loads(read.detail) == {"route": "POST /search"}
    assert (denied.sequence, denied.actor, denied.outcome) == (2, "", "denied")
    assert log.verify().is_intact


def test_threads_write_a_chain_without_gaps(log, ada):
    with ThreadPoolExecutor(24) as pool:
        list(pool.map(lambda number: log.record(ada, f"action {number}"), range(240)))

    report = log.verify()
    assert (report.is_intact, report.entries, report.last_sequence, report.counter_sequence) == (True, 240, 240, 240)
    assert {entry.action for entry in log.search(ALL, limit=1_000)} == {f"action {number}" for number in range(240)}


def test_entry_belongs_to_the_transaction_of_its_caller(log, ada):
    with log._database.begin() as session:
        session.add(Team(name="red"))
        log.record(ada, "team.add", session=session)
        log.record(ada, "team.grant", session=session)
    with pytest.raises(ZeroDivisionError), log._database.begin() as session:
        session.add(Team(name="blue"))
        log.record(ada, "team.add", session=session)
        1 / 0  # noqa: B018

    assert [entry.action for entry in log.search(ALL)] == ["team.grant", "team.add"]
    with log._database.read() as session:
        assert list(session.scalars(select(Team.name))) == ["red"]
    assert (log.verify().is_intact, log.verify().counter_sequence) == (True, 2)


def test_savepoint_that_is_rolled_back_leaves_the_entries_before_it(log, ada):
    with log._database.begin() as session:
        log.record(ada, "before", session=session)
        with pytest.raises(ZeroDivisionError), session.begin_nested():
            session.add(Team(name="red"))
            session.flush()
            1 / 0  # noqa: B018
    assert [entry.action for entry in log.search(ALL)] == ["before"]


def test_reading_session_is_refused_as_its_entry_would_be_lost(log, ada):
    with log._database.read() as session, pytest.raises(ValueError, match="writes to the same database"):
        log.record(ada, "lost", session=session)


def test_transactions_and_single_entries_share_one_chain(log, ada):
    def write(number):
        if number % 2:
            log.record(ada, "single")
            return
        with log._database.begin() as session:
            session.add(Team(name=f"team {number}"))
            session.flush()
            log.record(ada, "joined", session=session)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(60)))
    report = log.verify()
    assert (report.is_intact, report.entries, report.counter_sequence) == (True, 60, 60)


def test_texts_that_a_database_cannot_store_are_stored_readably(log, ada):
    log.record(ada, "read\0" + "x" * 500, repository_id="r" * 100, detail={"k\0": "v\0\ud800" + "y" * 9_000})
    entry = log.search(ALL)[0]
    assert entry.action.startswith("read\N{REPLACEMENT CHARACTER}xxx")
    assert (len(entry.action), len(entry.repository_id)) == (200, 32)
    ((_, value),) = json.loads(entry.detail).items()
    assert (value.endswith("…"), len(value)) == (True, 4_000)
    assert log.verify().is_intact


def test_equal_questions_have_equal_hashes_that_need_the_key(open_log, tmp_path):
    log, other = open_log(), open_log(key=bytes(32))
    assert log.hash_question("who signs in?") == log.hash_question("  who signs in?\n")
    assert log.hash_question("who signs in?") != log.hash_question("who signs out?")
    assert log.hash_question("who signs in?") != other.hash_question("who signs in?")
    assert "signs" not in log.hash_question("who signs in?")
    assert open_log(questions="text").hash_question(" who signs in? ") == "who signs in?"
    assert open_log(questions="none").hash_question("who signs in?") == ""


def test_search_filters_and_pages(log, ada):
    for number in range(5):
        log.record(
            ada, "repository.read", repository_id=f"r{number % 2}", outcome="denied" if number == 4 else "allowed"
        )
    assert [entry.sequence for entry in log.search(AuditFilter(repository_id="r0"), limit=2)] == [5, 3]
    assert [entry.sequence for entry in log.search(AuditFilter(repository_id="r0"), before=3)] == [1]
    assert [entry.sequence for entry in log.search(AuditFilter(actor="Ada", outcome="denied"))] == [5]
    assert log.search(AuditFilter(actor="Eve")) == log.search(AuditFilter(action="x")) == []


def test_export_has_a_line_of_json_for_each_entry_of_a_time(open_log, database_url, ada):
    clock = Clock()
    log = open_log(database_url, clock=clock)
    for number in range(4):
        log.record(ada, "read", detail={"n": str(number)})
        clock.now += timedelta(days=1)
    start = datetime(2026, 5, 2, tzinfo=UTC)
    lines = [json.loads(format_entry(entry)) for entry in log.export(start, start + timedelta(days=2))]
    assert [line["detail"] for line in lines] == [{"n": "1"}, {"n": "2"}]
    assert lines[0]["time"] == "2026-05-02T12:00:00.000000+00:00"
    assert len(list(log.export())) == 4


def test_retention_deletes_the_beginning_and_records_that(open_log, database_url, ada):
    clock = Clock()
    log = open_log(database_url, clock=clock, retention_days=30)
    for _ in range(10):
        log.record(ada, "read")
        clock.now += timedelta(days=5)
    assert log.prune(None) == 4  # those of more than 30 days ago
    assert log.prune(None) == 0
    report = log.verify()
    assert (report.is_intact, report.first_sequence, report.last_sequence) == (True, 5, 11)
    newest = log.search(ALL)[0]
    assert newest.action == "audit.prune"
    assert {"through": "4", "entries": "4"}.items() <= json.loads(newest.detail).items()

    log.record(ada, "read")
    clock.now += timedelta(days=300)
    assert log.prune(None) == 8
    report = log.verify()
    assert (report.is_intact, report.first_sequence, report.entries) == (True, 13, 2)  # what retention itself recorded
    assert open_log(database_url).prune(None) == 0  # by default, all is kept


def test_long_beginning_is_deleted_in_several_steps(open_log, database_url, ada, monkeypatch):
    monkeypatch.setattr("coderag.server.audit.retention._STEP", 7)
    clock = Clock()
    log = open_log(database_url, clock=clock, retention_days=1)
    for _ in range(30):
        log.record(ada, "read")
    clock.now += timedelta(days=2)
    assert log.prune(None) == 30
    assert (log.verify().is_intact, log.verify().first_sequence) == (True, 31)


def test_retention_deletes_no_evidence(open_log, database_url, ada):
    clock = Clock()
    log = open_log(database_url, clock=clock, retention_days=1)
    for _ in range(5):
        log.record(ada, "read")
    clock.now += timedelta(days=9)
    with log._database.begin() as session:
        session.execute(text("UPDATE audit_entries SET actor = 'Eve' WHERE sequence = 2"))
    with pytest.raises(ServerError, match="broken at 2"):
        log.prune(None)
    with log._database.begin() as session:
        session.execute(text("UPDATE audit_entries SET actor = 'Ada' WHERE sequence = 2"))
        session.execute(text("DELETE FROM audit_entries WHERE sequence = 5"))
    with pytest.raises(ServerError, match="does not fit its counter"):
        log.prune(None)
    assert len(log.search(ALL)) == 4


def test_actions_of_the_record_itself_cannot_be_recorded(log, ada):
    with pytest.raises(ValueError, match=r"audit\.prune"):
        log.record(ada, "audit.prune", detail={"through": "9", "mac": ""})


def test_unreachable_database_refuses_every_entry(tmp_path, ada):
    database = Database("postgresql://nobody@127.0.0.1:1/nothing")
    log = AuditLog(database, MasterKey(bytes(32)), AuditSettings(), tmp_path / "audit.counter")
    with ThreadPoolExecutor(4) as pool:
        errors = [future.exception() for future in [pool.submit(log.record, ada, "read") for _ in range(4)]]
    assert all(isinstance(error, DatabaseUnavailableError) for error in errors)
    assert len(set(map(id, errors))) == 4


def test_full_disk_refuses_the_entry_and_the_next_one_continues(open_log, ada):
    log = open_log()
    log.record(ada, "read")
    with log._database.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()

    def limit(connection, *_):
        connection.exec_driver_sql(f"PRAGMA max_page_count = {limit.pages}")

    from sqlalchemy import event

    limit.pages = pages
    event.listen(log._database.engine, "begin", limit)
    with pytest.raises(DatabaseUnavailableError):
        for _ in range(200):
            log.record(ada, "read", detail={"long": "x" * 4_000})
    recorded = len(log.search(ALL, limit=1_000))
    limit.pages = 1_000_000
    log.record(ada, "read again")
    report = log.verify()
    assert (report.is_intact, report.entries, report.counter_sequence) == (True, recorded + 1, recorded + 1)


def test_counter_that_cannot_be_written_refuses_the_entry(open_log, ada, monkeypatch):
    log = open_log()
    log.record(ada, "read")

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("coderag.server.audit.counter.os.fsync", fail)
        with pytest.raises(DatabaseUnavailableError, match="No space left"):
            log.record(ada, "read")
    log.record(ada, "read")
    assert log.verify().is_intact


def test_group_commit_writes_what_waits_in_one_transaction(open_log, ada):
    log = open_log()
    batches, gate = [], threading.Event()
    write = log._group._write

    def slow_write(drafts):
        batches.append(len(drafts))
        gate.wait(20)
        write(drafts)

    log._group._write = slow_write
    with ThreadPoolExecutor(16) as pool:
        futures = [pool.submit(log.record, ada, "read") for _ in range(16)]
        while len(log._group._queue) + sum(batches) < 16:
            pass
        gate.set()
        assert all(future.result() is None for future in futures)
    assert (sum(batches), len(batches)) == (16, 2) or (sum(batches), len(batches)) == (16, 1)
    assert log.verify().entries == 16


def test_counter_is_private_and_made_beside_the_database(open_log, ada, tmp_path):
    log = open_log()
    log.record(ada, "read")
    counter: Path = tmp_path / "audit.counter"
    assert counter.stat().st_mode & 0o077 == 0
