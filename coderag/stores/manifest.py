"""What a generation knows of each file, in one small file: whether anything changed is told without opening a table.

It only saves time. When it is missing, damaged or of another generation, the table of files says the same.
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
    """The files of a generation.

    Attributes:
        records: Of every candidate file.
        checked_ns: When the files were last looked at, nanoseconds of the epoch.
    """

    records: Sequence[FileRecord]
    checked_ns: int


def read_manifest(directory: Path, pointer: Pointer) -> Manifest | None:
    """Return the manifest of a generation; None if there is none that is its own."""
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
    """Return the manifest of a generation; where there is none, its records as ones that prove nothing."""
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
