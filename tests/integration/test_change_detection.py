"""What tells that a file changed may mislead, be damaged or be missing: the index is right all the same."""

import json
import os

import pytest

from coderag.app import CodeRAG
from coderag.ingestion.files import changes
from coderag.ingestion.workers import jobs
from coderag.stores.pointer import FORMAT_DIRECTORY
from tests.support.indexes import assert_same_index


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "repo"
    (root / "pkg").mkdir(parents=True)
    for number in range(4):
        (root / "pkg" / f"m{number}.py").write_text(f"def f{number}():\n    return {number}\n")
    (root / "README.md").write_text("# Shop\n")
    return root


@pytest.fixture
def rag(root):
    rag = CodeRAG(root, ingestion={"workers": 0})
    rag.index()
    return rag


@pytest.fixture
def read(monkeypatch):
    """The paths that are read; what was written just now counts as old."""
    paths = []
    read_source = jobs.read_file_text

    def counted(root, candidate, **options):
        paths.append(candidate.path)
        return read_source(root, candidate, **options)

    monkeypatch.setattr(jobs, "read_file_text", counted)
    monkeypatch.setattr(changes, "_FINE_GRAIN_NS", -3_600_000_000_000)
    monkeypatch.setattr(changes, "_COARSE_GRAIN_NS", -3_600_000_000_000)
    return paths


def manifest_of(rag):
    return rag.root / ".coderag" / FORMAT_DIRECTORY / "manifest.json"


def assert_right(rag, tmp_path):
    clean = CodeRAG(rag.root, ingestion={"workers": 0}, storage={"directory": str(tmp_path / "clean")})
    clean.index()
    assert_same_index(rag._store.open(), clean._store.open())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no time of a status change")
def test_other_content_of_the_same_size_and_time_is_seen(rag, root, read, tmp_path):
    file = root / "pkg" / "m1.py"
    status = file.stat()
    file.write_text(file.read_text().replace("return 1", "return 7"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert rag.index().changed == 1
    assert read == ["pkg/m1.py"]
    assert_right(rag, tmp_path)


def test_a_file_replaced_by_one_of_the_same_size_and_time_is_seen(rag, root, read, tmp_path):
    file, other = root / "pkg" / "m1.py", tmp_path / "other.py"
    status = file.stat()
    other.write_text(file.read_text().replace("return 1", "return 7"))
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(file)
    assert rag.index().changed == 1
    assert_right(rag, tmp_path)


def test_the_run_after_a_touched_file_reads_nothing(rag, root, read):
    os.utime(root / "pkg" / "m1.py")
    before = rag._store.read_pointer()
    rag.index()
    assert read == ["pkg/m1.py"]
    read.clear()
    rag.index()
    assert read == []
    assert rag._store.read_pointer() == before


def test_a_missing_manifest_costs_one_run_that_reads_everything(rag, read):
    manifest_of(rag).unlink()
    before = rag._store.read_pointer()
    rag.index()
    assert len(read) == 5
    read.clear()
    rag.index()
    assert read == []
    assert rag._store.read_pointer() == before


def changed(stored, **values):
    return json.dumps({**stored, **values}).encode()


def with_field(stored, field, values):
    return changed(stored, records={**stored["records"], field: values})


DAMAGE = {
    "empty": lambda stored: b"",
    "garbage": lambda stored: b"\xff\xfe garbage",
    "truncated": lambda stored: json.dumps(stored).encode()[:-40],
    "a list": lambda stored: b"[1, 2]",
    "of another generation": lambda stored: changed(stored, generation=7),
    "of another index": lambda stored: changed(stored, created="2001-01-01T00:00:00+00:00"),
    "times are texts": lambda stored: with_field(stored, "mtime_ns", ["x"] * 5),
    "paths are numbers": lambda stored: with_field(stored, "path", [1, 2, 3, 4, 5]),
    "a column is short": lambda stored: with_field(stored, "hash", []),
    "checked at a word": lambda stored: changed(stored, checked_ns="soon"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_manifest_never_misleads(rag, root, tmp_path, damage):
    file = manifest_of(rag)
    file.write_bytes(DAMAGE[damage](json.loads(file.read_bytes())))
    (root / "pkg" / "m1.py").write_text("def other():\n    return 1\n")
    (root / "pkg" / "m2.py").unlink()
    (root / "new.py").write_text("def new():\n    return 1\n")
    assert rag.status().changed == ["pkg/m1.py"]
    report = rag.index()
    assert (report.added, report.changed, report.removed, report.unchanged) == (1, 1, 1, 3)
    assert_right(rag, tmp_path)


def test_edited_attributes_change_the_role_and_language_of_unchanged_files(rag, root, read, tmp_path):
    (root / ".gitattributes").write_text("pkg/m1.py linguist-generated\npkg/m2.py linguist-language=Ruby\n")
    report = rag.index()
    assert (report.added, report.changed) == (1, 2)
    rows = {record.path: (record.role, record.language) for record in rag._store.open().read_files()}
    assert rows["pkg/m1.py"] == ("generated", "python")
    assert rows["pkg/m2.py"] == ("source", "ruby")
    assert_right(rag, tmp_path)
    (root / ".gitattributes").unlink()
    assert rag.index().changed == 2
    assert_right(rag, tmp_path)
    read.clear()
    rag.index()
    assert read == []


def test_settings_of_the_index_are_no_part_of_it(rag, root):
    (root / ".coderag.yaml").write_text("# zebra settings of the index\nproject: zebra\n")
    rag.index()
    assert all(record.path != ".coderag.yaml" for record in rag._store.open().read_files())
