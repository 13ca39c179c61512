"""The audit record while PostgreSQL is away: requests are refused, and it goes on by itself."""

import pytest

from coderag.errors import DatabaseUnavailableError
from coderag.server.audit.audit_log import AuditLog
from coderag.server.sealing import MasterKey
from coderag.server.settings import AuditSettings
from coderag.server.storage.database import Database
from coderag.server.storage.models import ServerTable, Team

pytestmark = pytest.mark.integration


def test_record_goes_on_after_an_outage_without_a_gap(postgres_server, postgres_url, tmp_path):
    database = Database(postgres_url)
    ServerTable.metadata.create_all(database.engine)
    log = AuditLog(database, MasterKey(bytes(32)), AuditSettings(), tmp_path / "audit.counter")
    log.record(None, "before")
    with postgres_server.stopped():
        with pytest.raises(DatabaseUnavailableError):
            log.record(None, "refused")
        with pytest.raises(DatabaseUnavailableError), database.begin() as session:
            session.add(Team(name="red"))
            log.record(None, "refused", session=session)
        with pytest.raises(DatabaseUnavailableError):
            log.verify()
    log.record(None, "after")
    report = log.verify()
    assert [entry.action for entry in log.export()] == ["before", "after"]
    assert (report.is_intact, report.counter_sequence) == (True, 2)
    database.close()
