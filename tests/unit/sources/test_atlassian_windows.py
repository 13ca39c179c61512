"""Windows of changes: starts in a query, whatever the zone, and walks over listings that change meanwhile."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.sources.atlassian.listings import Cursor, Row, RowPage, walk_rows
from coderag.sources.atlassian.queries import quote_value, strip_order
from coderag.sources.atlassian.times import find_zone, format_window_start, parse_time

ZONES = ("UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Kiritimati", "Etc/GMT+12")
MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC))


@given(MOMENTS, st.sampled_from(ZONES), st.booleans(), st.sampled_from([0, 1]))
def test_window_never_begins_after_its_moment(moment: datetime, zone: str, is_known: bool, fold: int) -> None:
    literal = format_window_start(moment, find_zone(zone) if is_known else None)
    as_read = datetime.strptime(literal, "%Y-%m-%d %H:%M").replace(tzinfo=ZoneInfo(zone), fold=fold)
    assert as_read.astimezone(UTC) <= moment
    if is_known:
        assert moment - as_read.astimezone(UTC) < timedelta(hours=2, minutes=1)


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-05-01T12:00:00.000+0200", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        ("2026-05-01T12:00:00.000Z", datetime(2026, 5, 1, 12, tzinfo=UTC)),
        ("2026-05-01", datetime(2026, 5, 1, tzinfo=UTC)),
        ("yesterday", None),
        (None, None),
    ],
)
def test_times_of_replies_are_parsed(value: object, moment: datetime | None) -> None:
    assert parse_time(value) == moment


@pytest.mark.parametrize("name", ["", "No/Where", "../etc/passwd", "\x00"])
def test_unknown_zone_is_none(name: str) -> None:
    assert find_zone(name) is None


def test_order_of_a_query_is_stripped_outside_quotes() -> None:
    assert strip_order('text ~ "a \\" ORDER BY b" and x = 1 Order  By created') == 'text ~ "a \\" ORDER BY b" and x = 1'
    assert quote_value('a"b\\') == '"a\\"b\\\\"'


@given(st.data())
def test_walk_by_offset_reads_every_row_although_rows_move(data: st.DataObject) -> None:
    """Each row that exists throughout is read, and each in its last revision."""
    base = datetime(2026, 1, 1, tzinfo=UTC)
    times = {str(number): base + timedelta(minutes=20 * number) for number in range(data.draw(st.integers(0, 12)))}
    revisions = dict.fromkeys(times, 0)
    deleted: set[str] = set()
    moves = data.draw(st.integers(0, 4))
    size = data.draw(st.integers(2, 4))

    def search(start: datetime | None, cursor: Cursor | None) -> RowPage:
        nonlocal moves
        if moves and times and data.draw(st.booleans()):
            moves -= 1
            name = data.draw(st.sampled_from(sorted(times)))
            if data.draw(st.booleans()):
                times[name] = max(times.values()) + timedelta(minutes=1)
                revisions[name] += 1
            else:
                deleted.add(name)
                del times[name]
        rows = sorted((time, name) for name, time in times.items() if start is None or time >= start)
        offset = cursor if isinstance(cursor, int) else 0
        page = rows[offset : offset + size]
        has_next = len(rows) > offset + len(page)
        return RowPage(
            [Row(name, time, str(revisions[name])) for time, name in page], offset + len(page) if has_next else None
        )

    read = {row.id: row.revision for page in walk_rows(search, None, "test") for row in page.rows}
    for name in times.keys() - deleted:
        # A change behind the walk is read by the next run.
        assert name in read
