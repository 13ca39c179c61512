"""Whether two indexes say the same."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from coderag.schema.chunks import FileRecord
from coderag.stores.arrow import METADATA_COLUMNS
from coderag.stores.field_counts import FIELDS
from coderag.stores.snapshot import Snapshot


def contents(snapshot: Snapshot) -> dict[str, tuple[dict[str, Any], str, dict[str, Counter[str]]]]:
    """Return everything that is stored of each chunk, by id: metadata, text and the term counts as words."""
    terms, counts = snapshot.read_terms(), snapshot.read_counts()
    rows = snapshot.read_chunks(["id", *METADATA_COLUMNS]).to_pylist()
    texts = snapshot.read_texts(range(len(rows)))
    fields = {field: getattr(counts, field).tocsr() for field in FIELDS}
    chunks = {}
    for place, row in enumerate(rows):
        words = {
            field: Counter({terms[j]: int(n) for j, n in zip(matrix[place].indices, matrix[place].data, strict=True)})
            for field, matrix in fields.items()
        }
        chunks[row["id"]] = (row, texts[place], words)
    assert len(chunks) == len(rows), "two chunks have one id"
    return chunks


def records(snapshot: Snapshot) -> list[FileRecord]:
    """Return the files without their status on disk."""
    return [replace(record, mtime_ns=0, ctime_ns=0, inode=0) for record in snapshot.read_files()]


def _vectors(snapshot: Snapshot) -> list[dict[str, Any]]:
    chunk_ids = snapshot.read_chunks(["id"])["id"].to_pylist()
    by_chunk = dict(zip(chunk_ids, snapshot.read_vectors(), strict=True))
    files = [record.path for record in snapshot.read_files()]
    return [by_chunk, *(dict(zip(files, matrix, strict=True)) for matrix in snapshot.read_file_vectors())]


def assert_same_index(snapshot: Snapshot, clean: Snapshot) -> None:
    """Fail if two indexes differ in anything but the order of chunks, the numbers of terms and the files' status."""
    assert records(snapshot) == records(clean)
    assert contents(snapshot) == contents(clean)
    for mine, others in zip(_vectors(snapshot), _vectors(clean), strict=True):
        assert mine.keys() == others.keys()
        for key, vector in mine.items():
            np.testing.assert_allclose(vector, others[key], atol=1e-6)
    for mine, other in zip(snapshot.read_graph(), clean.read_graph(), strict=True):
        assert mine.to_pylist() == other.to_pylist()
