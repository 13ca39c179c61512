import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coderag.schema.chunks import FileRecord
from coderag.stores.manifest import Manifest, read_manifest, write_manifest
from coderag.stores.pointer import FORMAT_DIRECTORY, EmbeddingInfo, Pointer

RECORDS = [
    FileRecord("a.py", "indexed", hash="h", size=3, mtime_ns=2**62, ctime_ns=5, inode=2**50, chunks=2, note="größe"),
    FileRecord("b.bin", "skipped", "binary file"),
]
MANIFEST = Manifest(RECORDS, 1_700_000_000_000_000_000)


def pointer(generation=3, created="2026-01-01T00:00:00+00:00"):
    embedding = EmbeddingInfo("embedded", "words", 256)
    return Pointer(generation, {}, "", embedding=embedding, tokenizer="1", created=created)


@pytest.fixture
def directory(tmp_path):
    (tmp_path / FORMAT_DIRECTORY).mkdir()
    write_manifest(tmp_path, pointer(), MANIFEST)
    return tmp_path


def file_in(directory):
    (file,) = (directory / FORMAT_DIRECTORY).iterdir()
    return file


def test_manifest_survives_a_round_trip(directory):
    assert read_manifest(directory, pointer()) == MANIFEST


@pytest.mark.parametrize("other", [pointer(generation=4), pointer(created="2026-01-01T00:00:01+00:00")])
def test_manifest_of_another_generation_is_ignored(directory, other):
    assert read_manifest(directory, other) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"{}", b"\xff", b'{"generation": 3}'])
def test_damaged_manifest_is_ignored(directory, content):
    file_in(directory).write_bytes(content)
    assert read_manifest(directory, pointer()) is None


def test_missing_manifest_is_none(directory):
    file_in(directory).unlink()
    assert read_manifest(directory, pointer()) is None


@pytest.mark.parametrize("length", [1, 50, 200, -1])
def test_truncated_manifest_is_ignored(directory, length):
    content = file_in(directory).read_bytes()
    file_in(directory).write_bytes(content[:length])
    assert read_manifest(directory, pointer()) is None


WRONG = st.none() | st.booleans() | st.floats(allow_nan=False) | st.just([]) | st.just({}) | st.just([None, None])
FIELDS = st.sampled_from([*FileRecord.__slots__])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(field=FIELDS, row=st.integers(0, 1), wrong=WRONG)
def test_record_of_a_wrong_type_invalidates_the_manifest(directory, field, row, wrong):
    write_manifest(directory, pointer(), MANIFEST)
    stored = json.loads(file_in(directory).read_bytes())
    stored["records"][field][row] = wrong
    file_in(directory).write_text(json.dumps(stored))
    assert read_manifest(directory, pointer()) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.sampled_from(["checked_ns", "records"]), wrong=st.text(max_size=3) | st.none() | st.just([1]))
def test_part_of_a_wrong_type_invalidates_the_manifest(directory, key, wrong):
    write_manifest(directory, pointer(), MANIFEST)
    stored = json.loads(file_in(directory).read_bytes())
    stored[key] = wrong
    file_in(directory).write_text(json.dumps(stored))
    assert read_manifest(directory, pointer()) is None
