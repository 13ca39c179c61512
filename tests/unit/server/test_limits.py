"""Limits on requests: what is refused, for how long, and what is counted over processes."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event, select

from coderag.errors import DatabaseUnavailableError, QuotaExceededError
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Role
from coderag.server.limits import CallerLimits
from coderag.server.settings import LimitSettings
from coderag.server.storage.database import Database
from coderag.server.storage.models import DailyUsage, ServerTable
from coderag.server.token_buckets import TokenBuckets


class World:
    """Limits with clocks that stand still."""

    def __init__(self, url):
        self.database = Database(url)
        ServerTable.metadata.create_all(self.database.engine)
        self.now = datetime(2026, 5, 1, 23, 59, tzinfo=UTC)
        self.seconds = 0.0
        self.opened = []

    def open(self, **settings):
        settings = {
            "requests_per_minute": 0,
            "account_requests_per_minute": 0,
            "team_requests_per_minute": 0,
        } | settings
        limits = CallerLimits(
            self.database, LimitSettings(**settings), lambda: self.now,
            timer=lambda: self.seconds, flush_interval_s=3_600,
        )  # fmt: skip
        self.opened.append(limits)
        return limits

    def read_table(self):
        with self.database.read() as session:
            query = select(DailyUsage.day, DailyUsage.subject, DailyUsage.requests)
            return {(day, subject): requests for day, subject, requests in session.execute(query)}


@pytest.fixture
def world(database_url):
    world = World(database_url)
    yield world
    for limits in world.opened:
        limits.close()
    world.database.close()


def caller(user="ada", key="k1", teams=("red",)):
    return Principal(user, user.title(), Role.MEMBER, credential_id=key, team_ids=frozenset(teams))


def count_accepted(limits, principal, attempts):
    accepted = 0
    for _ in range(attempts):
        try:
            limits.take(principal)
        except QuotaExceededError:
            continue
        accepted += 1
    return accepted


def test_key_account_and_team_have_limits_of_their_own(world):
    limits = world.open(requests_per_minute=3, account_requests_per_minute=5, team_requests_per_minute=7)
    assert count_accepted(limits, caller(key="k1"), 10) == 3
    assert count_accepted(limits, caller(key="k2"), 10) == 2  # the account
    assert count_accepted(limits, caller("bob", "k3"), 10) == 2  # the team
    assert count_accepted(limits, caller("eve", "k4", teams=()), 10) == 3
    with pytest.raises(QuotaExceededError, match="this key or session has used up its 3 requests a minute") as caught:
        limits.take(caller("eve", "k4", teams=()))
    assert caught.value.wait_s == pytest.approx(20)
    world.seconds += 20
    assert count_accepted(limits, caller("eve", "k4", teams=()), 10) == 1


def test_daily_quota_lasts_until_midnight_utc(world):
    limits = world.open(requests_per_day=2, team_requests_per_day=3)
    assert count_accepted(limits, caller(), 5) == 2
    with pytest.raises(QuotaExceededError, match="your account has used up its 2 requests a day") as caught:
        limits.take(caller())
    assert caught.value.wait_s == 60
    assert count_accepted(limits, caller("bob"), 5) == 1
    world.now += timedelta(seconds=61)
    assert count_accepted(limits, caller(), 5) == 2


def test_processes_share_daily_counts_when_they_write(world):
    first, second = world.open(requests_per_day=10), world.open(requests_per_day=10)
    assert count_accepted(first, caller(), 4) == 4
    first._usage.flush()
    assert count_accepted(second, caller(), 4) == 4
    second._usage.flush()
    assert count_accepted(first, caller(), 9) == 6  # it does not know of the others yet
    first._usage.flush()
    assert count_accepted(first, caller(), 1) == 0
    assert world.read_table()[date(2026, 5, 1), "account:ada"] == 14
    assert {use.subject: (use.requests, use.limit) for use in first.read_usage(caller())} == {
        "account": (14, 10), "team:red": (14, 0),
    }  # fmt: skip


def test_requests_write_nothing_until_the_counts_are_due(world):
    limits, writes = world.open(requests_per_day=1_000), []
    limits.take(caller())
    event.listen(world.database.engine, "before_cursor_execute", lambda *arguments: writes.append(arguments[2]))
    assert count_accepted(limits, caller(), 500) == 500
    assert writes == []


def test_counts_survive_a_database_that_is_away(world, monkeypatch):
    limits = world.open(requests_per_day=100)
    assert count_accepted(limits, caller(), 3) == 3

    def fail():
        raise DatabaseUnavailableError("the database does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(world.database, "begin", fail)
        with pytest.raises(DatabaseUnavailableError):
            limits._usage.flush()
    limits.take(caller())
    limits._usage.flush()
    assert world.read_table()[date(2026, 5, 1), "account:ada"] == 4


def test_counts_of_both_days_are_written_after_midnight(world):
    limits = world.open()
    limits.take(caller(teams=()))
    world.now += timedelta(minutes=2)
    limits.take(caller(teams=()))
    limits.close()
    assert world.read_table() == {(date(2026, 5, 1), "account:ada"): 1, (date(2026, 5, 2), "account:ada"): 1}


def test_old_counts_are_deleted_in_the_background(world):
    with world.database.begin() as session:
        session.add(DailyUsage(day=date(2025, 1, 1), subject="account:ada", requests=5))
    limits = CallerLimits(world.database, LimitSettings(), lambda: world.now, flush_interval_s=0.01)
    world.opened.append(limits)
    limits.take(caller(teams=()))
    while (date(2025, 1, 1), "account:ada") in world.read_table():
        pass
    assert world.read_table() == {(date(2026, 5, 1), "account:ada"): 1}


def test_threads_get_no_more_than_the_limit(world):
    limits = world.open(requests_per_minute=50)
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda _: count_accepted(limits, caller(), 20), range(8))) == 50


@pytest.mark.hypothesis
@given(limit=st.integers(1, 30), steps=st.lists(st.tuples(st.floats(0, 20), st.integers(1, 10)), max_size=40))
def test_no_minute_has_more_than_two_bursts(limit, steps):
    now, taken = 0.0, []
    buckets = TokenBuckets(lambda: now)
    for pause, attempts in steps:
        now += pause
        taken += [now for _ in range(attempts) if buckets.take({"a": limit})[0] == ""]
    assert all(sum(start <= time < start + 60 for time in taken) <= 2 * limit for start in taken)


def test_waiting_as_told_is_enough_and_buckets_are_bounded(monkeypatch):
    now = 0.0
    buckets = TokenBuckets(lambda: now)
    assert [buckets.take({"a": 2, "b": 9})[0] for _ in range(3)] == ["", "", "a"]
    now += buckets.take({"a": 2, "b": 9})[1]
    assert buckets.take({"a": 2, "b": 9}) == ("", 0.0)
    monkeypatch.setattr("coderag.server.token_buckets._MAX_BUCKETS", 10)
    for number in range(100):
        buckets.take({f"s{number}": 1})
    assert len(buckets._buckets) <= 12
