"""Limits on requests of keys, accounts and teams: by the minute in each process, by the day over all of them."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from coderag.errors import QuotaExceededError
from coderag.server.access.principal import Principal
from coderag.server.daily_usage import FLUSH_INTERVAL_S, UsageCounter
from coderag.server.settings import LimitSettings
from coderag.server.storage.columns import get_time
from coderag.server.storage.database import Database
from coderag.server.token_buckets import TokenBuckets

_KEY: Final = "key"
_ACCOUNT: Final = "account"
_TEAM: Final = "team"
_DESCRIPTIONS: Final = {_KEY: "this key or session", _ACCOUNT: "your account", _TEAM: "your team"}


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """Use of a daily quota.

    Attributes:
        subject: ``account``, or ``team`` with its id behind a colon.
        requests: Requests today (UTC).
        limit: Requests that it may send a day; 0 is no limit.
    """

    subject: str
    requests: int
    limit: int


class CallerLimits:
    """Limits on the requests of callers. Thread-safe.

    A request that is refused counts for nothing. Limits by the minute hold in each process of its own.

    Args:
        database: The database.
        settings: The limits.
        clock: Returns the current time.
        timer: Monotonic clock in seconds.
        flush_interval_s: Seconds between two writes of the daily counts.
    """

    def __init__(
        self,
        database: Database,
        settings: LimitSettings,
        clock: Callable[[], datetime] = get_time,
        *,
        timer: Callable[[], float] = time.monotonic,
        flush_interval_s: float = FLUSH_INTERVAL_S,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._buckets = TokenBuckets(timer)
        self._usage = UsageCounter(database, clock, interval_s=flush_interval_s)

    def take(self, principal: Principal) -> None:
        """Count a request, if no limit is used up.

        With daily limits, the first request of an account in a process reads the database: call it in a thread.

        Raises:
            QuotaExceededError: A limit is used up.
            DatabaseUnavailableError: A daily count cannot be read.
        """
        quotas = {subject: limit for subject, limit in self._list_quotas(principal).items() if limit}
        counts = self._usage.read(quotas) if quotas else {}
        for subject, limit in quotas.items():
            if counts[subject] >= limit:
                raise _make_error(subject, f"{limit:,} requests a day", self._get_rest_of_day())
        rates = self._list_rates(principal)
        subject, wait_s = self._buckets.take({name: limit for name, limit in rates.items() if limit})
        if subject:
            raise _make_error(subject, f"{rates[subject]:,} requests a minute", wait_s)
        self._usage.add(self._list_quotas(principal))

    def read_usage(self, principal: Principal) -> list[QuotaUse]:
        """Return the use of the daily quotas of an account and its teams.

        Raises:
            DatabaseUnavailableError: The database does not answer.
        """
        quotas = self._list_quotas(principal)
        counts = self._usage.read(quotas)
        return [
            QuotaUse(_ACCOUNT if subject.startswith(_ACCOUNT) else subject, counts[subject], limit)
            for subject, limit in quotas.items()
        ]

    def close(self) -> None:
        """Write the daily counts, and stop.

        Raises:
            DatabaseUnavailableError: The database does not answer.
        """
        self._usage.close()

    def _list_rates(self, principal: Principal) -> dict[str, int]:
        settings = self._settings
        rates = {
            f"{_KEY}:{principal.credential_id or principal.user_id}": settings.requests_per_minute,
            f"{_ACCOUNT}:{principal.user_id}": settings.account_requests_per_minute,
        }
        return rates | {f"{_TEAM}:{team}": settings.team_requests_per_minute for team in sorted(principal.team_ids)}

    def _list_quotas(self, principal: Principal) -> dict[str, int]:
        quotas = {f"{_ACCOUNT}:{principal.user_id}": self._settings.requests_per_day}
        return quotas | {f"{_TEAM}:{team}": self._settings.team_requests_per_day for team in sorted(principal.team_ids)}

    def _get_rest_of_day(self) -> float:
        now = self._clock()
        tomorrow = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        return (tomorrow - now).total_seconds()


def _make_error(subject: str, limit: str, wait_s: float) -> QuotaExceededError:
    description = _DESCRIPTIONS[subject.partition(":")[0]]
    hint = f"Wait {max(1, round(wait_s)):,} s, or ask an administrator for a higher limit."
    return QuotaExceededError(f"{description} has used up its {limit}", hint=hint, wait_s=wait_s)
