"""An audit record on SQLite and on PostgreSQL."""

import pytest

from coderag.server.access.principal import Principal
from coderag.server.access.roles import Role
from coderag.server.audit.audit_log import COUNTER_FILE_NAME, AuditLog
from coderag.server.sealing import MasterKey
from coderag.server.settings import AuditSettings
from coderag.server.storage.database import Database
from coderag.server.storage.models import ServerTable

KEY = bytes(range(32))


@pytest.fixture
def ada():
    return Principal("ada-id", "Ada", Role.MEMBER, credential_id="key-1", address="192.0.2.7")


@pytest.fixture
def open_log(tmp_path):
    """Open audit records of one folder; each closes its database at the end."""
    databases = []

    def open_log(url=None, *, key=KEY, **arguments):
        settings = AuditSettings(**{name: arguments.pop(name) for name in list(arguments) if name != "clock"})
        database = Database(url or f"sqlite:///{tmp_path / 'server.sqlite'}")
        databases.append(database)
        ServerTable.metadata.create_all(database.engine)
        return AuditLog(database, MasterKey(key), settings, tmp_path / COUNTER_FILE_NAME, **arguments)

    yield open_log
    for database in databases:
        database.close()


@pytest.fixture
def log(open_log, database_url):
    return open_log(database_url)
