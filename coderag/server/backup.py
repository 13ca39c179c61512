"""Backups of the team server: its database, the audit counter and, encrypted by a passphrase, the master key.

Mirrors and indexes are no part of it: a restored server fetches and indexes all repositories again.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from coderag import __version__
from coderag.errors import ConfigurationError, ServerError
from coderag.server.backup_archive import (
    COUNTER_NAME,
    DATABASE_NAMES,
    FORMAT,
    KEY_NAME,
    REPOSITORIES_NAME,
    BackupManifest,
    describe_file,
    extract_archive,
    write_archive,
)
from coderag.server.key_backup import seal_key
from coderag.server.sealing import KEY_FILE_NAME, MasterKey, read_master_key
from coderag.server.settings import ServerSettings
from coderag.server.storage.copies import copy_database
from coderag.server.storage.database import Database

SUFFIX: Final = ".tar.gz"
_STAGING_PREFIX: Final = ".coderag-backup-"
_LOCK_NAME: Final = ".coderag-backup.lock"
_COUNTER_FILE_NAME: Final = "audit.counter"


def create_backup(settings: ServerSettings, target: Path, *, passphrase: str | None = None) -> BackupManifest:
    """Write a backup while the server runs, and check it. The file appears when it is complete, or not at all.

    Args:
        settings: Settings of the server.
        target: File to create, ``*.tar.gz``.
        passphrase: Passphrase that encrypts the master key; None leaves the key out, and you keep it elsewhere.

    Raises:
        ConfigurationError: The target exists, the key cannot be read, or a program is missing.
        DatabaseUnavailableError: The database does not answer.
        ServerError: The database is damaged, or the backup cannot be written.
    """
    _check_target(target)
    key_path = get_key_path(settings)
    key = read_master_key(key_path)
    sealed_key = None if passphrase is None else seal_key(key_path.read_bytes(), passphrase)
    try:
        with lock_folder(target.parent, _LOCK_NAME), create_staging(target.parent, _STAGING_PREFIX) as staging:
            members = staging / "members"
            members.mkdir()
            manifest = _collect(settings, members, key, sealed_key)
            archive = staging / target.name
            write_archive(archive, manifest, members)
            extract_archive(archive, None)
            publish(archive, target)
    except OSError as error:
        raise ServerError(
            f"{target}: cannot be written: {error.strerror or error}", hint="Check the folder."
        ) from error
    return manifest


def verify_backup(path: Path) -> BackupManifest:
    """Check every byte of a backup against its manifest.

    Raises:
        ServerError: It is damaged, is no backup, or was made by a newer version.
    """
    try:
        return extract_archive(path, None)
    except OSError as error:
        raise ServerError(f"{path}: cannot be read: {error.strerror or error}", hint="Check the file.") from error


def get_key_path(settings: ServerSettings) -> Path:
    """Return the file of the master key."""
    return (settings.key_file or settings.data / KEY_FILE_NAME).absolute()


def get_counter_path(settings: ServerSettings) -> Path:
    """Return the file that counts the entries of the audit record."""
    return (settings.audit.counter_file or settings.data / _COUNTER_FILE_NAME).absolute()


def compute_fingerprint(key: MasterKey) -> str:
    """Compute the fingerprint of a master key, which reveals nothing of it."""
    return key.derive("fingerprint").hex()[:32]


@contextmanager
def lock_folder(folder: Path, name: str) -> Iterator[None]:
    """Hold a lock in a folder.

    Raises:
        ServerError: Another process holds it.
    """
    import filelock  # noqa: PLC0415  # 0.07 s

    try:
        with filelock.FileLock(folder / name, timeout=0):
            yield
    except filelock.Timeout as error:
        raise ServerError(f"{folder}: another process is at work here", hint="Wait until it has finished.") from error


@contextmanager
def create_staging(folder: Path, prefix: str) -> Iterator[Path]:
    """Create a private folder beside the target, and remove it at the end, with those that killed processes left."""
    for stale in folder.glob(f"{prefix}*/"):
        shutil.rmtree(stale, ignore_errors=True)
    staging = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def publish(staged: Path, target: Path) -> None:
    """Give a complete file its name, replacing none.

    Raises:
        FileExistsError: There is one of that name.
    """
    try:
        os.link(staged, target)  # unlike a rename, a link never replaces a file
    except FileExistsError:
        raise
    except OSError as error:  # a file system without hard links
        if target.exists():
            raise FileExistsError(f"{target} exists") from error
        staged.rename(target)
    with suppress(OSError):  # Windows opens no folders
        descriptor = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _check_target(target: Path) -> None:
    if not target.name.endswith(SUFFIX):
        raise ConfigurationError(f"{target}: does not end in {SUFFIX}", hint=f"Name it {target.name}{SUFFIX}.")
    if target.exists() or target.is_symlink():
        raise ConfigurationError(f"{target}: exists already", hint="Give a new name; no backup is overwritten.")
    if not target.parent.is_dir():
        raise ConfigurationError(f"{target.parent}: no such folder", hint="Create it first.")


def _collect(settings: ServerSettings, folder: Path, key: MasterKey, sealed_key: bytes | None) -> BackupManifest:
    """Put the members of a backup into a folder and describe them."""
    # The counter first: one that is behind the database is no loss of entries, one that is ahead of it looks like it.
    with suppress(FileNotFoundError):
        (folder / COUNTER_NAME).write_bytes(get_counter_path(settings).read_bytes())
    database = Database(settings.url)
    try:
        name = DATABASE_NAMES["sqlite" if database.is_sqlite else "postgresql"]
        copy = copy_database(database, folder / name)
    finally:
        database.close()
    if copy.revision is None:
        raise ConfigurationError("the database has no tables yet", hint="Run `coderag server init`.")
    lines = json.dumps(copy.repositories, ensure_ascii=False, indent=2) + "\n"
    (folder / REPOSITORIES_NAME).write_text(lines, encoding="utf-8")
    if sealed_key is not None:
        (folder / KEY_NAME).write_bytes(sealed_key)
    return BackupManifest(
        format=FORMAT,
        version=__version__,
        created_at=datetime.now(UTC),
        database="sqlite" if database.is_sqlite else "postgresql",
        revision=copy.revision,
        key_fingerprint=compute_fingerprint(key),
        has_key=sealed_key is not None,
        repositories=len(copy.repositories),
        members=tuple(describe_file(path) for path in sorted(folder.iterdir())),
    )
