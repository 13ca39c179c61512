import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from coderag.ingestion.changes import count_renames, find_changes, read_files, tree_hash
from coderag.ingestion.scanner import Candidate, Scan, scan
from coderag.schema import FileRecord

COMMIT = datetime(2026, 1, 1, 12, tzinfo=UTC)
COMMITTED = COMMIT.isoformat()
LIMIT = 1_000_000


def at(seconds):
    """A time in nanoseconds, so many seconds after the commit."""
    return int((COMMIT + timedelta(seconds=seconds)).timestamp() * 1e9)


def record(path="a.py", outcome="indexed", **fields):
    return FileRecord(path, outcome, **{"hash": "h", "size": 10, "mtime_ns": at(-3600), **fields})


def candidate(path="a.py", size=10, mtime_ns=None):
    return Candidate(path, size, at(-3600) if mtime_ns is None else mtime_ns, inode=1)


def changes_of(candidates, records, created=COMMITTED):
    return find_changes(Scan(candidates=candidates), records, created)


# By stat data


def test_a_file_with_the_stat_data_of_its_record_is_kept_unread():
    changes = changes_of([candidate()], [record()])
    assert (changes.kept, changes.changed, changes.removed) == ([record()], [], [])


@pytest.mark.parametrize("stat", [{"size": 11}, {"mtime_ns": at(-3599)}, {"mtime_ns": at(-7200)}])
def test_a_file_with_another_size_or_time_is_to_be_read(stat):
    assert changes_of([candidate(**stat)], [record()]).changed == [candidate(**stat)]


@pytest.mark.parametrize("seconds", [-1.9, 0, 5, 3600])
def test_a_file_written_about_when_the_index_was_is_to_be_read_again(seconds):
    """It may have changed once more without its time stamp showing it."""
    written = at(seconds)
    assert changes_of([candidate(mtime_ns=written)], [record(mtime_ns=written)]).kept == []


def test_a_file_written_well_before_the_index_is_trusted():
    written = at(-2.1)
    assert len(changes_of([candidate(mtime_ns=written)], [record(mtime_ns=written)]).kept) == 1


def test_a_file_that_could_not_be_read_is_tried_again():
    assert len(changes_of([candidate()], [record(outcome="failed", hash="")]).changed) == 1


def test_a_file_skipped_for_its_content_is_not_read_again():
    skipped = record(outcome="skipped", reason="binary file")
    assert changes_of([candidate()], [skipped]).kept == [skipped]


def test_without_an_earlier_index_everything_is_to_be_read():
    changes = changes_of([candidate("a.py"), candidate("b.py")], [], created="")
    assert [one.path for one in changes.changed] == ["a.py", "b.py"]


def test_only_what_was_indexed_can_be_removed():
    gone = [record("a.py"), record("b.png", "skipped"), record("c.py", "failed")]
    assert changes_of([], gone).removed == ["a.py"]


# By content


def on_disk(root, *paths):
    found = scan(root)
    return Scan(candidates=[one for one in found.candidates if one.path in paths])


def test_content_tells_what_stat_data_leave_open(tmp_path):
    contents = {"same.py": "a = 1\n", "edited.py": "b = 2\n", "new.py": "c = 3\n", "binary.py": "\0\0"}
    for path, text in contents.items():
        (tmp_path / path).write_text(text)
    old = {path: sha256(text.encode()).hexdigest() for path, text in contents.items()}
    records = [record("same.py", hash=old["same.py"]), record("edited.py"), record("binary.py"), record("gone.py")]
    changes = find_changes(on_disk(tmp_path, *contents), records, COMMIT.isoformat())
    assert changes.confirmed(tmp_path, LIMIT) == (["new.py"], ["edited.py"], ["gone.py", "binary.py"])


def test_a_file_is_read_with_its_hash_language_role_and_encoding(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_größe.py").write_bytes("x = 'größe'\n".encode("cp1252"))
    (file,) = read_files(tmp_path, scan(tmp_path).candidates, LIMIT)
    found = file.record
    assert (found.outcome, found.language, found.role, found.encoding) == ("indexed", "python", "test", "cp1252")
    assert found.hash == sha256("x = 'größe'\n".encode("cp1252")).hexdigest()
    assert file.source.text == "x = 'größe'\n"


def test_the_language_of_a_script_is_that_of_its_first_line(tmp_path):
    (tmp_path / "deploy").write_text("#!/usr/bin/env python3\nprint(1)\n")
    (file,) = read_files(tmp_path, scan(tmp_path).candidates, LIMIT)
    assert file.record.language == "python"


def test_a_file_without_text_has_its_reason_and_no_source(tmp_path):
    (tmp_path / "data.py").write_bytes(bytes(range(256)) * 9)
    (file,) = read_files(tmp_path, scan(tmp_path).candidates, LIMIT)
    assert (file.source, file.record.outcome, file.record.reason) == (None, "skipped", "binary file")
    assert file.record.hash


def test_a_file_that_vanishes_is_recorded_as_failed(tmp_path):
    (file,) = read_files(tmp_path, [candidate("gone.py")], LIMIT)
    assert (file.source, file.record.outcome, file.record.reason) == (None, "failed", "no such file or directory")


def test_the_recorded_time_is_that_before_reading(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    found = scan(tmp_path).candidates
    os.utime(tmp_path / "a.py", ns=(at(0), at(0)))
    (file,) = read_files(tmp_path, found, LIMIT)
    assert file.record.mtime_ns == at(0)


# Renames and the root


def test_a_rename_is_an_added_file_with_the_content_of_a_removed_one():
    removed = [record("a.py", hash="1"), record("b.py", hash="1"), record("c.py", hash="2")]
    added = [record("x.py", hash="1"), record("y.py", hash="1"), record("z.py", hash="1"), record("w.py", hash="3")]
    assert count_renames(added, removed) == 2


def test_the_root_hash_depends_on_paths_contents_and_outcomes_alone():
    tree = [record("a.py", hash="1"), record("b.py", hash="2")]
    assert tree_hash(tree) == tree_hash(reversed([replace(one, mtime_ns=1, size=2) for one in tree]))
    others = [
        [tree[0]],
        [tree[0], replace(tree[1], hash="3")],
        [tree[0], replace(tree[1], path="c.py")],
        [tree[0], replace(tree[1], outcome="skipped")],
    ]
    assert len({tree_hash(one) for one in [tree, *others]}) == 5
