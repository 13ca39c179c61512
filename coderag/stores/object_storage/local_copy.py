"""Local copy of a published generation: the index folder, with a record of what it was copied from."""

import hashlib
import json
import os
import shutil
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coderag.errors import StoreError
from coderag.stores.disk import map_storage_errors, replace_file
from coderag.stores.object_storage.blobs import hash_blob
from coderag.stores.object_storage.layout import Blob, PublishedGeneration
from coderag.stores.pointer import FORMAT_DIRECTORY, POINTER_FILE, REBUILD_HINT, Pointer
from coderag.stores.retention import RETENTION_PERIOD

_RECORD_FILE: Final = "PUBLISHED"
_BLOCK_BYTES: Final = 1 << 23
_STAGING_SUFFIX: Final = ".incoming.tmp"


@dataclass(frozen=True, slots=True)
class CopyRecord:
    """Generation that the local index was last equal to.

    Attributes:
        place: Address of the repository in object storage.
        manifest: Hash of the manifest.
        generation: The manifest.
    """

    place: str
    manifest: str
    generation: PublishedGeneration


class LocalCopy:
    """Local copy of a published generation.

    Args:
        directory: The index's directory.
        place: Address of the repository in object storage.
    """

    def __init__(self, directory: Path, place: str) -> None:
        self.directory = directory
        self.root = directory / FORMAT_DIRECTORY
        self._place = place
        self._path = self.root / _RECORD_FILE

    def read_record(self) -> CopyRecord | None:
        """Read the record; None if there is none, it is damaged, or it is of another place."""
        try:
            raw = json.loads(self._path.read_bytes())
            if raw["place"] != self._place:
                return None
            content = raw["generation"].encode()
            if hashlib.sha256(content).hexdigest() != raw["manifest"]:
                return None
            return CopyRecord(self._place, raw["manifest"], PublishedGeneration.from_json(content))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def write_record(self, manifest: str, generation: PublishedGeneration) -> None:
        """Replace the record. Raises `StoreError`."""
        raw = {"place": self._place, "manifest": manifest, "generation": generation.to_json().decode()}
        replace_file(self._path, json.dumps(raw).encode())

    def touch_record(self) -> None:
        """Note that the record was compared with object storage now."""
        with suppress(OSError):
            os.utime(self._path)

    def is_checked_since(self, age_s: float) -> bool:
        """Return whether the record was compared with object storage in the last seconds."""
        try:
            return abs(time.time() - self._path.stat().st_mtime) < age_s  # a clock may have been set back
        except OSError:
            return False

    def has_file(self, name: str, blobs: tuple[Blob, ...]) -> bool:
        """Return whether a file has the content of its blobs; all of it is hashed."""
        path = self.root / name
        try:
            if path.stat().st_size != sum(blob.size for blob in blobs):
                return False
            with path.open("rb") as file:
                return all(hash_blob(file.read(blob.size)) == blob.digest for blob in blobs)
        except OSError:
            return False

    def read_file(self, name: str, pointer: Pointer) -> Iterator[bytes]:
        """Yield the blocks of a file of a generation, and check it.

        Raises:
            StoreError: It is not as it was committed, or cannot be read.
        """
        path, checksum, size = self.root / name, 0, 0
        with map_storage_errors(f"read {path}", hint=REBUILD_HINT), path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                checksum, size = zlib.crc32(block, checksum), size + len(block)
                yield block
        expected_size, _, *content_checksum = pointer.contents[name]
        if size != expected_size or (content_checksum and content_checksum[0] != checksum):
            raise StoreError(f"The index is damaged: {path} is not as it was committed", hint=REBUILD_HINT)

    def make_staging_folder(self) -> Path:
        """Make an empty folder for files that are not complete; remove those of killed processes."""
        with map_storage_errors(f"write {self.root}"):
            for old in self.root.glob(f"*{_STAGING_SUFFIX}"):
                shutil.rmtree(old, ignore_errors=True)
            folder = self.root / f"{os.getpid()}{_STAGING_SUFFIX}"
            folder.mkdir(parents=True)
        return folder

    def remove_pointer(self) -> None:
        """Remove the pointer while files of its generation are replaced by those of another."""
        with map_storage_errors(f"write {self.root}"):
            (self.root / POINTER_FILE).unlink(missing_ok=True)

    def prune(self, kept_names: Mapping[str, object], max_bytes: int) -> int:
        """Delete the oldest files beyond a size; return the number of bytes deleted.

        Files of the current generation stay, and those that a reader may have open.

        Args:
            kept_names: Files of the current generation.
            max_bytes: Size of all files, in bytes.
        """
        files = []
        for folder in (*self.root.glob("lance/*/*"), *self.root.glob("lexical-*")):
            files += [(path.stat(), path) for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []
        total = sum(stat.st_size for stat, _ in files)
        newest = time.time() - RETENTION_PERIOD.total_seconds()
        deleted = 0
        for stat, path in sorted(files, key=lambda entry: entry[0].st_mtime):
            if total - deleted <= max_bytes:
                break
            name = path.relative_to(self.root).as_posix()
            if name in kept_names or stat.st_mtime > newest:
                continue
            with suppress(OSError):
                path.unlink()
                deleted += stat.st_size
        return deleted
