"""An empty database, on SQLite and on PostgreSQL, and the services of accounts over it."""

from collections.abc import Iterator

import pytest

from coderag.server.accounts.service import AccountService
from coderag.server.storage.database import Database
from tests.support.server_accounts import create_database


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = create_database(database_url)
    yield database
    database.close()


@pytest.fixture
def accounts(database: Database) -> AccountService:
    return AccountService(database)
