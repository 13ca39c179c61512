"""What searches return is counted in a small file, and never gets in a search's way."""

import gc
import os

import pytest

from coderag.stores import search_counts
from coderag.stores.search_counts import SearchCounts

LOGIN, TOTAL = ("auth/session.py", "login"), ("shop/cart.py", "total")


@pytest.fixture
def directory(tmp_path):
    folder = tmp_path / ".coderag"
    folder.mkdir()
    return folder


def test_results_are_counted_over_processes(directory):
    first = SearchCounts(directory)
    first.record_keys([LOGIN, TOTAL])
    del first
    gc.collect()  # as at the end of a process
    second = SearchCounts(directory)
    second.record_keys([LOGIN])
    assert second.read_counts() == {LOGIN: 2, TOTAL: 1}


def test_no_search_writes_a_line_of_its_own(directory):
    counts = SearchCounts(directory)
    for _ in range(5):
        counts.record_keys([LOGIN])
    assert not list(directory.glob("returned*"))


def test_the_file_stays_small_and_recent_searches_count(directory, monkeypatch):
    monkeypatch.setattr(search_counts, "_MAX_LOG_BYTES", 2_000)
    counts = SearchCounts(directory)
    for _ in range(400):
        counts.record_keys([LOGIN])
    counts.record_keys([TOTAL])
    found = counts.read_counts()
    assert sum(file.stat().st_size for file in directory.iterdir()) < 6_000
    assert found[TOTAL] == 1
    assert 0 < found[LOGIN] < 400


def test_lines_that_are_none_count_nothing(directory):
    (directory / "returned.jsonl").write_text('{"a": 1}\n[["half\n[[1, 2, 3]]\n[["a.py", "f"]]\n')
    assert SearchCounts(directory).read_counts() == {("a.py", "f"): 1}


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written_counts_nothing(directory):
    directory.chmod(0o500)
    try:
        counts = SearchCounts(directory)
        for _ in range(40):
            counts.record_keys([LOGIN])
        assert counts.read_counts() == {}
    finally:
        directory.chmod(0o700)


def test_without_an_index_nothing_is_written(tmp_path):
    counts = SearchCounts(tmp_path / "none")
    for _ in range(40):
        counts.record_keys([LOGIN])
    assert not (tmp_path / "none").exists()


def test_a_file_where_the_counts_should_be_counts_nothing(directory):
    (directory / "returned.jsonl").mkdir()
    counts = SearchCounts(directory)
    for _ in range(40):
        counts.record_keys([LOGIN])
    assert counts.read_counts() == {}
