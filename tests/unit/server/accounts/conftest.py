"""An empty database and the services of accounts over it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from coderag.server.accounts.service import AccountService
from coderag.server.storage.database import Database
from tests.support.server_accounts import create_database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = create_database(tmp_path)
    yield database
    database.close()


@pytest.fixture
def accounts(database: Database) -> AccountService:
    return AccountService(database)
