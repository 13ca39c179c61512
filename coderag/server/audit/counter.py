"""The counter of the audit record: a sealed file beside the database that shows whether its end was deleted.

It holds number and MAC of the last entry, twice: a write replaces the older copy in place, so that one is intact whenever
the machine stops. It is written after the entry is committed, and so may lag behind the record, but never leads it.
"""

import hashlib
import hmac
import json
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from coderag.errors import DatabaseUnavailableError, ServerError
from coderag.server.audit.entries import EMPTY_CHAIN, ChainEnd
from coderag.system.atomic_write import PRIVATE_MODE, atomic_write

_SLOT_BYTES: Final = 4_096  # no sector holds both copies
_SLOTS: Final = 2
_LOCK_TIMEOUT_S: Final = 10.0


class DamagedCounterError(ServerError):
    """The counter of the audit record is no counter, or was sealed with another key."""


class AuditCounter:
    """Counter in a file. Shared by threads and processes.

    Args:
        path: The file.
        key: Key that seals it.
    """

    def __init__(self, path: Path, key: bytes) -> None:
        import filelock  # noqa: PLC0415  # 0.07 s

        self.path = path
        self._key = key
        self._thread_lock = threading.Lock()
        self._file_lock = filelock.FileLock(path.with_name(f"{path.name}.lock"), timeout=_LOCK_TIMEOUT_S)
        self._timeout_error = filelock.Timeout

    def read(self) -> ChainEnd | None:
        """Return the last entry that was counted; None without a file.

        Raises:
            DamagedCounterError: It was changed, or sealed with another key.
            DatabaseUnavailableError: It cannot be read.
        """
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._explain(error) from error
        slots = [self._parse(content[start : start + _SLOT_BYTES]) for start in _list_offsets()]
        ends = [end for end in slots if end is not None]
        if not ends:
            hint = "Restore it, or accept the loss of evidence with `coderag server audit reset-counter`."
            raise DamagedCounterError(f"{self.path}: is damaged, or was sealed with another key", hint=hint)
        return max(ends)

    def create(self) -> None:
        """Create it for an empty record, unless it exists.

        Raises:
            DatabaseUnavailableError: It cannot be written.
        """
        self._write(EMPTY_CHAIN, is_forced=False)

    def advance(self, end: ChainEnd) -> None:
        """Count entries up to a committed one; a counter that is ahead already stays.

        Raises:
            DatabaseUnavailableError: It cannot be written.
        """
        self._write(end, is_forced=False)

    def reset(self, end: ChainEnd) -> None:
        """Replace the counter, whatever it holds.

        Raises:
            DatabaseUnavailableError: It cannot be written.
        """
        self._write(end, is_forced=True)

    def _write(self, end: ChainEnd, *, is_forced: bool) -> None:
        try:
            with self._thread_lock, self._file_lock:
                self._replace_older_slot(end, is_forced=is_forced)
        except (OSError, self._timeout_error) as error:
            raise self._explain(error) from error

    def _replace_older_slot(self, end: ChainEnd, *, is_forced: bool) -> None:
        if is_forced or not self.path.exists():
            # A new file appears whole, as an empty one that a crash left would look damaged.
            atomic_write(self.path, [self._format(end)] * _SLOTS, permissions=PRIVATE_MODE, is_durable=True)
            _sync_folder(self.path.parent)
            return
        with self.path.open("r+b", buffering=0) as file:
            content = file.read(_SLOT_BYTES * _SLOTS)
            slots = [self._parse(content[start : start + _SLOT_BYTES]) for start in _list_offsets()]
            if not any(slots):
                return  # evidence of damage stays
            if any(slot is not None and slot.sequence >= end.sequence for slot in slots):
                return
            file.seek(_find_older(slots) * _SLOT_BYTES)
            file.write(self._format(end))
            os.fsync(file.fileno())

    def _parse(self, slot: bytes) -> ChainEnd | None:
        try:
            values = json.loads(slot.rstrip(b"\0 \n"))
            end = ChainEnd(int(values["sequence"]), str(values["mac"]))
            return end if hmac.compare_digest(str(values["seal"]), self._seal(end)) else None
        except (ValueError, TypeError, KeyError, RecursionError):
            return None

    def _format(self, end: ChainEnd) -> bytes:
        values = {"sequence": end.sequence, "mac": end.mac, "seal": self._seal(end)}
        return json.dumps(values).encode().ljust(_SLOT_BYTES - 1) + b"\n"

    def _seal(self, end: ChainEnd) -> str:
        return hmac.digest(self._key, json.dumps(end).encode(), hashlib.sha256).hex()

    def _explain(self, error: Exception) -> DatabaseUnavailableError:
        reason = getattr(error, "strerror", None) or "another process holds it"
        message = f"the counter of the audit record cannot be used: {reason}"
        return DatabaseUnavailableError(message, hint="The operator finds the reason in the log.")


def _list_offsets() -> range:
    return range(0, _SLOT_BYTES * _SLOTS, _SLOT_BYTES)


def _find_older(slots: list[ChainEnd | None]) -> int:
    return min(range(_SLOTS), key=lambda index: slots[index] or ChainEnd(-1, ""))


def _sync_folder(folder: Path) -> None:
    """Make a new name in a folder survive a power failure, where the system can."""
    with suppress(OSError, AttributeError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
