"""Summaries by subject and maker."""

import sqlite3
import threading

import pytest

from coderag.errors import StoreError
from coderag.stores.summary_cache import FILE_NAME, IMPORTED_MAKER_PREFIX, SummaryCache, SummaryEntry, parse_maker_name


@pytest.fixture
def cache(tmp_path):
    with SummaryCache(tmp_path / "cache") as cache:
        yield cache


def test_nothing_is_created_before_the_first_write(cache, tmp_path):
    assert cache.find_latest(["a"]) == {}
    assert cache.find_subjects_by_maker("m", ["a"]) == set()
    assert cache.find_failures("m", ["a"]) == {}
    assert cache.estimate_seconds_per_summary("m") is None
    assert not cache.exists
    assert not (tmp_path / "cache").exists()


def test_summary_is_visible_to_another_process(cache, tmp_path):
    cache.put("m", [SummaryEntry("a", "Does a."), SummaryEntry("b", "Does b.")])
    with SummaryCache(tmp_path / "cache") as other:
        assert other.find_latest(["b", "c", "a"]) == {"a": "Does a.", "b": "Does b."}


def test_thousands_of_subjects_are_queried_at_once(cache):
    cache.put("m", [SummaryEntry(str(number), f"Does {number}.") for number in range(2_500)])
    assert len(cache.find_latest(map(str, range(5_000)))) == 2_500


def test_last_summary_of_several_makers_wins(cache):
    cache.put("first", [SummaryEntry("a", "One.")])
    cache.put("second", [SummaryEntry("a", "Two.")])
    assert cache.find_latest(["a"]) == {"a": "Two."}
    assert cache.find_makers(["a"]) == {"a": "second"}
    cache.prefer_maker("first", ["a"])
    assert cache.find_latest(["a"]) == {"a": "One."}


def test_subjects_by_maker_include_imported_ones(cache):
    cache.put("m", [SummaryEntry("a", "One.")])
    cache.put(f"{IMPORTED_MAKER_PREFIX}somebody", [SummaryEntry("b", "Two.")])
    cache.put("other", [SummaryEntry("c", "Three.")])
    assert cache.find_subjects_by_maker("m", ["a", "b", "c"]) == {"a", "b"}


def test_failures_are_counted_until_a_summary_arrives(cache):
    cache.record_failures("m", {"a": "slow", "b": "refused"})
    cache.record_failures("m", {"a": "slower"})
    latest = cache.find_failures("m", ["a", "b", "c"])
    assert {subject: (entry.message, entry.attempts) for subject, entry in latest.items()} == {
        "a": ("slower", 2),
        "b": ("refused", 1),
    }
    assert cache.find_failures("other", ["a"]) == {}
    cache.put("m", [SummaryEntry("a", "One.")])
    assert cache.find_failures("m", ["a", "b"]).keys() == {"b"}


def test_speed_of_the_last_run_is_stored(cache):
    cache.record_speed("m", 10, 50.0)
    cache.record_speed("m", 10, 20.0)
    assert cache.estimate_seconds_per_summary("m") == 2.0


def test_concurrent_threads_can_write(cache, tmp_path):
    def write(thread):
        with SummaryCache(tmp_path / "cache") as own:
            for number in range(20):
                own.put("m", [SummaryEntry(f"{thread}-{number}", "Done.")])

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache.find_latest(f"{thread}-{number}" for thread in range(4) for number in range(20))) == 80


def test_damaged_file_error_has_a_hint(cache, tmp_path):
    cache.put("m", [SummaryEntry("a", "One.")])
    cache.close()
    (tmp_path / "cache" / FILE_NAME).write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="Cannot read") as caught:
        cache.find_latest(["a"])
    assert "move it away" in caught.value.hint
    with pytest.raises(StoreError, match="Cannot write"):
        cache.put("m", [SummaryEntry("a", "One.")])


def test_invalid_batch_is_rolled_back(cache):
    with pytest.raises((StoreError, sqlite3.Error)):
        cache.put("m", [SummaryEntry("a", "One."), SummaryEntry("b", None)])
    assert cache.find_latest(["a", "b"]) == {}


def test_maker_name_is_its_model():
    assert parse_maker_name("summarize-1-abc ollama/qwen") == "ollama/qwen"
    assert parse_maker_name(f"{IMPORTED_MAKER_PREFIX}by hand") == "by hand"
