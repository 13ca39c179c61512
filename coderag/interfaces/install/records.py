"""Records of changed files in the user's data folder, for exact restoration."""

import base64
import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coderag.config.user_folders import find_data_folder
from coderag.errors import ConfigurationError
from coderag.system.atomic_write import PRIVATE_MODE, atomic_write

_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class InstallRecord:
    """The state of a file before and after installation.

    Attributes:
        path: The file.
        original: Original content; None if the file did not exist.
        written_digest: SHA-256 of the content that we wrote.
        folders: Folders created for it, outermost first.
    """

    path: Path
    original: bytes | None
    written_digest: str
    folders: tuple[Path, ...] = ()

    def is_unchanged(self, content: bytes | None) -> bool:
        """Return whether the file is unchanged since we wrote it."""
        return content is not None and compute_digest(content) == self.written_digest


def compute_digest(content: bytes) -> str:
    """Return the SHA-256 of content in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def read_record(path: Path) -> InstallRecord | None:
    """Return the record of a file; None if there is no readable one."""
    try:
        values = json.loads(_find_record_file(path).read_bytes())
        if values["version"] != _VERSION:
            return None
        original = None if values["before"] is None else base64.b64decode(values["before"], validate=True)
        return InstallRecord(path, original, str(values["after"]), tuple(map(Path, values["folders"])))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_record(record: InstallRecord) -> None:
    """Store a record, readable by this user only: configurations hold keys.

    Raises:
        ConfigurationError: It cannot be written.
    """
    file = _find_record_file(record.path)
    original = None if record.original is None else base64.b64encode(record.original).decode()
    folders = [str(folder) for folder in record.folders]
    values = {
        "version": _VERSION,
        "path": str(record.path),
        "before": original,
        "after": record.written_digest,
        "folders": folders,
    }
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic_write(file, [json.dumps(values).encode()], permissions=PRIVATE_MODE)
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be written: {error.strerror or error}") from error


def drop_record(path: Path) -> None:
    """Delete the record of a file."""
    with suppress(OSError):
        _find_record_file(path).unlink(missing_ok=True)


def _find_record_file(path: Path) -> Path:
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:24]
    return find_data_folder() / "install" / f"{name}.json"
