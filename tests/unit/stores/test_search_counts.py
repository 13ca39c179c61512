"""Counts of search results, which never interfere with a search."""

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


def test_results_are_counted_across_processes(directory):
    first = SearchCounts(directory)
    first.record_keys([LOGIN, TOTAL])
    del first
    gc.collect()  # as at the end of a process
    second = SearchCounts(directory)
    second.record_keys([LOGIN])
    assert second.read_counts() == {LOGIN: 2, TOTAL: 1}


def test_searches_are_buffered_before_writing(directory):
    counts = SearchCounts(directory)
    for _ in range(5):
        counts.record_keys([LOGIN])
    assert not list(directory.glob("returned*"))


def test_log_file_is_rotated(directory, monkeypatch):
    monkeypatch.setattr(search_counts, "_MAX_LOG_BYTES", 2_000)
    counts = SearchCounts(directory)
    for _ in range(400):
        counts.record_keys([LOGIN])
    counts.record_keys([TOTAL])
    counted = counts.read_counts()
    assert sum(file.stat().st_size for file in directory.iterdir()) < 6_000
    assert counted[TOTAL] == 1
    assert 0 < counted[LOGIN] < 400


def test_invalid_lines_are_ignored(directory):
    (directory / "returned.jsonl").write_text('{"a": 1}\n[["half\n[[1, 2, 3]]\n[["a.py", "f"]]\n')
    assert SearchCounts(directory).read_counts() == {("a.py", "f"): 1}


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_unwritable_folder_disables_counting(directory):
    directory.chmod(0o500)
    try:
        counts = SearchCounts(directory)
        for _ in range(40):
            counts.record_keys([LOGIN])
        assert counts.read_counts() == {}
    finally:
        directory.chmod(0o700)


def test_missing_index_writes_nothing(tmp_path):
    counts = SearchCounts(tmp_path / "none")
    for _ in range(40):
        counts.record_keys([LOGIN])
    assert not (tmp_path / "none").exists()


def test_file_in_place_of_the_folder_disables_counting(directory):
    (directory / "returned.jsonl").mkdir()
    counts = SearchCounts(directory)
    for _ in range(40):
        counts.record_keys([LOGIN])
    assert counts.read_counts() == {}
