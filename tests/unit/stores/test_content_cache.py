import logging
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from coderag.stores import content_cache
from coderag.stores.content_cache import FILE_NAME, ContentCache

PLENTY = 1 << 30
NOISE = random.Random(7).randbytes


@pytest.fixture
def cache(tmp_path):
    with ContentCache(tmp_path, limit_bytes=PLENTY) as cache:
        yield cache


# What is stored


@pytest.mark.parametrize("value", [b"", b"x", b"text " * 10_000, NOISE(10_000), b"\0" * 2_000 + NOISE(100_000)])
def test_get_returns_the_stored_value(cache, value):
    cache.put("parsed", {"key": value})
    assert cache.get("parsed", ["key"]) == {"key": value}


def test_get_returns_only_existing_keys(cache):
    cache.put("parsed", {"a": b"1", "b": b"2"})
    assert cache.get("parsed", ["b", "c"]) == {"b": b"2"}
    assert cache.get("parsed", []) == {}


def test_namespaces_do_not_share_keys(cache):
    cache.put("parsed", {"a": b"1"})
    cache.put("vectors", {"a": b"2"})
    assert cache.get("parsed", ["a"]) == {"a": b"1"}
    assert cache.get("vectors", ["a"]) == {"a": b"2"}


def test_put_replaces_an_existing_value(cache):
    cache.put("parsed", {"a": b"1" * 5_000})
    cache.put("parsed", {"a": b"2"})
    assert cache.get("parsed", ["a"]) == {"a": b"2"}


def test_values_persist_across_processes(tmp_path):
    with ContentCache(tmp_path, limit_bytes=PLENTY) as cache:
        cache.put("parsed", {"a": b"1"})
    with ContentCache(tmp_path, limit_bytes=PLENTY) as cache:
        assert cache.get("parsed", ["a"]) == {"a": b"1"}


def test_values_of_another_process_are_visible_at_once(tmp_path, cache):
    with ContentCache(tmp_path, limit_bytes=PLENTY) as other:
        cache.put("parsed", {"a": b"1"})
        assert other.get("parsed", ["a"]) == {"a": b"1"}


def test_text_is_stored_compressed(tmp_path):
    with ContentCache(tmp_path, limit_bytes=PLENTY) as cache:
        cache.put("parsed", {str(number): b"%d text " % number * 10_000 for number in range(10)})
    assert (tmp_path / FILE_NAME).stat().st_size < 100_000


def test_closed_cache_returns_nothing_without_error(tmp_path):
    with ContentCache(tmp_path, limit_bytes=PLENTY) as cache:
        cache.put("parsed", {"a": b"1"})
    cache.put("parsed", {"b": b"1"})
    cache.prune()
    cache.close()
    assert cache.get("parsed", ["a", "b"]) == {}


def test_cache_directory_is_ignored_by_git(tmp_path, cache):
    assert (tmp_path / ".gitignore").read_text() == "*\n"


def test_files_of_other_format_versions_are_left_alone(tmp_path):
    (tmp_path / "content-v0.sqlite").write_bytes(b"older")
    (tmp_path / "content-v2.sqlite").write_bytes(b"newer")
    with ContentCache(tmp_path, limit_bytes=0) as cache:
        cache.put("parsed", {"a": b"1"})
        cache.prune()
    assert (tmp_path / "content-v0.sqlite").read_bytes() == b"older"
    assert (tmp_path / "content-v2.sqlite").read_bytes() == b"newer"


# What is dropped


def fill(directory, *names):
    with ContentCache(directory, limit_bytes=PLENTY) as cache:
        for name in names:
            cache.put("n", {name: NOISE(1_000)})


def list_kept(directory, limit, names):
    with ContentCache(directory, limit_bytes=limit) as cache:
        cache.prune()
        return sorted(cache.get("n", names))


@pytest.mark.parametrize(("limit", "left"), [(5_000, "abcd"), (4_000, "abcd"), (3_999, "bcd"), (1_000, "d"), (0, "")])
def test_prune_evicts_the_oldest_value_first(tmp_path, limit, left):
    fill(tmp_path, *"abcd")
    assert list_kept(tmp_path, limit, "abcd") == list(left)


def test_prune_keeps_recently_used_values(tmp_path):
    fill(tmp_path, *"abcd")
    with ContentCache(tmp_path, limit_bytes=0) as reader:
        reader.get("n", ["a", "b"])
    fill(tmp_path, "e")
    assert list_kept(tmp_path, 3_000, "abcde") == ["a", "b", "e"]


def test_find_existing_does_not_count_as_use(tmp_path):
    fill(tmp_path, *"abcd")
    before = (tmp_path / FILE_NAME).read_bytes()
    with ContentCache(tmp_path, limit_bytes=0) as reader:
        assert reader.find_existing("n", ["a", "x", "b", "a"]) == {"a", "b"}
        assert reader.find_existing("other", ["a"]) == set()
    assert (tmp_path / FILE_NAME).read_bytes() == before
    assert reader.find_existing("n", ["a"]) == set(), "closed"
    assert list_kept(tmp_path, 2_000, "abcd") == ["c", "d"]


def test_use_is_recorded_with_the_next_put(tmp_path):
    fill(tmp_path, *"ab")
    with ContentCache(tmp_path, limit_bytes=2_000) as cache:
        cache.get("n", ["a"])
        cache.put("n", {"c": NOISE(1_000)})
        assert list_kept(tmp_path, 2_000, "abc") == ["a", "c"]


def test_prune_frees_disk_space(tmp_path):
    with ContentCache(tmp_path, limit_bytes=10_000) as cache:
        cache.put("n", {str(number): NOISE(10_000) for number in range(100)})
        cache.prune()
    assert (tmp_path / FILE_NAME).stat().st_size < 50_000


# Trouble


def list_warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def assert_begun_anew(directory, caplog):
    with ContentCache(directory, limit_bytes=PLENTY) as cache:
        values = cache.get("n", [str(number) for number in range(50)])
        assert len(values) < 50
        cache.put("n", {"new": b"1"})
        assert cache.get("n", ["new"]) == {"new": b"1"}
    assert ["was damaged" in message for message in list_warnings(caplog)] == [True]
    with ContentCache(directory, limit_bytes=PLENTY) as cache:
        assert cache.get("n", ["new"]) == {"new": b"1"}


@pytest.mark.parametrize("content", [b"not a database at all" * 1_000, b"SQLite format 3\0" + b"\xff" * 5_000])
def test_non_database_file_is_quarantined(tmp_path, caplog, content):
    (tmp_path / FILE_NAME).write_bytes(content)
    assert_begun_anew(tmp_path, caplog)
    assert (tmp_path / f"{FILE_NAME}.damaged").read_bytes() == content


def test_corrupt_database_is_quarantined(tmp_path, caplog):
    fill(tmp_path, *map(str, range(50)))
    data = bytearray((tmp_path / FILE_NAME).read_bytes())
    data[4_096:] = NOISE(len(data) - 4_096)
    (tmp_path / FILE_NAME).write_bytes(data)
    assert_begun_anew(tmp_path, caplog)


def test_two_processes_quarantine_the_same_damage_once(tmp_path, caplog):
    fill(tmp_path, "a")
    with ContentCache(tmp_path, limit_bytes=PLENTY) as cache_file, ContentCache(tmp_path, limit_bytes=PLENTY) as other:
        with (tmp_path / FILE_NAME).open("r+b") as file:
            file.seek(4_096)
            file.write(NOISE(100_000))
        cache_file.put("n", {"b": b"1"})
        assert other.get("n", ["a", "b"]) == {"b": b"1"}
    assert ["was damaged" in message for message in list_warnings(caplog)] == [True]


def test_truncated_file_is_quarantined(tmp_path, caplog):
    fill(tmp_path, *map(str, range(50)))
    os.truncate(tmp_path / FILE_NAME, 5_000)
    assert_begun_anew(tmp_path, caplog)


def test_empty_file_is_reinitialized(tmp_path, caplog):
    (tmp_path / FILE_NAME).touch()
    with ContentCache(tmp_path, limit_bytes=PLENTY) as cache:
        cache.put("n", {"a": b"1"})
        assert cache.get("n", ["a"]) == {"a": b"1"}
    assert list_warnings(caplog) == []


def test_damaged_value_is_not_returned(tmp_path, cache):
    cache.put("n", {"a": b"text " * 1_000, "b": b"1"})
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as other, other:
        other.execute("UPDATE contents SET value = x'00' WHERE size > 0")
    assert cache.get("n", ["a", "b"]) == {"b": b"1"}


def test_locked_file_disables_the_cache_with_one_warning(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(content_cache, "_LOCK_TIMEOUT_S", 0)
    with ContentCache(tmp_path, limit_bytes=PLENTY) as cache:
        with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            cache.put("n", {"a": b"1"})
            cache.put("n", {"b": b"1"})
        assert cache.get("n", ["a", "b"]) == {}
    assert ["locked" in message for message in list_warnings(caplog)] == [True]


def test_reads_succeed_while_another_process_writes(tmp_path, cache):
    cache.put("n", {"a": b"1"})
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert cache.get("n", ["a"]) == {"a": b"1"}


def assert_off(cache, caplog):
    cache.put("n", {"a": b"1"})
    cache.prune()
    assert cache.get("n", ["a"]) == {}
    cache.close()
    assert len(list_warnings(caplog)) == 1


def test_full_disk_disables_the_cache(cache, caplog):
    cache._connection.execute("PRAGMA max_page_count = 20")
    with caplog.at_level(logging.INFO):
        cache.put("n", {"a": NOISE(1_000_000)})
    assert "full" in caplog.messages[0]
    assert list_warnings(caplog) == []  # of a full disk the index itself tells
    cache.put("n", {"a": b"1"})
    assert cache.get("n", ["a"]) == {}


def test_uncreatable_directory_disables_the_cache(tmp_path, caplog):
    (tmp_path / "file").touch()
    assert_off(ContentCache(tmp_path / "file" / "cache", limit_bytes=PLENTY), caplog)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="permissions do not bind this user")
def test_read_only_directory_disables_the_cache(tmp_path, caplog):
    fill(tmp_path, "a")
    (tmp_path / FILE_NAME).chmod(0o444)
    tmp_path.chmod(0o555)
    assert_off(ContentCache(tmp_path, limit_bytes=PLENTY), caplog)
    tmp_path.chmod(0o755)


PUTTING = """
import sys
from pathlib import Path
from coderag.stores.content_cache import ContentCache
with ContentCache(Path(sys.argv[1]), limit_bytes=1 << 30) as cache:
    for number in range(30):
        cache.put("n", {f"{sys.argv[2]}-{number}": b"1", f"shared-{number}": b"2"})
        cache.get("n", [f"shared-{number}"])
"""


def test_several_processes_initialize_and_fill_the_cache_at_once(tmp_path):
    command = [sys.executable, "-c", PUTTING, str(tmp_path / "cache")]
    writers = [subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True) for name in "abcd"]
    assert [writer.communicate()[1] for writer in writers] == [""] * 4
    keys = [f"{name}-{number}" for name in [*"abcd", "shared"] for number in range(30)]
    with ContentCache(tmp_path / "cache", limit_bytes=PLENTY) as cache:
        assert sorted(cache.get("n", keys)) == sorted(keys)
