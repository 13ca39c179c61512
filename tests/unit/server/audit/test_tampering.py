"""Any change, deletion, insertion, reorder or truncation of the record is detected, and named by its first entry."""

import shutil
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event, text

from coderag.server.access.principal import Principal
from coderag.server.access.roles import Role
from coderag.server.audit.audit_log import AuditLog
from coderag.server.audit.entries import COLUMNS
from coderag.server.sealing import MasterKey
from coderag.server.settings import AuditSettings
from coderag.server.storage.database import Database
from coderag.server.storage.models import ServerTable

ROWS = 12
NAMES = [column.key for column in COLUMNS]
TEXT_NAMES = NAMES[2:]


class Rig:
    """A record on SQLite that can be set back to what was written."""

    def __init__(self, folder, *, retention_days=0):
        self.now = datetime(2026, 5, 1, tzinfo=UTC)
        self.counter_file = folder / "audit.counter"
        self.database = Database(f"sqlite:///{folder / 'server.sqlite'}")
        # The tests rewrite the record hundreds of times, and no power failure comes.
        event.listen(
            self.database.engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF")
        )
        ServerTable.metadata.create_all(self.database.engine)
        settings = AuditSettings(retention_days=retention_days)
        key = MasterKey(bytes(range(32)))
        self.log = AuditLog(self.database, key, settings, self.counter_file, clock=lambda: self.now)
        ada = Principal("ada-id", "Ada", Role.MEMBER, address="192.0.2.7")
        for number in range(ROWS):
            self.log.record(ada, f"action {number}", repository_id=f"r{number % 3}", detail={"n": str(number)})
            self.now += timedelta(days=1)

    def keep(self):
        self.rows = self.read()
        self.counter = self.counter_file.read_bytes()

    def read(self):
        with self.database.read() as session:
            query = text(f"SELECT {', '.join(NAMES)} FROM audit_entries ORDER BY sequence")
            return [dict(zip(NAMES, row, strict=True)) for row in session.execute(query)]

    def write(self, rows):
        with self.database.begin() as session:
            session.execute(text("DELETE FROM audit_entries"))
            values = ", ".join(f":{name}" for name in NAMES)
            if rows:
                session.execute(text(f"INSERT INTO audit_entries ({', '.join(NAMES)}) VALUES ({values})"), rows)

    def verify(self, rows):
        self.write(rows)
        self.counter_file.write_bytes(self.counter)
        return self.log.verify()


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    rig = Rig(tmp_path_factory.mktemp("record"))
    rig.keep()
    yield rig
    rig.database.close()


@pytest.fixture(scope="module")
def pruned_rig(tmp_path_factory):
    """A record from which retention deleted twice; the rows before are known."""
    rig = Rig(tmp_path_factory.mktemp("pruned"), retention_days=8)
    rig.before = rig.read()
    rig.log.prune(None)
    rig.now += timedelta(days=3)
    rig.before += rig.read()[-1:]
    rig.log.prune(None)
    rig.keep()
    yield rig
    rig.database.close()


def test_untouched_records_are_intact(rig, pruned_rig):
    assert rig.verify(rig.rows).is_intact
    report = pruned_rig.verify(pruned_rig.rows)
    assert (report.is_intact, report.first_sequence) == (True, 8)


@pytest.mark.hypothesis
@given(data=st.data(), index=st.integers(0, ROWS - 1), name=st.sampled_from(TEXT_NAMES))
def test_changed_text_is_found_where_it_is(rig, data, index, name):
    rows = [dict(row) for row in rig.rows]
    new = data.draw(
        st.one_of(st.text(max_size=20), st.binary(max_size=8)).filter(lambda value: value != rows[index][name])
    )
    rows[index][name] = new
    assert rig.verify(rows).broken_sequence == index + 1


@pytest.mark.hypothesis
@given(index=st.integers(0, ROWS - 1), time=st.sampled_from(["2020-01-01 00:00:00.000000", "soon", 5, b"\xff", ""]))
def test_changed_time_is_found_where_it_is(rig, index, time):
    rows = [dict(row) for row in rig.rows]
    rows[index]["time"] = time
    assert rig.verify(rows).broken_sequence == index + 1


@pytest.mark.hypothesis
@given(deleted=st.sets(st.integers(0, ROWS - 1), min_size=1))
def test_deleted_rows_are_found_at_the_first(rig, deleted):
    report = rig.verify([row for index, row in enumerate(rig.rows) if index not in deleted])
    assert report.broken_sequence == min(deleted) + 1


@pytest.mark.hypothesis
@given(count=st.integers(1, ROWS))
def test_truncated_end_is_found(rig, count):
    report = rig.verify(rig.rows[:-count])
    assert report.broken_sequence == ROWS - count + 1
    assert "deleted from the end" in report.reason


@pytest.mark.hypothesis
@given(order=st.permutations(range(ROWS)).filter(lambda order: order != list(range(ROWS))))
def test_moved_rows_are_found_at_the_first(rig, order):
    rows = [rig.rows[source] | {"sequence": index + 1} for index, source in enumerate(order)]
    first = next(index for index, source in enumerate(order) if index != source)
    assert rig.verify(rows).broken_sequence == first + 1


@pytest.mark.hypothesis
@given(
    place=st.integers(0, ROWS), source=st.integers(0, ROWS - 1), is_pushing=st.booleans(), sequence=st.integers(-5, 0)
)
def test_inserted_rows_are_found(rig, place, source, is_pushing, sequence):
    copy = dict(rig.rows[source])
    if is_pushing:  # everything behind it gets the next number
        rows = [*rig.rows[:place], copy, *rig.rows[place:]]
        rows = [row | {"sequence": index + 1} for index, row in enumerate(rows)]
        # A copy beside its original is found at the second of the two.
        expected = {place + 1, place + 2} if place == source else {place + 1}
    else:
        rows, expected = [copy | {"sequence": sequence}, *rig.rows], {sequence}
    assert rig.verify(rows).broken_sequence in expected


@pytest.mark.hypothesis
@given(deleted=st.sets(st.integers(0, 6), min_size=1))
def test_deletion_behind_retention_is_found(pruned_rig, deleted):
    rows = pruned_rig.rows
    deleted = {index for index in deleted if index < len(rows)}
    report = pruned_rig.verify([row for index, row in enumerate(rows) if index not in deleted])
    assert not report.is_intact


@pytest.mark.hypothesis
@given(count=st.integers(1, 12))
def test_rows_that_are_back_after_retention_are_found(pruned_rig, count):
    first = pruned_rig.rows[0]["sequence"]
    back = [row for row in pruned_rig.before if row["sequence"] < first][-count:]
    report = pruned_rig.verify(back + pruned_rig.rows)
    assert not report.is_intact


def test_forged_entry_of_retention_explains_no_deletion(rig):
    last = rig.rows[-1]
    forged = last | {
        "sequence": ROWS + 1, "action": "audit.prune", "mac": "0" * 64,
        "detail": f'{{"through":"4","mac":"{rig.rows[3]["mac"]}"}}',
    }  # fmt: skip
    report = rig.verify([*rig.rows[4:], forged])
    assert not report.is_intact


def test_record_that_went_on_after_its_end_was_deleted_is_broken(rig, caplog):
    rig.verify(rig.rows[:-3])
    for _ in range(6):
        rig.log.record(None, "read")
    report = rig.log.verify()
    assert (report.broken_sequence, "written anew" in report.reason) == (ROWS, True)
    assert "coderag server audit verify" in caplog.text


def test_missing_or_damaged_counter_is_reported_and_never_replaced(rig):
    rig.verify(rig.rows)
    rig.counter_file.unlink()
    rig.log.record(None, "read")
    report = rig.log.verify()
    assert (report.broken_sequence, "missing" in report.reason) == (ROWS + 2, True)
    rig.counter_file.write_bytes(b"nonsense")
    rig.log.record(None, "read")
    assert "damaged" in rig.log.verify().reason
    assert rig.counter_file.read_bytes() == b"nonsense"


def test_counter_of_another_key_is_damaged(rig, tmp_path):
    rig.verify(rig.rows)
    key = MasterKey(bytes(32))
    other = AuditLog(rig.database, key, AuditSettings(), tmp_path / "audit.counter")
    shutil.copy(rig.counter_file, tmp_path / "audit.counter")
    assert other.verify().broken_sequence == 1


@pytest.mark.parametrize("slot", [0, 1])
def test_torn_write_of_the_counter_leaves_the_other_copy(rig, slot):
    rig.verify(rig.rows)
    content = bytearray(rig.counter)
    content[slot * 4096 + 20 : slot * 4096 + 120] = b"\0" * 100
    rig.counter_file.write_bytes(content)
    assert rig.log.verify().is_intact


def test_accepted_loss_is_recorded_with_what_the_counter_had(rig):
    rig.verify(rig.rows[:-3])
    rig.log.reset_counter(None)
    report = rig.log.verify()
    assert (report.is_intact, report.resets, report.counter_sequence) == (True, 1, ROWS - 2)
    assert f'"counter":"{ROWS}"' in rig.read()[-1]["detail"]
    rig.log.record(None, "read")
    assert rig.log.verify().counter_sequence == ROWS - 1


def test_empty_record_without_a_counter_is_intact(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'server.sqlite'}")
    ServerTable.metadata.create_all(database.engine)
    report = AuditLog(database, MasterKey(bytes(32)), AuditSettings(), tmp_path / "audit.counter").verify()
    database.close()
    assert (report.is_intact, report.entries) == (True, 0)


@pytest.mark.parametrize(
    ("tamper", "sequence", "reason"),
    [
        (lambda rows: [*rows[:4], rows[4] | {"actor": "Eve"}, *rows[5:]], 5, "changed, moved or inserted"),
        (lambda rows: [*rows[:4], rows[4] | {"detail": b"\xff"}, *rows[5:]], 5, "changed"),
        (lambda rows: [*rows[:4], rows[4] | {"time": "soon"}, *rows[5:]], 5, "cannot be read"),
        (lambda rows: [*rows[:2], *rows[5:]], 3, "the entries 3 to 5 are missing"),
        (lambda rows: [rows[0] | {"sequence": -3}, *rows], -3, "inserted"),
        (lambda rows: rows[:-2], ROWS - 1, f"the entries {ROWS - 1} to {ROWS} were deleted from the end"),
        (lambda rows: [], 1, f"the entries 1 to {ROWS} were deleted from the end"),
    ],
)
def test_report_names_the_first_entry_and_the_reason(rig, tamper, sequence, reason):
    report = rig.verify(tamper(rig.rows))
    assert (report.broken_sequence, reason in report.reason) == (sequence, True)


def test_report_names_entries_that_are_back_after_retention(pruned_rig):
    back = [row for row in pruned_rig.before if 5 <= row["sequence"] < pruned_rig.rows[0]["sequence"]]
    report = pruned_rig.verify(back + pruned_rig.rows)
    assert (report.broken_sequence, report.reason) == (5, "deleted entries are back: later retention covers them")
    report = pruned_rig.verify(back[-1:] + pruned_rig.rows)
    assert (report.broken_sequence, "is back" in report.reason) == (7, True)
