"""Manifest of a generation's file records, in one small file, to detect changes without opening a table.

It only saves time: if it is missing, damaged or of another generation, the table of files is read instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from coderag.schema.chunks import FileRecord
from coderag.stores.disk import replace_file
from coderag.stores.pointer import FORMAT_DIRECTORY, Pointer
from coderag.stores.snapshot import Snapshot

_FILE_NAME: Final = "manifest.json"
_COLUMN_TYPES = [type(getattr(FileRecord("", "indexed"), name)) for name in FileRecord.__slots__]


@dataclass(frozen=True, slots=True)
class Manifest:
    """File records of a generation.

    Attributes:
        records: Records of all candidate files.
        checked_ns: Time of the last check of the files, nanoseconds since the epoch.
    """

    records: Sequence[FileRecord]
    checked_ns: int


def read_manifest(directory: Path, pointer: Pointer) -> Manifest | None:
    """Read the manifest of a generation; None if it is missing or not its own."""
    try:
        stored = orjson.loads((directory / FORMAT_DIRECTORY / _FILE_NAME).read_bytes())
        if (stored["generation"], stored["created"]) != pointer.identity:
            return None
        columns = [stored["records"][name] for name in FileRecord.__slots__]
        if any(set(map(type, column)) - {kind} for column, kind in zip(columns, _COLUMN_TYPES, strict=True)):
            return None
        records = [FileRecord(*row) for row in zip(*columns, strict=True)]
        checked_ns = stored["checked_ns"]
        return Manifest(records, checked_ns) if type(checked_ns) is int else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def load_manifest(snapshot: Snapshot) -> Manifest:
    """Load the manifest of a generation; without one, its records with no time of a check."""
    return read_manifest(snapshot.directory, snapshot.pointer) or Manifest(snapshot.read_files(), 0)


def write_manifest(directory: Path, pointer: Pointer, manifest: Manifest) -> None:
    """Replace the manifest.

    Raises:
        StoreError: It cannot be written.
    """
    columns = {name: [getattr(record, name) for record in manifest.records] for name in FileRecord.__slots__}
    content = {
        "generation": pointer.generation,
        "created": pointer.created,
        "checked_ns": manifest.checked_ns,
        "records": columns,
    }
    replace_file(directory / FORMAT_DIRECTORY / _FILE_NAME, orjson.dumps(content))
