from pathlib import Path

import pytest

from coderag.ingestion.files.scanner import scan
from coderag.ingestion.parsing.chunking import parse_file
from coderag.ingestion.workers import jobs, parse_cache
from coderag.ingestion.workers.jobs import FileTask, JobRunner, ParseJob, RunSettings
from coderag.stores.content_cache import ContentCache

TEXT = "def first():\n    return 1\n\n\ndef second():\n    return 2\n"


class Bench:
    """A folder, the jobs of its files, and a cache."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root.parent / "cache"

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def run(self, tasks=None, **settings):
        fields = {"chunking": {"min_tokens": 0}, "repository": "r", "cache_key": "", **settings}
        runner = JobRunner(RunSettings("run", self.root, 1_000_000, **fields), worker="me")
        tasks = tasks or [FileTask(candidate) for candidate in scan(self.root).candidates]
        try:
            return runner.run(ParseJob(tasks))
        finally:
            runner.close()

    def keep(self, items):
        with ContentCache(self.folder, limit_bytes=10**9) as cache:
            cache.put(parse_cache.NAMESPACE, items)


@pytest.fixture
def bench(tmp_path):
    bench = Bench(tmp_path / "repo")
    bench.write("a.py", TEXT)
    bench.write("b.py", TEXT.replace("first", "third"))
    return bench


@pytest.fixture
def parsed(monkeypatch):
    """The texts that were parsed."""
    texts = []

    def counted(path, text, *arguments, **options):
        texts.append(text)
        return parse_file(path, text, *arguments, **options)

    monkeypatch.setattr(jobs, "parse_file", counted)
    return texts


def test_chunks_counts_and_records_belong_to_the_same_files(bench):
    result = bench.run()
    assert [record.path for record in result.records] == ["a.py", "b.py"]
    assert result.columns["path"].to_pylist() == ["a.py", "a.py", "b.py", "b.py"]
    assert len(result.counts) == 4
    assert result.path_counts.shape == (2, len(result.new_terms))
    assert result.worker == "me"


def test_job_without_chunks_has_no_columns(bench):
    (bench.root / "a.py").write_bytes(b"\0")
    (bench.root / "b.py").unlink()
    result = bench.run()
    assert (result.columns, result.counts, result.new_terms) == (None, None, [])
    assert [record.outcome for record in result.records] == ["skipped"]


def test_file_with_unchanged_content_is_not_parsed(bench, parsed):
    records = {record.path: record for record in bench.run().records}
    parsed.clear()
    bench.write("b.py", "x = 1\n")
    result = bench.run([FileTask(candidate, records[candidate.path]) for candidate in scan(bench.root).candidates])
    assert result.unchanged == {"a.py"}
    assert parsed == ["x = 1\n"]
    assert result.columns["path"].to_pylist() == ["b.py"]


def test_each_file_and_the_end_of_parsing_are_announced(bench):
    announced = []
    tasks = [FileTask(candidate) for candidate in scan(bench.root).candidates]
    JobRunner(RunSettings("run", bench.root, 1_000_000, {}, "r", "")).run(ParseJob(tasks), announced.append)
    assert announced == [0, 1, -1]


# Faults


def failing(monkeypatch, *, always):
    def parse(path, text, *arguments, failure="", **options):
        if "third" in text and (always or not failure):
            raise RuntimeError("no such luck")
        return parse_file(path, text, *arguments, failure=failure, **options)

    monkeypatch.setattr(jobs, "parse_file", parse)


def test_file_with_internal_error_is_split_by_lines_with_a_note(bench, monkeypatch):
    failing(monkeypatch, always=False)
    intact, other = bench.run().records
    assert (other.outcome, other.note) == ("indexed", "cannot be parsed: RuntimeError('no such luck'); cut by lines")
    assert (intact.outcome, intact.note, intact.chunks) == ("indexed", "", 2)


def test_file_with_repeated_internal_errors_has_failed(bench, monkeypatch):
    failing(monkeypatch, always=True)
    result = bench.run()
    assert [record.outcome for record in result.records] == ["indexed", "failed"]
    assert result.records[1].reason == "cannot be parsed: RuntimeError('no such luck')"
    assert result.columns["path"].to_pylist() == ["a.py", "a.py"]


def test_degraded_treatment_gets_safer_each_time(bench):
    job = ParseJob([FileTask(candidate) for candidate in scan(bench.root).candidates])
    job = job.degrade(1, "it crashed")
    assert [(task.treatment, task.failure) for task in job.files] == [("whole", ""), ("lines", "it crashed")]
    assert [record.note for record in bench.run(job.files).records] == ["", "it crashed; cut by lines"]
    job = job.degrade(1, "it crashed again")
    assert [(record.outcome, record.reason) for record in bench.run(job.files).records] == [
        ("indexed", ""),
        ("failed", "it crashed again"),
    ]


# The cache


def test_cached_file_is_not_parsed_again(bench, parsed):
    first = bench.run(cache=bench.folder)
    bench.keep(first.new_cache_entries)
    parsed.clear()
    bench.write("moved/c.py", TEXT)
    bench.run(cache=bench.folder)
    assert parsed == []


def test_cached_chunks_equal_parsed_chunks(bench):
    first = bench.run(cache=bench.folder)
    bench.keep(first.new_cache_entries)
    second = bench.run(cache=bench.folder)
    assert second.columns.equals(first.columns)
    assert second.new_cache_entries == {}
    assert second.records == first.records


def test_other_settings_miss_the_cache(bench, parsed):
    bench.keep(bench.run(cache=bench.folder).new_cache_entries)
    parsed.clear()
    bench.run(cache=bench.folder, cache_key="other")
    assert len(parsed) == 2


@pytest.mark.parametrize("content", [b"", b"\xff\0", b"[]", b'["python", "", ["python"], [[1]]]'])
def test_damaged_cache_entry_is_parsed_again(bench, parsed, content):
    first = bench.run(cache=bench.folder)
    bench.keep(dict.fromkeys(first.new_cache_entries, content))
    parsed.clear()
    again = bench.run(cache=bench.folder)
    assert again.columns.equals(first.columns)
    assert again.new_cache_entries == first.new_cache_entries
    assert len(parsed) == 2


def test_degraded_file_bypasses_the_cache(bench):
    tasks = [FileTask(candidate, treatment="lines", failure="it crashed") for candidate in scan(bench.root).candidates]
    bench.keep(bench.run(cache=bench.folder).new_cache_entries)
    result = bench.run(tasks, cache=bench.folder)
    assert result.new_cache_entries == {}
    assert {record.note for record in result.records} == {"it crashed; cut by lines"}
