"""Markdown files of a mirror. Nothing outside their folder is written, and no link is followed."""

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from coderag.errors import ConfigurationError
from coderag.schema.items import ItemKind
from coderag.sources.item_database import decompress_text
from coderag.sources.item_paths import check_source_name
from coderag.stores.disk import map_storage_errors
from coderag.system.atomic_write import atomic_write


@dataclass(frozen=True, slots=True)
class SweepReport:
    """Result of a sweep.

    Attributes:
        removed: Number of removed files that belonged to no item.
        restored_signatures: Size and time of modification of each file that was written again or only touched, by path.
    """

    removed: int = 0
    restored_signatures: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class MirrorFiles:
    """Files below one folder, by their path relative to it.

    Args:
        folder: The folder; created by the first write.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, path: str, text: str) -> tuple[int, int]:
        """Write a file atomically; return its size in bytes and its time of modification in nanoseconds.

        It need not survive a power failure: the database holds its text, too.

        Raises:
            OSError: It cannot be written.
        """
        place = self._folder / path
        for folder in (place.parent.parent, place.parent):
            if folder.is_symlink():
                folder.unlink()
        place.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(place, [text.encode()], is_durable=False)
        status = place.stat()
        return status.st_size, status.st_mtime_ns

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files. One that is in use stays until the next sweep."""
        for path in paths:
            with suppress(OSError):
                (self._folder / path).unlink(missing_ok=True)

    def remove_source(self, source: str) -> None:
        """Remove the folder of a source."""
        shutil.rmtree(self._folder / source, ignore_errors=True)

    @staticmethod
    def read_text(connection: sqlite3.Connection, path: str) -> str:
        """Read the text of a file from the database; empty if it has none."""
        row = connection.execute("SELECT text FROM texts WHERE path = ?", (path,)).fetchone()
        return decompress_text(row[0]) if row else ""

    def sweep(self, connection: sqlite3.Connection | None) -> SweepReport:
        """Remove files of no item, and write missing and altered ones again.

        Only folders named like a source and a kind of items are looked into.

        Raises:
            StoreError: The folder cannot be read or written.
        """
        with self.map_errors():
            query = "SELECT path, size, mtime_ns FROM texts"
            expected = {row[0]: (row[1], row[2]) for row in connection.execute(query)} if connection else {}
            present = dict(self._iterate_files())
            removed = self._remove_entries(present.keys() - expected.keys())
            restored = {}
            for path, signature in expected.items():
                if present.get(path) != signature and connection is not None:
                    restored[path] = self._restore(path, self.read_text(connection, path), is_present=path in present)
        return SweepReport(removed, restored)

    @contextmanager
    def map_errors(self) -> Iterator[None]:
        """Map errors of the file system to those of stores."""
        with map_storage_errors(f"write {self._folder}"):
            yield

    def _restore(self, path: str, text: str, *, is_present: bool) -> tuple[int, int]:
        place = self._folder / path
        if is_present and not place.is_symlink():
            status = place.stat()
            if hashlib.sha256(place.read_bytes()).digest() == hashlib.sha256(text.encode()).digest():
                return status.st_size, status.st_mtime_ns
        return self.write(path, text)

    def _remove_entries(self, paths: Iterable[str]) -> int:
        number = 0
        for path in paths:
            place = self._folder / path
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)
            number += 1
        return number

    def _iterate_files(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield everything in the folders of sources and kinds, links included, with size and time."""
        for source in _scan(self._folder):
            if not _is_source_folder(source.name):
                continue
            if not source.is_dir(follow_symlinks=False):
                yield source.name, (-1, -1)
                continue
            for kind in _scan(Path(source.path)):
                name = f"{source.name}/{kind.name}"
                if kind.name not in get_args(ItemKind) or not kind.is_dir(follow_symlinks=False):
                    yield name, (-1, -1)
                    continue
                for entry in _scan(Path(kind.path)):
                    status = entry.stat(follow_symlinks=False)
                    is_file = entry.is_file(follow_symlinks=False)
                    yield f"{name}/{entry.name}", (status.st_size, status.st_mtime_ns) if is_file else (-1, -1)


def _is_source_folder(name: str) -> bool:
    try:
        return bool(check_source_name(name))
    except ConfigurationError:
        return False


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []
