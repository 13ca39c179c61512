from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from coderag.ingestion.files.candidates import FileCandidate
from coderag.ingestion.files.changes import compute_content_digest, count_renames, find_changes
from coderag.ingestion.files.scanner import Scan, scan
from coderag.schema.chunks import FileRecord
from coderag.stores.manifest import Manifest

COMMIT = datetime(2026, 1, 1, 12, tzinfo=UTC)
LIMIT = 1_000_000


def at(seconds):
    """A time in nanoseconds, so many seconds after the commit."""
    return int((COMMIT + timedelta(seconds=seconds)).timestamp() * 1e9)


STATUS = {"mtime_ns": at(-3600), "ctime_ns": at(-3600), "inode": 1}


def record(path="a.py", outcome="indexed", **fields):
    return FileRecord(path, outcome, **{"hash": "h", "size": 10, **STATUS, **fields})


def candidate(path="a.py", size=10, **fields):
    return FileCandidate(path, size, **{**STATUS, **fields})


def manifest(records):
    return Manifest(records, at(0))


def compute_changes(candidates, records):
    return find_changes(Scan(candidates=candidates), manifest(records))


# By stat data


def test_file_with_unchanged_stat_data_is_not_read():
    changes = compute_changes([candidate()], [record()])
    assert (changes.unchanged, changes.changed, changes.removed) == ([record()], [], [])


@pytest.mark.parametrize(
    "status", [{"size": 11}, {"mtime_ns": at(-3599)}, {"mtime_ns": at(-7200)}, {"ctime_ns": at(-3599)}, {"inode": 2}]
)
def test_file_with_changed_stat_data_is_read(status):
    assert compute_changes([candidate(**status)], [record()]).changed == [candidate(**status)]


@pytest.mark.parametrize("which", ["mtime_ns", "ctime_ns"])
@pytest.mark.parametrize("seconds", [-1.0, 0, 5, -0.05, 0.001])
def test_racily_clean_file_is_read_again(which, seconds):
    """It may have changed once more without its time stamp showing it."""
    written = {which: at(seconds)}
    assert compute_changes([candidate(**written)], [record(**written)]).unchanged == []


@pytest.mark.parametrize("seconds", [-3, -0.2])
def test_older_file_is_trusted(seconds):
    """Two seconds before where time stamps are whole seconds, a tenth of one elsewhere."""
    written = {"mtime_ns": at(seconds), "ctime_ns": at(seconds)}
    assert len(compute_changes([candidate(**written)], [record(**written)]).unchanged) == 1


def test_failed_file_is_read_again():
    assert len(compute_changes([candidate()], [record(outcome="failed", hash="")]).changed) == 1


def test_skipped_file_is_not_read_again():
    skipped = record(outcome="skipped", reason="binary file")
    assert compute_changes([candidate()], [skipped]).unchanged == [skipped]


def test_every_file_is_read_without_an_index():
    changes = find_changes(Scan(candidates=[candidate("a.py"), candidate("b.py")]), None)
    assert [candidate_file.path for candidate_file in changes.changed] == ["a.py", "b.py"]


def test_only_indexed_files_can_be_removed():
    gone = [record("a.py"), record("b.png", "skipped"), record("c.py", "failed")]
    assert compute_changes([], gone).removed == ["a.py"]


# By content


def on_disk(root, *paths):
    result = scan(root)
    return Scan(candidates=[candidate_file for candidate_file in result.candidates if candidate_file.path in paths])


def test_content_decides_when_stat_data_are_inconclusive(tmp_path):
    contents = {"same.py": "a = 1\n", "edited.py": "b = 2\n", "new.py": "c = 3\n", "binary.py": "\0\0"}
    for path, text in contents.items():
        (tmp_path / path).write_text(text)
    old = {path: sha256(text.encode()).hexdigest() for path, text in contents.items()}
    records = [record("same.py", hash=old["same.py"]), record("edited.py"), record("binary.py"), record("gone.py")]
    changes = find_changes(on_disk(tmp_path, *contents), manifest(records))
    assert changes.confirm(tmp_path, LIMIT) == (["new.py"], ["edited.py"], ["gone.py", "binary.py"])


# Renames and the digest


def test_a_rename_is_an_added_file_with_the_content_of_a_removed_one():
    removed = [record("a.py", hash="1"), record("b.py", hash="1"), record("c.py", hash="2")]
    added = [record("x.py", hash="1"), record("y.py", hash="1"), record("z.py", hash="1"), record("w.py", hash="3")]
    assert count_renames(added, removed) == 2


def test_digest_depends_on_paths_contents_and_outcomes_only():
    tree = [record("a.py", hash="1"), record("b.py", hash="2")]
    assert compute_content_digest(tree) == compute_content_digest(
        [replace(candidate_file, mtime_ns=1, size=2) for candidate_file in reversed(tree)]
    )
    variants = [
        [tree[0]],
        [tree[0], replace(tree[1], hash="3")],
        [tree[0], replace(tree[1], path="c.py")],
        [tree[0], replace(tree[1], outcome="skipped")],
    ]
    assert len({compute_content_digest(candidate_file) for candidate_file in [tree, *variants]}) == 5
