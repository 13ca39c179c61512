"""A whole team server whose repositories, accounts and grants change from world to world."""

import asyncio
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import delete

from coderag.interfaces.server.observability import Observability
from coderag.server.access.catalogue import get_checkout
from coderag.server.access.roles import Level, Role
from coderag.server.accounts.operator import make_operator
from coderag.server.storage.models import HostedRepository, Job, RepositorySource, SignInFailures
from tests.support.asgi_calls import AsgiReply, call_app
from tests.support.composed_server import ComposedServer
from tests.support.hosted_worlds import IDS, Sent, World
from tests.support.mirrors import SOURCES

_KINDS = {"wiki": "documentation", "tracker": "backlog"}
_REQUEST_ID = "0" * 24
_VARYING = re.compile(
    rb"(?<![0-9a-f])(?!0{8})(?:[0-9a-f]{32}|[0-9a-f]{12})(?![0-9a-f])|cr_[0-9a-f]{12}[A-Za-z0-9_-]*"
    rb'|"(?:thread|secret|prefix|[a-z_]*ms|elapsed_s|start_ns)":(?:"[^"]*"|[0-9.e+-]+|null)'
    rb'|"next":"Wy[A-Za-z0-9_=-]+"'
    rb"|took \d+\.\d+ s"
    rb'|"sizes":\[[^\]]*\]'
    rb"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d[0-9:.+Z]*"
)
"""Parts that differ between two servers with the same repositories: times, secrets, random identifiers, and sizes of
index folders, which the servers share here."""


def get_job_id(number: int) -> str:
    """Return the id of the job of a repository."""
    return f"{number + 1_000:032x}"


class WorldServer:
    """The app as it is served, with its observability, in one event loop and without a network.

    Args:
        folder: Folder of the indexed repositories.
        data: Data folder.
    """

    def __init__(self, folder: Path, data: Path) -> None:
        self.folder = folder
        data.mkdir(parents=True, exist_ok=True)
        (data / "repositories").symlink_to(folder)
        limits = {"requests_per_minute": 0, "account_requests_per_minute": 0, "team_requests_per_minute": 0}
        self.server = ComposedServer(data, limits=limits)
        self._context, self._team = self.server.context, self.server._app
        self._app = Observability(self._team, self._context, self._team.identify)
        self._runner = asyncio.Runner()
        operator, accounts = make_operator(self._context.database), self._context.accounts
        self.bob = accounts.users.create_person(operator, "Bob", "bob@example.org", Role.MEMBER).id
        self.team = accounts.teams.create(operator, "others").id
        accounts.teams.add_member(operator, self.team, self.bob)
        self._bobs_key = self.server.create_key(self.bob)
        self._hosted: set[int] = set()

    def enter(self, world: World, name: str, role: Role, *, has_hidden: bool, is_bound: bool) -> str:
        """Give the server the repositories of a world, and an account that sees what its caller sees; return its key.

        Args:
            world: The world.
            name: Name of the account, new in this server.
            role: Its role.
            has_hidden: Whether the hidden repositories exist, and others use them.
            is_bound: Whether the key is bound to the visible repositories, for a role that sees all.
        """
        hosted = [*world.levels, *(world.hidden if has_hidden else ())]
        for number in self._hosted - {*hosted}:
            self._context.workspace.forget(get_checkout(self.folder, IDS[number]))
        self._hosted = {*hosted}
        self._host(hosted, world)
        accounts, operator = self._context.accounts, make_operator(self._context.database)
        user = accounts.users.create_person(operator, name, f"{name.lower()}@example.org", role).id
        team = accounts.teams.create(operator, f"team of {name}").id
        accounts.teams.add_member(operator, team, user)
        for number, level in world.levels.items():
            accounts.grants.set_level(operator, team, level, repository_id=IDS[number])
            for each, source in enumerate(SOURCES):
                if source not in world.sources:  # a grant of others on it hides it from the rest
                    source_id = _get_source_id(number, each)
                    accounts.grants.set_level(operator, self.team, Level.READ, source_id=source_id)
        for number in hosted:
            if number not in world.levels:
                accounts.grants.set_level(operator, self.team, Level.ADMINISTER, repository_id=IDS[number])
        if not is_bound:
            return self.server.create_key(user)
        return self.server.create_key(user, repository_ids=[IDS[number] for number in world.levels])

    def ask(self, key: str, requests: Iterable[Sent]) -> list[tuple[Any, ...]]:
        """Send requests with a key, and return what came back without what varies; an empty key sends none."""
        return self._runner.run(self._ask(key, list(requests)))

    def ask_as_bob(self, requests: Sequence[Sent]) -> None:
        """Let another account send requests, so that caches are warm with what it sees."""
        self.ask(self._bobs_key, requests)

    def call_mcp(self, key: str, messages: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[Any, ...]]:
        """Open a session of MCP, send messages in it, and return what came back without what varies."""
        return self._runner.run(self._call_mcp(key, messages))

    def close(self) -> None:
        """Close the services."""
        self._runner.run(self._team._pool.close())
        self._runner.close()
        self.server.close()

    def _host(self, numbers: Sequence[int], world: World) -> None:
        with self._context.database.begin() as session:
            session.execute(delete(HostedRepository))
            session.execute(delete(SignInFailures))  # each world has a few, which would add up
        for number in sorted(numbers):
            self.server.host(IDS[number], world.get_name(number))
            with self._context.database.begin() as session:
                for each, (name, values) in enumerate(SOURCES.items()):
                    sealed = self._context.master_key.seal(json.dumps(values))
                    source_id = _get_source_id(number, each)
                    session.add(
                        RepositorySource(
                            id=source_id,
                            repository_id=IDS[number],
                            name=name,
                            kind=_KINDS[name],
                            sealed_settings=sealed,
                        )
                    )
                session.add(Job(id=get_job_id(number), repository_id=IDS[number], reason="add", state="done"))

    async def _ask(self, key: str, requests: Sequence[Sent]) -> list[tuple[Any, ...]]:
        headers = _make_headers(key)
        replies = []
        for sent in requests:
            path = sent.path.replace("{bob}", self.bob).replace("{team}", self.team)
            reply = await call_app(self._app, sent.method, path, sent.body, headers)
            replies.append((f"{sent.method} {sent.path}", *_normalize(reply)))
        return replies

    async def _call_mcp(self, key: str, messages: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[Any, ...]]:
        headers = {**_make_headers(key), "accept": "application/json, text/event-stream"}
        version = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        replies = []
        for number, (method, params) in enumerate(
            [("initialize", version), ("notifications/initialized", {}), *messages], start=1
        ):
            message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
            if not method.startswith("notifications/"):
                message["id"] = number
            reply = await call_app(self._app, "POST", "/mcp", message, headers)
            headers["mcp-session-id"] = reply.get(b"mcp-session-id") or headers.get("mcp-session-id", "")
            headers = {name: value for name, value in headers.items() if value}
            replies.append((f"{method} {json.dumps(params)}", *_normalize(reply)))
        return replies


def _get_source_id(number: int, source: int) -> str:
    return f"{number * 10 + source + 100:032x}"


def _make_headers(key: str) -> dict[str, str]:
    sent = {"x-request-id": _REQUEST_ID}
    return {**sent, "authorization": f"Bearer {key}"} if key else sent


def _normalize(reply: AsgiReply) -> tuple[Any, ...]:
    body, count = _VARYING.subn(b"_", reply.body)
    headers = [
        (name.lower(), _VARYING.sub(b"_", value))
        for name, value in reply.headers
        if not (count and name.lower() == b"content-length")
    ]
    return reply.status, sorted(headers), body
