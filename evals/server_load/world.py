"""Users, teams, grants and repositories of a run, created over REST by the owner."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from .git_server import GitServer
from .origins import Origin

_API: Final = "/api/v1/server"
_TIMEOUT_S: Final = 120.0
_POLL_S: Final = 0.5
_TOO_MANY: Final = 429


@dataclass(slots=True)
class HostedOrigin:
    """A repository of the server.

    Attributes:
        origin: Its origin.
        id: Its id.
        secret: Secret of its webhook.
    """

    origin: Origin
    id: str
    secret: str


@dataclass(slots=True)
class LoadUser:
    """An account.

    Attributes:
        name: Its name.
        key: Its API key.
        visible: Repositories that it may see.
        hidden: Repositories that it may not see.
    """

    name: str
    key: str
    visible: list[HostedOrigin] = field(default_factory=list)
    hidden: list[HostedOrigin] = field(default_factory=list)


class OwnerClient:
    """REST client of the owner; it waits when a limit is used up.

    Args:
        url: Address of the server.
        key: Key of the owner.
    """

    def __init__(self, url: str, key: str) -> None:
        self._client = httpx.Client(
            base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=_TIMEOUT_S, trust_env=False
        )

    def call(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401  # JSON
        """Send a request of the administration, and return its reply.

        Raises:
            RuntimeError: It is refused.
        """
        while True:
            reply = self._client.request(method, f"{_API}{path}", json=body)
            if reply.status_code != _TOO_MANY:
                break
            time.sleep(float(reply.headers.get("retry-after", "1")))
        if reply.is_error:
            raise RuntimeError(f"{method} {path}: {reply.status_code} {reply.text[:500]}")
        return reply.json() if reply.content else None

    def list_pending_jobs(self) -> list[dict[str, Any]]:
        """Return jobs that are queued or running."""
        return [job for state in ("queued", "running") for job in self.call("GET", f"/jobs?state={state}")["items"]]

    def wait_until_idle(self, timeout_s: float) -> None:
        """Wait until no job is queued or running.

        Raises:
            RuntimeError: Jobs are left after the time.
        """
        ends = time.monotonic() + timeout_s
        while jobs := self.list_pending_jobs():
            if time.monotonic() > ends:
                raise RuntimeError(f"jobs are left after {timeout_s:.0f} s: {jobs[:2]}")
            time.sleep(_POLL_S)

    def close(self) -> None:
        """Close its connections."""
        self._client.close()


def host_origins(
    owner: OwnerClient, git: GitServer, origins: Sequence[Origin], teams: Sequence[str]
) -> list[HostedOrigin]:
    """Add repositories with webhooks; their jobs take the shares of the teams in turn."""
    hosted = []
    for number, origin in enumerate(origins):
        body = {"name": origin.name, "url": git.get_url(origin.bare.name), "team_id": teams[number % len(teams)]}
        entry = owner.call("POST", "/repositories", body)
        webhook = owner.call("POST", f"/repositories/{entry['id']}/webhook")
        hosted.append(HostedOrigin(origin, entry["id"], webhook["secret"]))
    return hosted


def create_teams(owner: OwnerClient, count: int) -> list[str]:
    """Create teams, and return their ids."""
    return [owner.call("POST", "/teams", {"name": f"team {number}"})["id"] for number in range(count)]


def create_users(
    owner: OwnerClient, teams: Sequence[str], hosted: Sequence[HostedOrigin], count: int, chance: random.Random
) -> list[LoadUser]:
    """Create accounts with keys, in one or two random teams that have random grants.

    Each account sees at least one repository, and at least one is hidden from it, if there are two.
    """
    granted: dict[str, set[int]] = {}
    for team in teams:
        numbers = chance.sample(range(len(hosted)), k=max(1, len(hosted) // (2 * 2)))
        granted[team] = set(numbers)
        for number in numbers:
            level = chance.choice(("read", "index"))
            owner.call("PUT", f"/teams/{team}/grants", {"repository": hosted[number].origin.name, "level": level})
    users = []
    for number in range(count):
        name = f"user {number}"
        account = owner.call("POST", "/users", {"kind": "service", "name": name})
        own = chance.sample(list(teams), k=min(len(teams), chance.choice((1, 2))))
        for team in own:
            owner.call("PUT", f"/teams/{team}/members/{account['id']}")
        body = {"name": "load", "scopes": ["read", "index"]}
        secret = owner.call("POST", f"/users/{account['id']}/keys", body)["secret"]
        seen = set().union(*(granted[team] for team in own))
        visible = [entry for index, entry in enumerate(hosted) if index in seen]
        users.append(LoadUser(name, secret, visible, [entry for entry in hosted if entry not in visible]))
    return users
