"""Repositories of the team server: their records, mirrors and checkouts."""

import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from coderag.errors import DuplicateNameError, IndexNotFoundError, InvalidValueError, UnknownNameError
from coderag.server.jobs.queue import JobQueue
from coderag.server.repositories.credentials import CredentialService, find_misfit
from coderag.server.repositories.folder_lock import FolderBusyError
from coderag.server.repositories.git_runner import GitRunner, ProgressCallback
from coderag.server.repositories.git_url import check_url
from coderag.server.repositories.mirror import CHECKOUT_NAME, Mirror
from coderag.server.repositories.names import check_branch, check_name, is_id
from coderag.server.sealing import MasterKey
from coderag.server.settings import RepositorySettings
from coderag.server.storage.columns import get_time
from coderag.server.storage.database import Database
from coderag.server.storage.models import Credential, HostedRepository, Job, Team
from coderag.system.host_addresses import HostResolver, resolve_host

MIN_INTERVAL_MINUTES: Final = 5
MAX_INTERVAL_MINUTES: Final = 60 * 24 * 366
_SECRET_BYTES: Final = 32
_REMOVED_NAME: Final = "removed"
_KNOWN_HOSTS_NAME: Final = "known_hosts"


class Unset:
    """Type of an argument that was not given."""


UNSET: Final = Unset()


@dataclass(frozen=True, slots=True)
class FetchedRepository:
    """Checkout of a repository at its newest commit, locked against changes.

    Attributes:
        checkout: Folder with the files.
        commit: Its commit.
    """

    checkout: Path
    commit: str


class OpenCheckouts(Protocol):
    """Checkouts that this process has open, as `Workspace` has them."""

    def list_open_roots(self) -> list[Path]:
        """List their folders."""
        ...

    def forget(self, root: str | Path) -> bool:
        """Close a checkout; return whether it was open."""
        ...


class RepositoryService:
    """Repositories of the server. Thread-safe.

    Args:
        database: The database.
        settings: Limits and accepted hosts.
        folder: Folder of all mirrors, one folder a repository, named by its id.
        master_key: Key that seals secrets.
        queue: Queue of their jobs.
        credentials: Credentials of git servers; by default those of the same database.
        open_checkouts: Checkouts that this process has open; None if it opens none.
        resolve: Looks up addresses.
        clock: Returns the current time.
    """

    def __init__(  # noqa: PLR0913  # collaborators, most with defaults
        self,
        database: Database,
        settings: RepositorySettings,
        folder: Path,
        master_key: MasterKey,
        queue: JobQueue,
        *,
        credentials: CredentialService | None = None,
        open_checkouts: OpenCheckouts | None = None,
        resolve: HostResolver = resolve_host,
        clock: Callable[[], datetime] = get_time,
    ) -> None:
        self._database = database
        self._settings = settings
        self._folder = folder
        self._master_key = master_key
        self._queue = queue
        self._open_checkouts = open_checkouts
        self._resolve = resolve
        self._clock = clock
        self._credentials = credentials or CredentialService(
            database, master_key, settings, resolve=resolve, clock=clock
        )

    def add(
        self,
        name: str,
        url: str,
        *,
        branch: str = "",
        credential_id: str | None = None,
        team_id: str | None = None,
        interval_minutes: int = 0,
    ) -> HostedRepository:
        """Add a repository, and queue its first job.

        Args:
            name: A unique name.
            url: Its URL.
            branch: Branch to follow; empty follows the default one.
            credential_id: Credential for its git server; None for none.
            team_id: Team whose share of the queue its jobs take.
            interval_minutes: Minutes between fetches; 0 fetches only after pushes and by hand.

        Raises:
            InvalidValueError: A value is invalid, or the URL leads where it may not.
            GitUnavailableError: The host of the URL cannot be resolved.
            DuplicateNameError: The name is taken.
            UnknownNameError: There is no such credential or team.
        """
        self._check_source(url, credential_id)
        repository = HostedRepository(
            name=check_name(name),
            url=url,
            branch=check_branch(branch),
            credential_id=credential_id,
            team_id=team_id,
            interval_minutes=_check_interval(interval_minutes),
            next_sync_at=self._find_next_sync(interval_minutes),
        )
        with self._save(repository.name) as session:
            _check_team(session, team_id)
            session.add(repository)
            session.flush()
            self._queue.submit(repository.id, "add", session=session)
        return repository

    def update(
        self,
        repository_id: str,
        *,
        name: str | Unset = UNSET,
        url: str | Unset = UNSET,
        branch: str | Unset = UNSET,
        credential_id: str | Unset | None = UNSET,
        team_id: str | Unset | None = UNSET,
        interval_minutes: int | Unset = UNSET,
    ) -> HostedRepository:
        """Change attributes of a repository; another URL, branch or credential queues a job.

        Arguments and errors are those of `add`; `UnknownNameError` also if there is no such repository.
        """
        current = self.find(repository_id)
        new_url = current.url if isinstance(url, Unset) else url
        new_credential = current.credential_id if isinstance(credential_id, Unset) else credential_id
        is_moved = (new_url, new_credential) != (current.url, current.credential_id)
        if is_moved:
            self._check_source(new_url, new_credential)
        with self._save(current.name if isinstance(name, Unset) else check_name(name)) as session:
            repository = session.get(HostedRepository, current.id, with_for_update=True)
            if repository is None:
                raise _build_unknown()
            repository.url, repository.credential_id = new_url, new_credential
            if not isinstance(name, Unset):
                repository.name = name
            if not isinstance(branch, Unset):
                is_moved = is_moved or branch != repository.branch
                repository.branch = check_branch(branch)
            if not isinstance(team_id, Unset):
                _check_team(session, team_id)
                repository.team_id = team_id
                jobs = update(Job).where(Job.repository_id == repository.id, Job.state == "queued")
                session.execute(jobs.values(team_id=team_id))
            if not isinstance(interval_minutes, Unset):
                repository.interval_minutes = _check_interval(interval_minutes)
                repository.next_sync_at = self._find_next_sync(interval_minutes)
            if is_moved:
                self._queue.submit(repository.id, "manual", session=session)
        return repository

    def remove(self, repository_id: str) -> None:
        """Remove a repository with its jobs, grants, mirror and index; a running job of it is stopped.

        Raises:
            UnknownNameError: There is no such repository.
        """
        repository = self.find(repository_id)
        folder = self._folder / repository.id
        folder.mkdir(parents=True, exist_ok=True)
        # Only a folder with this mark and without a record is deleted, so that another database never costs an index.
        (folder / _REMOVED_NAME).touch()
        with self._database.begin() as session:
            stored = session.get(HostedRepository, repository.id, with_for_update=True)
            if stored is not None:
                session.delete(stored)
        if self._open_checkouts is not None:
            self._open_checkouts.forget(folder / CHECKOUT_NAME)
        self.sweep()

    def list(self) -> list[HostedRepository]:
        """List the repositories by name."""
        with self._database.read() as session:
            return [*session.scalars(select(HostedRepository).order_by(HostedRepository.name))]

    def find(self, name_or_id: str) -> HostedRepository:
        """Find a repository by its name or id.

        Raises:
            UnknownNameError: There is none.
        """
        column = HostedRepository.id if is_id(name_or_id) else HostedRepository.name  # no name looks like an id
        repository = None
        if name_or_id.isprintable():
            with self._database.read() as session:
                repository = session.scalars(select(HostedRepository).where(column == name_or_id)).first()
        if repository is None:
            raise _build_unknown()
        return repository

    def get_checkout(self, repository_id: str) -> Path:
        """Return the folder with the files of a repository.

        Raises:
            IndexNotFoundError: They were not fetched yet.
        """
        mirror = self._get_mirror(repository_id)
        if not mirror.checkout.is_present:
            raise IndexNotFoundError("the repository was not fetched yet", hint="Look at its jobs.")
        return mirror.checkout_folder

    def create_webhook_secret(self, repository_id: str) -> str:
        """Create a new secret for webhooks, which replaces the last one; it is returned once only.

        Raises:
            UnknownNameError: There is no such repository.
        """
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        with self._database.begin() as session:
            repository = (
                session.get(HostedRepository, repository_id, with_for_update=True) if is_id(repository_id) else None
            )
            if repository is None:
                raise _build_unknown()
            repository.sealed_webhook_secret = self._master_key.seal(secret)
        return secret

    @contextmanager
    def open_checkout(
        self, repository_id: str, check: Callable[[], None], report: ProgressCallback
    ) -> Iterator[FetchedRepository]:
        """Fetch a repository and yield its checkout, which nothing changes within the block.

        Args:
            repository_id: Id of the repository.
            check: Called often; raises to stop.
            report: Called with progress.

        Raises:
            UnknownNameError: The repository was removed.
            FolderBusyError: Another worker is using it.
            GitFetchError: It cannot be fetched.
            InvalidValueError: Its URL may not be fetched any more.
        """
        mirror = self._get_mirror(repository_id)
        self.find(repository_id)  # before the folder is created
        with mirror.hold(GitRunner(check=check, report=report)):
            repository = self._find_held(mirror, repository_id)
            (mirror.folder / _REMOVED_NAME).unlink(missing_ok=True)  # of a removal that did not come through
            report({"phase": "fetching"})
            address = check_url(repository.url, self._settings, resolve=self._resolve)
            with self._credentials.open_access(
                repository.credential_id, address, mirror.secrets_folder, self._folder / _KNOWN_HOSTS_NAME
            ) as access:
                commit = mirror.update(repository.url, repository.branch, access)
            yield FetchedRepository(mirror.checkout_folder, commit)

    def close_removed(self) -> int:
        """Close the open checkouts whose repository was removed, by this or another process; return their number."""
        checkouts = {
            root.parent.name: root
            for root in (self._open_checkouts.list_open_roots() if self._open_checkouts else ())
            if root.name == CHECKOUT_NAME and is_id(root.parent.name)
        }
        if not checkouts or self._open_checkouts is None:
            return 0
        with self._database.read() as session:
            known = set(session.scalars(select(HostedRepository.id).where(HostedRepository.id.in_(list(checkouts)))))
        removed = [root for identifier, root in checkouts.items() if identifier not in known]
        for root in removed:
            self._open_checkouts.forget(root)
            if root.parent.exists():  # perhaps created again by a request that was still running
                (root.parent / _REMOVED_NAME).touch()
        if removed:
            self.sweep()
        return len(removed)

    def sweep(self) -> int:
        """Delete the folders of removed repositories that no worker uses any more; return their number."""
        folders = [mark.parent for mark in self._folder.glob(f"*/{_REMOVED_NAME}") if is_id(mark.parent.name)]
        count = 0
        for folder in folders:
            with suppress(FolderBusyError), self._get_mirror(folder.name).hold(GitRunner()):
                with self._database.read() as session:
                    is_known = session.get(HostedRepository, folder.name) is not None
                if not is_known:
                    _remove_marked(folder)
                    count += not folder.exists()
        return count

    def _find_held(self, mirror: Mirror, repository_id: str) -> HostedRepository:
        try:
            return self.find(repository_id)
        except UnknownNameError:  # removed since, and the folder was created again
            mirror.remove()
            raise

    def _get_mirror(self, repository_id: str) -> Mirror:
        if not is_id(repository_id):  # it becomes a path
            raise _build_unknown()
        return Mirror(self._folder / repository_id, self._settings)

    def _check_source(self, url: str, credential_id: str | None) -> None:
        address = check_url(url, self._settings, resolve=self._resolve)
        credential: Credential | None = self._credentials.get(credential_id) if credential_id is not None else None
        reason = find_misfit(credential, address.url.scheme, address.url.host)
        if reason:
            raise InvalidValueError(reason, hint="Choose another credential, or another URL.")

    def _find_next_sync(self, interval_minutes: int) -> datetime | None:
        return self._clock() + timedelta(minutes=interval_minutes) if interval_minutes else None

    @contextmanager
    def _save(self, name: str) -> Iterator[Session]:
        try:
            with self._database.begin() as session:
                yield session
        except IntegrityError as error:
            if "name" not in str(error.orig):
                raise UnknownNameError("the credential or the team was removed", hint="Choose another.") from error
            message = f"the repository name {name!r} is taken"
            raise DuplicateNameError(message, hint="Choose another.") from error


def _remove_marked(folder: Path) -> None:
    """Remove a folder with its mark last, so that the next sweep goes on where this one was interrupted."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
    if not any(path.is_dir() for path in folder.iterdir()):
        shutil.rmtree(folder, ignore_errors=True)


def _check_team(session: Session, team_id: str | None) -> None:
    if team_id is not None and (not is_id(team_id) or session.get(Team, team_id) is None):
        raise UnknownNameError("there is no such team", hint="List the teams.")


def _check_interval(minutes: int) -> int:
    if minutes and not MIN_INTERVAL_MINUTES <= minutes <= MAX_INTERVAL_MINUTES:
        hint = f"Give 0, or {MIN_INTERVAL_MINUTES} to {MAX_INTERVAL_MINUTES:,}."
        raise InvalidValueError(f"an interval of {minutes} minutes is not accepted", hint=hint)
    return minutes


def _build_unknown() -> UnknownNameError:
    return UnknownNameError("there is no such repository", hint="List the repositories.")
