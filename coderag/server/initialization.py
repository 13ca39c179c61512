"""First set-up of a server: the master key, the tables and the first owner."""

from sqlalchemy import select

from coderag.errors import ConfigurationError
from coderag.server.access.roles import Action, Role, Scope
from coderag.server.accounts.operator import make_operator
from coderag.server.accounts.rules import check_email, check_name
from coderag.server.accounts.users import PERSON
from coderag.server.audit.audit_log import AuditLog
from coderag.server.backup import get_counter_path, get_key_path
from coderag.server.identity.keys import CreatedKey, KeyService
from coderag.server.identity.principals import PrincipalLoader
from coderag.server.sealing import MasterKey, create_master_key, read_master_key
from coderag.server.settings import ServerSettings
from coderag.server.storage.database import Database
from coderag.server.storage.models import User
from coderag.server.storage.upgrade import get_revision, upgrade

_KEY_NAME = "first key"


def initialize(settings: ServerSettings, owner_name: str, owner_email: str) -> CreatedKey:
    """Create the master key, the tables and the first owner with a key. What an interrupted run has made is used.

    Args:
        settings: Settings of the server.
        owner_name: Name of the owner.
        owner_email: E-mail of the owner.

    Raises:
        ConfigurationError: There are accounts already, or a file cannot be written.
        DatabaseUnavailableError: The database does not answer.
        InvalidValueError: The name or e-mail is invalid.
    """
    owner = User(kind=PERSON, name=check_name(owner_name), email=check_email(owner_email), role=Role.OWNER)
    _create_folder(settings)
    database = Database(settings.url)
    try:
        if get_revision(database) is not None:
            _require_no_accounts(database)
        master_key = _open_key(settings)
        upgrade(database)
        operator = make_operator(database)
        audit = AuditLog(database, master_key, settings.audit, get_counter_path(settings))
        with database.begin() as session:
            if session.scalar(select(User.id).limit(1)) is not None:
                raise _make_accounts_error()
            session.add(owner)
            detail = {"command": "init", "email": owner.email or "", "role": str(Role.OWNER)}
            audit.record(operator, str(Action.USERS_MANAGE), detail=detail, session=session)
        return KeyService(database, PrincipalLoader(database)).create(
            operator, owner.id, _KEY_NAME, scopes=list(map(str, Scope))
        )
    finally:
        database.close()


def _create_folder(settings: ServerSettings) -> None:
    folder = settings.data.absolute()
    try:
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    except OSError as error:
        message = f"{folder}: cannot be created: {error.strerror or error}"
        raise ConfigurationError(message, hint="Choose another folder with --data.") from error


def _open_key(settings: ServerSettings) -> MasterKey:
    path = get_key_path(settings)
    return read_master_key(path) if path.exists() else create_master_key(path)


def _require_no_accounts(database: Database) -> None:
    with database.read() as session:
        if session.scalar(select(User.id).limit(1)) is not None:
            raise _make_accounts_error()


def _make_accounts_error() -> ConfigurationError:
    message = "the server was initialized before: it has accounts"
    return ConfigurationError(message, hint="Create a key with `coderag server keys create EMAIL NAME`.")
