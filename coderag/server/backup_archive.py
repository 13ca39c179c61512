"""The file of a backup: a compressed tar archive whose manifest has a checksum of every other member."""

import gzip
import hashlib
import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import IO, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coderag.errors import ServerError

FORMAT: Final = 1
"""Version of the format, raised when an older CodeRAG could no longer read it."""

DATABASE_NAMES: Final = {"sqlite": "database.sqlite", "postgresql": "database.pgdump"}
KEY_NAME: Final = "master.key.sealed"
COUNTER_NAME: Final = "audit.counter"
REPOSITORIES_NAME: Final = "repositories.json"

_MANIFEST_NAME: Final = "manifest.json"
_NAMES: Final = frozenset({*DATABASE_NAMES.values(), KEY_NAME, COUNTER_NAME, REPOSITORIES_NAME})
_MAX_MANIFEST_BYTES: Final = 1_000_000
_PART_BYTES: Final = 1 << 20
_PRIVATE_MODE: Final = 0o600
_MODEL: Final = ConfigDict(frozen=True, extra="forbid")


class BackupMember(BaseModel):
    """A file of a backup."""

    model_config = _MODEL

    name: str
    size: int = Field(ge=0)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class BackupManifest(BaseModel):
    """Contents of a backup.

    Attributes:
        key_fingerprint: Fingerprint of the master key that the database needs.
        has_key: Whether the backup holds that key, encrypted by a passphrase.
        repositories: Number of repositories; their mirrors and indexes are no part of a backup.
    """

    model_config = _MODEL

    format: int
    version: str
    created_at: datetime
    database: Literal["sqlite", "postgresql"]
    revision: str
    key_fingerprint: str
    has_key: bool
    repositories: int
    members: tuple[BackupMember, ...]


def describe_file(path: Path) -> BackupMember:
    """Describe a file for the manifest."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return BackupMember(name=path.name, size=file.tell(), sha256=digest)


def write_archive(path: Path, manifest: BackupManifest, folder: Path) -> None:
    """Write an archive of the members in a folder. Its file is on the disk when this returns.

    Raises:
        OSError: It cannot be written.
    """
    (folder / _MANIFEST_NAME).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
    with path.open("xb") as file:
        path.chmod(_PRIVATE_MODE)
        with gzip.GzipFile("", "wb", 6, file) as stream, tarfile.open(fileobj=stream, mode="w|") as archive:
            for name in (_MANIFEST_NAME, *(member.name for member in manifest.members)):
                archive.add(folder / name, name, recursive=False, filter=_clear_owner)
        sync_to_disk(file)


def sync_to_disk(file: IO[bytes]) -> None:
    """Write what is buffered of a file, and wait until it is on the disk."""
    file.flush()
    os.fsync(file.fileno())


def read_manifest(path: Path) -> BackupManifest:
    """Read the manifest alone, without checking the rest.

    Raises:
        ServerError: The file is no backup, is damaged, or was made by a newer version.
    """
    with _open_archive(path) as archive:
        return _read_manifest(path, archive)


def extract_archive(path: Path, folder: Path | None) -> BackupManifest:
    """Check every byte of an archive against its manifest, and write the members to a folder if one is given.

    Raises:
        ServerError: The file is no backup, is damaged, or was made by a newer version.
        OSError: The members cannot be written.
    """
    with _open_archive(path) as archive:
        manifest = _read_manifest(path, archive)
        missing = {member.name: member for member in manifest.members}
        while (info := archive.next()) is not None:
            member = missing.pop(info.name, None)
            if member is None or not info.isreg():
                raise _create_damage_error(path, f"{info.name} is not in its manifest")
            source = archive.extractfile(info)
            if source is None or not _copy_member(source, member, folder):
                raise _create_damage_error(path, f"{info.name} differs from its checksum")
        if missing:
            raise _create_damage_error(path, f"{', '.join(sorted(missing))} is missing")
    return manifest


def _copy_member(source: IO[bytes], member: BackupMember, folder: Path | None) -> bool:
    """Copy a member, or only read it; return whether it is what the manifest says."""
    digest, size = hashlib.sha256(), 0
    if folder is not None:
        (folder / member.name).touch(_PRIVATE_MODE, exist_ok=False)
    with nullcontext() if folder is None else (folder / member.name).open("wb") as target:
        while part := source.read(_PART_BYTES):
            digest.update(part)
            size += len(part)
            if target is not None:
                target.write(part)
        if target is not None:
            sync_to_disk(target)
    return (size, digest.hexdigest()) == (member.size, member.sha256)


def _read_manifest(path: Path, archive: tarfile.TarFile) -> BackupManifest:
    info = archive.next()
    if info is None or info.name != _MANIFEST_NAME or not info.isreg() or info.size > _MAX_MANIFEST_BYTES:
        raise ServerError(f"{path}: is no backup of CodeRAG", hint="Give a file that `coderag server backup` wrote.")
    source = archive.extractfile(info)
    try:
        manifest = BackupManifest.model_validate_json(source.read() if source else b"")
    except ValidationError as error:
        raise _create_damage_error(path, "its manifest cannot be read") from error
    if manifest.format > FORMAT:
        message = f"{path}: was made by CodeRAG {manifest.version}, whose format this version does not know"
        raise ServerError(message, hint=f"Install CodeRAG {manifest.version}.")
    names = [member.name for member in manifest.members]
    if len(set(names)) < len(names) or not _NAMES.issuperset(names) or DATABASE_NAMES[manifest.database] not in names:
        raise _create_damage_error(path, "its manifest names other files than a backup has")
    return manifest


@contextmanager
def _open_archive(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        with path.open("rb") as file, gzip.GzipFile(fileobj=file) as stream:
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                yield archive
            while stream.read(_PART_BYTES):  # to the end, where gzip's own checksum is
                pass
    except FileNotFoundError as error:
        if error.filename != str(path):
            raise
        raise ServerError(f"{path}: no such file", hint="Check the path.") from error
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise _create_damage_error(path, str(error)) from error


def _create_damage_error(path: Path, reason: str) -> ServerError:
    return ServerError(f"{path}: is damaged, or no backup: {reason}", hint="Take another copy of the backup.")


def _clear_owner(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out the account of this machine."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mode = _PRIVATE_MODE
    return info
