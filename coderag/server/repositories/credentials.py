"""Credentials of git servers: sealed in the database, and given to git for one host only."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, get_args

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from coderag.errors import DuplicateNameError, GitFetchError, InvalidValueError, UnknownNameError
from coderag.server.repositories.deploy_keys import check_app_key, describe_deploy_key
from coderag.server.repositories.git_access import GitAccess, build_http_access, build_ssh_access
from coderag.server.repositories.git_url import GitAddress, parse_host, parse_url
from coderag.server.repositories.github_app import GitHubAppInstallation, InstallationTokens, get_api_url
from coderag.server.repositories.names import check_name, is_id
from coderag.server.sealing import MasterKey
from coderag.server.settings import RepositorySettings
from coderag.server.storage.columns import get_time
from coderag.server.storage.database import Database
from coderag.server.storage.models import Credential, HostedRepository
from coderag.system.host_addresses import HostResolver, resolve_host

CredentialKind = Literal["token", "gitlab_token", "deploy_key", "github_app"]

_DEFAULT_USERS: Final[Mapping[str, str]] = {"token": "x-access-token", "gitlab_token": "oauth2"}
_APP_USER: Final = "x-access-token"
_MAX_TOKEN_CHARS: Final = 4_096
_MAX_NAMED: Final = 5
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_USER: Final = re.compile(r"[\x21-\x39\x3b-\x7e]{1,200}")
_NUMBER: Final = re.compile(r"[0-9]{1,20}")
_APP_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")


class CredentialService:
    """Credentials of git servers. No method returns a secret. Thread-safe.

    Args:
        database: The database.
        master_key: Key that seals the secrets.
        settings: Accepted schemes and hosts.
        resolve: Looks up addresses.
        clock: Returns the current time.
    """

    def __init__(
        self,
        database: Database,
        master_key: MasterKey,
        settings: RepositorySettings,
        *,
        resolve: HostResolver = resolve_host,
        clock: Callable[[], datetime] = get_time,
    ) -> None:
        self._database = database
        self._master_key = master_key
        self._tokens = InstallationTokens(settings, resolve=resolve, clock=clock)

    def create(
        self, name: str, kind: str, host: str, secret: str, *, details: Mapping[str, Any] | None = None
    ) -> Credential:
        """Create a credential.

        Args:
            name: A unique name.
            kind: One of `CredentialKind`.
            host: Host that it is sent to, and to no other.
            secret: Token, or private key as PEM.
            details: `user` of a token; `app_id`, `installation_id` and `api_url` of a GitHub App.

        Raises:
            InvalidValueError: A value is invalid.
            DuplicateNameError: The name is taken.
        """
        secret = "\n".join(secret.strip().splitlines())  # as pasted: with line ends of any system
        checked = _check_details(kind, host, secret, dict(details or {}))
        credential = Credential(
            name=check_name(name),
            kind=kind,
            host=parse_host(host),
            details=checked,
            sealed=self._master_key.seal(secret),
        )
        try:
            with self._database.begin() as session:
                session.add(credential)
        except IntegrityError as error:
            message = f"the credential name {credential.name!r} is taken"
            raise DuplicateNameError(message, hint="Choose another.") from error
        return credential

    def list(self) -> list[Credential]:
        """List the credentials by name."""
        with self._database.read() as session:
            return [*session.scalars(select(Credential).order_by(Credential.name))]

    def get(self, credential_id: str) -> Credential:
        """Return a credential.

        Raises:
            UnknownNameError: There is none with this id.
        """
        credential = None
        if is_id(credential_id):
            with self._database.read() as session:
                credential = session.get(Credential, credential_id)
        if credential is None:
            raise UnknownNameError("there is no such credential", hint="List the credentials.")
        return credential

    def remove(self, credential_id: str) -> None:
        """Remove a credential that no repository uses.

        Raises:
            UnknownNameError: There is none with this id.
            InvalidValueError: Repositories use it.
        """
        credential = self.get(credential_id)
        users = select(HostedRepository.name).where(HostedRepository.credential_id == credential_id)
        try:
            with self._database.begin() as session:
                names = session.scalars(users.order_by(HostedRepository.name)).all()
                if not names:
                    session.delete(session.merge(credential))
        except IntegrityError:  # a repository that took it meanwhile
            names = ["another one"]
        if names:
            listed = ", ".join(names[:_MAX_NAMED]) + (", ..." if len(names) > _MAX_NAMED else "")
            message = f"the credential {credential.name!r} is used by repositories: {listed}"
            raise InvalidValueError(message, hint="Give them another credential first.")
        if credential.kind == "github_app":
            self._tokens.forget(self._build_installation(credential))

    @contextmanager
    def open_access(
        self, credential_id: str | None, address: GitAddress, folder: Path, known_hosts: Path
    ) -> Iterator[GitAccess]:
        """Yield the access to an address; the files that it needs are removed at the end of the block.

        Args:
            credential_id: Id of a credential; None for none.
            address: A URL that was checked.
            folder: Folder for files with secrets, created with access for this user only.
            known_hosts: File with the host keys of `ssh`.

        Raises:
            GitFetchError: The credential does not fit the address, or is refused.
            GitUnavailableError: A token cannot be exchanged now.
        """
        credential = None if credential_id is None else self.get(credential_id)
        reason = find_misfit(credential, address.url.scheme, address.url.host)
        if reason:
            raise GitFetchError(reason, hint="Choose another credential for the repository.")
        if credential is None:
            yield build_http_access(address)
            return
        secret = self._master_key.open(credential.sealed)
        if credential.kind == "deploy_key":
            with _write_key(folder, secret) as key_file:
                yield build_ssh_access(address, key_file, known_hosts)
        elif credential.kind == "github_app":
            token = self._tokens.get(self._build_installation(credential))
            yield build_http_access(address, _APP_USER, token)
        else:
            yield build_http_access(address, str(credential.details["user"]), secret)

    def _build_installation(self, credential: Credential) -> GitHubAppInstallation:
        details = credential.details
        key = self._master_key.open(credential.sealed)
        return GitHubAppInstallation(details["api_url"], details["app_id"], details["installation_id"], key)


def find_misfit(credential: Credential | None, scheme: str, host: str) -> str:
    """Return the reason why a credential cannot be used for a URL; empty if it can."""
    if credential is None:
        return "a URL of ssh needs a deploy key" if scheme == "ssh" else ""
    if credential.host != host:
        return f"the credential {credential.name!r} is for {credential.host}, not for {host}"
    if (credential.kind == "deploy_key") != (scheme == "ssh"):
        return f"the credential {credential.name!r} of kind {credential.kind} cannot be used with {scheme}"
    return ""


@contextmanager
def _write_key(folder: Path, secret: str) -> Iterator[Path]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / "key"
    try:
        path.touch(mode=0o600)
        path.write_text(secret + "\n", encoding="utf-8", newline="\n")
        yield path
    finally:
        path.unlink(missing_ok=True)


def _check_details(kind: str, host: str, secret: str, details: dict[str, Any]) -> dict[str, str]:
    """Return the details to store; refuse what cannot be used."""
    if kind not in get_args(CredentialKind):
        kinds = ", ".join(get_args(CredentialKind))
        raise InvalidValueError(f"there is no kind of credential {kind!r}", hint=f"Kinds: {kinds}.")
    if not secret:
        raise InvalidValueError("the secret of the credential is empty", hint="Give a token or a private key.")
    known = {"github_app": {"app_id", "installation_id", "api_url"}, "deploy_key": set()}.get(kind, {"user"})
    if unknown := sorted(details.keys() - known):
        hint = f"Details: {', '.join(sorted(known)) or 'none'}."
        raise InvalidValueError(f"a credential of kind {kind} has no detail {unknown[0]!r}", hint=hint)
    if kind == "deploy_key":
        return describe_deploy_key(secret + "\n")
    if kind == "github_app":
        return _check_app(host, secret, details)
    if not _TOKEN.fullmatch(secret) or len(secret) > _MAX_TOKEN_CHARS:
        raise InvalidValueError("the token has a character that no token has, or is too long", hint="Paste it again.")
    user = str(details.get("user") or _DEFAULT_USERS[kind])
    if not _USER.fullmatch(user):
        raise InvalidValueError("the user of the token is invalid", hint="A user has no spaces and no colon.")
    return {"user": user}


def _check_app(host: str, secret: str, details: dict[str, Any]) -> dict[str, str]:
    check_app_key(secret + "\n")
    app_id, installation_id = str(details.get("app_id", "")), str(details.get("installation_id", ""))
    if not _APP_ID.fullmatch(app_id) or not _NUMBER.fullmatch(installation_id):
        hint = "The settings of the app show its id; the installation's id is the number at the end of its page's URL."
        raise InvalidValueError("a GitHub App needs app_id and installation_id", hint=hint)
    api_url = str(details.get("api_url") or get_api_url(host)).rstrip("/")
    if parse_url(api_url + "/app").scheme == "ssh":
        raise InvalidValueError("the API of a GitHub App needs a URL of https", hint="Leave api_url out.")
    return {"app_id": app_id, "installation_id": installation_id, "api_url": api_url}
