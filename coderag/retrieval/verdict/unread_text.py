"""Text that the index lacks, searched on disk: files over the size limit, minified files, data of long lines."""

import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from coderag.ingestion.files.regular_files import read_regular_file
from coderag.schema.chunks import LINE_DATA_NOTE, FileRecord

MAX_READ_BYTES: Final = 64_000_000
MAX_READ_SECONDS: Final = 0.15

_TEXT_REASONS = re.compile(r"minified file|generated file|larger than ")
"""Reasons of skipped files that are text."""


def find_files_with_names(root: Path, records: Iterable[FileRecord], names: Sequence[str]) -> list[FileRecord]:
    """Find the files with one of some names, as a whole word, in text that is not in the index.

    Args:
        root: Folder of the repository.
        records: Records of its files.
        names: Names as written; without any, no file is read.

    Returns:
        The records, in order. Files beyond `MAX_READ_BYTES` or `MAX_READ_SECONDS` are not searched.
    """
    words = [rb"(?<![\w-])%b(?![\w-])" % re.escape(name.encode()) for name in names]
    if not words:
        return []
    pattern, deadline, budget = re.compile(b"|".join(words)), time.monotonic() + MAX_READ_SECONDS, MAX_READ_BYTES
    matching = []
    for record in records:
        if not _has_unindexed_text(record) or record.size > budget or time.monotonic() > deadline:
            continue
        budget -= record.size
        try:
            data, _ = read_regular_file(root / record.path, record.size)
        except OSError:
            continue
        if pattern.search(data):
            matching.append(record)
    return matching


def _has_unindexed_text(record: FileRecord) -> bool:
    """Return whether text of a file is not in the index."""
    if record.outcome == "indexed":
        return LINE_DATA_NOTE in record.note
    return _TEXT_REASONS.match(record.reason) is not None
