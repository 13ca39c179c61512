"""Registry of the repositories indexed or opened on this machine: a small file in the user's data folder.

Light to import, for the command line.
"""

import json
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, TypeVar

from coderag.config.repository_root import INDEX_FOLDER
from coderag.config.user_folders import find_data_folder
from coderag.errors import CodeRAGError, StoreError
from coderag.stores.disk import map_storage_errors
from coderag.stores.pointer import read_pointer
from coderag.system.atomic_write import atomic_write
from coderag.system.file_checks import is_existing_folder

MAX_ENTRIES: Final = 500
"""Maximum number of entries: missing folders are dropped first, then the least recently used."""

_FILE_NAME: Final = "repositories.json"
_VERSION: Final = 1
_MIN_NOTE_INTERVAL: Final = timedelta(minutes=5)  # a younger entry is not rewritten
_LOCK_S: Final = 2.0  # it is held for a millisecond; after a timeout the entry is not written

_logger = logging.getLogger(__name__)

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """An entry of the registry.

    Attributes:
        name: Unique name.
        root: Its folder.
        index: Folder of its index.
        used: Time of last use, ISO 8601 in UTC.
    """

    name: str
    root: str
    index: str
    used: str

    @property
    def is_there(self) -> bool:
        """Return whether its folder still exists."""
        return is_existing_folder(Path(self.root))

    @property
    def is_indexed(self) -> bool:
        """Return whether it has an index that this version reads."""
        try:
            return read_pointer(Path(self.index)) is not None
        except StoreError:
            return False


def get_registry_file() -> Path:
    """Return the registry file of this user; it may not exist yet."""
    return find_data_folder() / _FILE_NAME


def note_repository(root: Path, index: Path | None = None) -> None:
    """Record the use of a repository, within milliseconds; errors are only logged.

    Args:
        root: Its folder as returned by `check_root`.
        index: Folder of its index; by default its ``.coderag``.
    """
    try:
        Registry().note(root, index)
    except CodeRAGError as error:
        _logger.info("%s is not recorded in the registry: %s", root, error)


class Registry:
    """Registry of known repositories. Safe for threads and processes.

    Args:
        path: The file; by default that of this user.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or get_registry_file()

    def read_entries(self) -> list[RegistryEntry]:
        """Read all entries, last used first; none if the file cannot be read.

        A damaged file is moved aside with a warning.
        """
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            _logger.warning("The registry cannot be read: %s", error)
            return []
        try:
            entries = _parse(content)
        except (ValueError, KeyError, TypeError) as error:
            self._move_aside(error)
            return []
        return sorted(entries, key=lambda entry: entry.used, reverse=True)

    def note(self, root: Path, index: Path | None = None) -> RegistryEntry:
        """Record the use of a repository and return its entry.

        Args:
            root: Its folder as returned by `check_root`.
            index: Folder of its index; by default its ``.coderag``.

        Raises:
            StoreError: The file cannot be written.
        """
        index = index or root / INDEX_FOLDER
        existing = next((entry for entry in self.read_entries() if entry.root == os.fspath(root)), None)
        if existing and existing.index == os.fspath(index) and _is_recent(existing.used):
            return existing
        return self._change(lambda entries: _note_use(entries, root, index))

    def find(self, name: str) -> RegistryEntry | None:
        """Find the entry with a name: an exact match, or else the only case-insensitive match."""
        entries = self.read_entries()
        exact = next((entry for entry in entries if entry.name == name), None)
        similar = [entry for entry in entries if entry.name.casefold() == name.casefold()]
        return exact or (similar[0] if len(similar) == 1 else None)

    def forget(self, root: str) -> bool:
        """Remove a repository by its folder; return whether it was known.

        Raises:
            StoreError: The file cannot be written.
        """

        def drop_root(entries: list[RegistryEntry]) -> tuple[bool, list[RegistryEntry]]:
            remaining = [entry for entry in entries if entry.root != root]
            return len(remaining) < len(entries), remaining

        return self._change(drop_root)

    def _change(self, change: Callable[[list[RegistryEntry]], tuple[Result, list[RegistryEntry]]]) -> Result:
        """Replace the entries by the result of a function, under the file lock."""
        import filelock  # noqa: PLC0415  # 0.07 s

        with map_storage_errors(f"write {self._path}"):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(
                self._path.with_suffix(".lock"), timeout=_LOCK_S, thread_local=False, is_singleton=False
            )
            with lock:
                result, entries = change(self.read_entries())
                self._write(entries)
        return result

    def _write(self, entries: Sequence[RegistryEntry]) -> None:
        """Replace the file atomically, without fsync, which would take longer than the rest."""
        record = {"version": _VERSION, "repositories": [asdict(entry) for entry in entries]}
        atomic_write(self._path, [json.dumps(record, indent=1).encode()], is_durable=False)

    def _move_aside(self, reason: Exception) -> None:
        aside = self._path.with_name(f"{self._path.name}.damaged")
        with suppress(OSError):
            self._path.replace(aside)
            _logger.warning("%s is damaged (%s) and was moved to %s", self._path, reason, aside)


def choose_unique_name(root: Path, taken_names: Sequence[str]) -> str:
    """Choose a unique name: the folder's name, with its parent's if taken, or with a number."""
    used_names = {name.casefold() for name in taken_names}
    candidates = [root.name, f"{root.parent.name}/{root.name}"]
    numbered = (f"{root.name}-{number}" for number in range(2, len(taken_names) + 3))
    return next(name for name in (*candidates, *numbered) if name.casefold() not in used_names)


def _parse(content: bytes) -> list[RegistryEntry]:
    entries = [
        RegistryEntry(str(raw["name"]), str(raw["root"]), str(raw["index"]), str(raw["used"]))
        for raw in json.loads(content)["repositories"]
    ]
    roots = {entry.root: entry for entry in entries}
    return list(roots.values())


def _is_recent(used: str) -> bool:
    try:
        return abs(datetime.now(UTC) - datetime.fromisoformat(used)) < _MIN_NOTE_INTERVAL
    except (TypeError, ValueError):  # written by another program
        return False


def _note_use(entries: list[RegistryEntry], root: Path, index: Path) -> tuple[RegistryEntry, list[RegistryEntry]]:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    other_entries = [entry for entry in entries if entry.root != os.fspath(root)]
    existing = next((entry for entry in entries if entry.root == os.fspath(root)), None)
    name = existing.name if existing else choose_unique_name(root, [entry.name for entry in other_entries])
    entry = RegistryEntry(name, os.fspath(root), os.fspath(index), now)
    if len(other_entries) >= MAX_ENTRIES:
        other_entries = [other for other in other_entries if other.is_there][: MAX_ENTRIES - 1]
    return entry, [entry, *other_entries]
