"""Restoring a backup into an empty data folder and, on PostgreSQL, an empty database."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from coderag.errors import ConfigurationError, ServerError
from coderag.server.backup import (
    compute_fingerprint,
    create_staging,
    get_counter_path,
    get_key_path,
    lock_folder,
    publish,
    verify_backup,
)
from coderag.server.backup_archive import COUNTER_NAME, DATABASE_NAMES, KEY_NAME, BackupManifest, extract_archive
from coderag.server.key_backup import open_key
from coderag.server.sealing import read_master_key
from coderag.server.settings import FILE_NAME, ServerSettings
from coderag.server.storage.copies import load_database, require_empty
from coderag.server.storage.database import Database
from coderag.server.storage.models import ApiKey, BrowserSession, HostedRepository, Job, SignInAttempt
from coderag.server.storage.upgrade import complete_copy, require_known_revision
from coderag.system.atomic_write import create_private

_STAGING_PREFIX: Final = ".coderag-restore-"
_LOCK_NAME: Final = ".coderag-restore.lock"
_OPEN_STATES: Final = ("queued", "running")
_FOLDERS_OF_SYSTEM: Final = ("lost+found",)


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """Outcome of a restore.

    Attributes:
        manifest: Contents of the backup; all its repositories are queued to be fetched and indexed again.
        has_key: Whether the master key is in place.
    """

    manifest: BackupManifest
    has_key: bool


def restore_backup(
    archive: Path, settings: ServerSettings, *, passphrase: str | None = None, allow_missing_key: bool = False
) -> RestoreReport:
    """Restore a backup; nothing that is there is overwritten. The database appears last, complete or not at all.

    Sessions of browsers and tokens of agents are ended. All repositories are queued to be fetched and indexed.

    Args:
        archive: The backup.
        settings: Settings of the server, whose data folder is empty but for the master key and the settings file.
        passphrase: Passphrase of the master key in the backup.
        allow_missing_key: Whether to go on without the key: stored secrets and the audit record cannot be read then.

    Raises:
        ConfigurationError: The folder or the database is not empty, or the key is missing or another one.
        DatabaseUnavailableError: The database does not answer.
        ServerError: The backup is damaged, or was made by a newer version.
    """
    manifest = verify_backup(archive)
    database = Database(settings.url)
    try:
        _check_target(settings, database, manifest)
        settings.data.mkdir(parents=True, exist_ok=True)
        # Beside the database, as a file can be given its name on its own file system only.
        folder = settings.data.absolute() if database.path is None else database.path.absolute().parent
        folder.mkdir(parents=True, exist_ok=True)
        with lock_folder(folder, _LOCK_NAME), create_staging(folder, _STAGING_PREFIX) as staging:
            extract_archive(archive, staging)
            key = _open_key(settings, manifest, staging, passphrase)
            if key is None and not allow_missing_key and not get_key_path(settings).exists():
                raise _explain_missing_key(get_key_path(settings), manifest)
            _place_counter(settings, staging)
            if key is not None:
                _create_file(get_key_path(settings), key)
            _place_database(database, staging / DATABASE_NAMES[manifest.database], manifest.revision)
    except OSError as error:
        raise ServerError(f"{settings.data}: cannot be written: {error.strerror or error}") from error
    finally:
        database.close()
    return RestoreReport(manifest, get_key_path(settings).exists())


def _check_target(settings: ServerSettings, database: Database, manifest: BackupManifest) -> None:
    kind = "sqlite" if database.is_sqlite else "postgresql"
    if kind != manifest.database:
        message = f"the backup is of {manifest.database}, and the settings name {kind}"
        raise ConfigurationError(message, hint="Set `database_url` to a database of the same kind.")
    require_known_revision(manifest.revision)
    folder, key_path = settings.data.absolute(), get_key_path(settings)
    # Killed half-way, an earlier restore may have left the key and the counter.
    allowed = {key_path.name, get_counter_path(settings).name, FILE_NAME, _LOCK_NAME, *_FOLDERS_OF_SYSTEM}
    if folder.exists():
        names = sorted(path.name for path in folder.iterdir() if not path.name.startswith(_STAGING_PREFIX))
        surplus = [name for name in names if name not in allowed]
        if surplus:
            message = f"{folder}: is not empty: it has {', '.join(surplus[:5])}"
            raise ConfigurationError(message, hint="Restore into a new folder; nothing is overwritten.")
    if database.path is None:
        require_empty(database)
    elif database.path.exists():
        raise ConfigurationError(f"{database.path}: exists already", hint="Restore into a new folder.")
    if key_path.exists() and compute_fingerprint(read_master_key(key_path)) != manifest.key_fingerprint:
        message = f"{key_path}: is not the master key of this backup"
        raise ConfigurationError(message, hint="Put the right one there, or move this one away.")


def _open_key(
    settings: ServerSettings, manifest: BackupManifest, staging: Path, passphrase: str | None
) -> bytes | None:
    """Decrypt the key of the backup; None if there is none, or it is in place already."""
    if get_key_path(settings).exists() or passphrase is None:
        return None
    if not manifest.has_key:
        raise ConfigurationError("the backup holds no master key", hint="Leave out the passphrase.")
    content = open_key((staging / KEY_NAME).read_bytes(), passphrase)
    create_private(staging / "key", content)
    if compute_fingerprint(read_master_key(staging / "key")) != manifest.key_fingerprint:
        raise ServerError("the key in the backup is not that of its database", hint="Take another backup.")
    return content


def _explain_missing_key(path: Path, manifest: BackupManifest) -> ConfigurationError:
    way = "Give the passphrase of the backup" if manifest.has_key else "Put it there"
    hint = f"{way}, or go on without the key and lose all stored secrets."
    return ConfigurationError(f"{path}: the master key of this backup is missing", hint=hint)


def _place_counter(settings: ServerSettings, staging: Path) -> None:
    """Put the audit counter in place, unless there is one: it shows which entries the backup does not have."""
    counter, target = staging / COUNTER_NAME, get_counter_path(settings)
    if counter.exists() and not target.exists():
        _create_file(target, counter.read_bytes())


def _create_file(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    create_private(path, content)


def _place_database(database: Database, source: Path, revision: str) -> None:
    """Put the database in place at its newest revision."""
    if database.path is None:
        load_database(database, source)
        complete_copy(database, revision, _reset)
        return
    staged = Database(f"sqlite:///{source}")
    try:
        complete_copy(staged, revision, _reset)
    finally:
        staged.close()  # writes the journal back, so that the database is one file
    publish(source, database.path)


def _reset(session: Session) -> None:
    """End what must not live on, and queue all repositories, whose mirrors and indexes are gone."""
    session.execute(delete(BrowserSession))
    session.execute(delete(SignInAttempt))
    session.execute(delete(ApiKey).where(ApiKey.kind == "agent"))
    session.execute(delete(Job).where(Job.state.in_(_OPEN_STATES)))
    session.execute(update(HostedRepository).values(commit="", indexed_at=None))
    for repository_id, team_id in session.execute(select(HostedRepository.id, HostedRepository.team_id)):
        session.add(Job(repository_id=repository_id, team_id=team_id, reason="add"))
