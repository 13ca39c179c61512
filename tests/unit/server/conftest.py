"""A database of the server, and accounts to act as."""

import pytest

from coderag.server.access.principal import Principal
from coderag.server.access.roles import Role
from coderag.server.storage.database import Database
from coderag.server.storage.models import ServerTable


@pytest.fixture
def sqlite_database(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'server.sqlite'}")
    ServerTable.metadata.create_all(database.engine)
    yield database
    database.close()


@pytest.fixture
def make_principal():
    def make_principal(role=Role.MEMBER):
        return Principal(f"{role}-id", role.title(), role, credential_id="key-1", address="192.0.2.7")

    return make_principal
