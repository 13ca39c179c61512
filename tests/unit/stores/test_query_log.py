"""The log of recent queries."""

import stat
import sys
from pathlib import Path

import pytest

from coderag.stores.query_log import MAX_QUERY_CHARS, MAX_RECORDS, QueryLog, QueryRecord, RecordedResult


def make_record(query="login", results=(), filters=None):
    return QueryRecord.build(
        "search",
        query,
        results or [RecordedResult("a.py:1-2", "login")],
        filters=filters or {},
        evidence="found",
        confidence=0.9,
        elapsed_ms=3.1,
        generation=4,
        top_k=None,
    )


def test_records_come_back_newest_first(tmp_path):
    log, first, second = (
        QueryLog(tmp_path),
        make_record("one"),
        make_record("zwei ü\ud800", filters={"kinds": ["class"]}),
    )
    log.append(first)
    log.append(second)
    assert QueryLog(tmp_path).read_records() == [second, first]


def test_oldest_records_go_first(tmp_path):
    log = QueryLog(tmp_path)
    for number in range(MAX_RECORDS + 120):
        log.append(make_record(str(number)))
    records = log.read_records()
    assert [record.query for record in records] == [str(number) for number in range(619, 119, -1)]
    lines = [line for path in tmp_path.glob("queries*") for line in path.read_bytes().splitlines()]
    assert len(lines) <= 2 * MAX_RECORDS


def test_append_reads_the_log_only_after_another_wrote_it(tmp_path, monkeypatch):
    log = QueryLog(tmp_path)
    log.append(make_record("first"))
    reads = []
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: reads.append(path.name) or read_bytes(path))
    log.append(make_record("second"))
    assert reads == []
    QueryLog(tmp_path).append(make_record("another process"))
    reads.clear()
    log.append(make_record("third"))
    log.append(make_record("fourth"))
    assert reads == ["queries.jsonl"]
    assert [record.query for record in log.read_records()] == ["fourth", "third", "another process", "second", "first"]


def test_records_of_both_files_are_deleted(tmp_path):
    log = QueryLog(tmp_path)
    records = [make_record(str(number)) for number in range(MAX_RECORDS + 1)]
    for record in records:
        log.append(record)
    assert log.delete(records[1].id) == 1
    assert [record.query for record in log.read_records()[-2:]] == ["2", "0"]
    assert log.delete() == MAX_RECORDS
    assert list(tmp_path.glob("queries*")) == []


def test_long_queries_and_results_stay_bounded(tmp_path):
    log, results = QueryLog(tmp_path), [RecordedResult(f"{'x' * 900}.py:1-2", "name")] * 200
    for _ in range(300):
        log.append(make_record("ü" * 60_000, results, {"paths": ["y" * 5_000]}))
    assert sum(path.stat().st_size for path in tmp_path.glob("queries*")) < 4_100_000
    record = log.read_records()[0]
    assert (record.query, record.is_shortened) == ("ü" * MAX_QUERY_CHARS, True)
    assert (len(record.results), record.result_count, record.filters) == (17, 200, {})


def test_interrupted_append_costs_one_record(tmp_path):
    log, first, last = QueryLog(tmp_path), make_record("first"), make_record("last")
    log.append(first)
    with (tmp_path / "queries.jsonl").open("ab") as file:
        file.write(b'{"kind": "search", "que')
    log.append(last)
    assert log.read_records() == [last, first]


@pytest.mark.parametrize(
    "line", [b"[]", b"{}", b'"x"', b'{"results": [{"location": 1, "name": ""}]}', b"\xff\xfe", b"[" * 100_000]
)
def test_foreign_lines_are_left_out(tmp_path, line):
    log, record = QueryLog(tmp_path), make_record()
    (tmp_path / "queries.jsonl").write_bytes(line + b"\n")
    log.append(record)
    assert log.read_records() == [record]


def test_values_of_a_wrong_type_are_left_out(tmp_path):
    log = QueryLog(tmp_path)
    log.append(make_record())
    path = tmp_path / "queries.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"elapsed_ms": 3.1', b'"elapsed_ms": "3"'))
    assert log.read_records() == []


def test_one_record_or_all_are_deleted(tmp_path):
    log, records = QueryLog(tmp_path), [make_record(str(number)) for number in range(3)]
    for record in records:
        log.append(record)
    assert log.delete("unknown") == 0
    assert log.delete(records[1].id) == 1
    assert log.read_records() == [records[2], records[0]]
    assert log.delete() == 2
    assert (log.read_records(), log.delete()) == ([], 0)
    assert not (tmp_path / "queries.jsonl").exists()


def test_nothing_is_written_without_an_index(tmp_path):
    log = QueryLog(tmp_path / "gone")
    log.append(make_record())
    assert (log.read_records(), list(tmp_path.iterdir())) == ([], [])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_only_this_user_reads_the_file(tmp_path):
    log = QueryLog(tmp_path)
    for number in range(MAX_RECORDS + 60):
        log.append(make_record(str(number)))
        assert stat.S_IMODE((tmp_path / "queries.jsonl").stat().st_mode) == 0o600
