"""The whole team server in this process: database, accounts, audit and app, over repositories that are indexed already."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import select

from coderag.interfaces.server.app import TeamApp
from coderag.server.access.catalogue import get_checkout
from coderag.server.access.roles import Level, Role, Scope
from coderag.server.accounts.operator import make_operator
from coderag.server.context import open_server
from coderag.server.initialization import initialize
from coderag.server.settings import ServerSettings
from coderag.server.source_synchronizer import SourceSynchronizer
from coderag.server.storage.columns import get_time
from coderag.server.storage.models import HostedRepository, Job, Membership

ADDRESS = "http://127.0.0.1"


@dataclass
class Reply:
    """Reply to a request."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class ComposedServer:
    """A team server without a network, whose jobs do not run.

    Args:
        data: Data folder, created if it is missing.
        settings: Settings beside the folder.
    """

    def __init__(self, data: Path, **settings: Any) -> None:
        self.settings = ServerSettings(data=data, **settings)
        self.owner_key = initialize(self.settings, "Owner", "owner@example.org").secret
        self.context = open_server(self.settings)
        self._numbers = count()
        self._app = TeamApp(self.context, asyncio.Event())

    def host(self, repository_id: str, name: str) -> None:
        """Add a repository whose checkout is indexed already."""
        with self.context.database.begin() as session:
            repository = HostedRepository(id=repository_id, name=name, url=f"https://git.example.org/{name}.git")
            repository.indexed_at = get_time()
            session.add(repository)

    def create_member(self, name: str, levels: Mapping[str, Level], role: Role = Role.MEMBER) -> str:
        """Create an account with a team that has grants; return its id."""
        operator, accounts = make_operator(self.context.database), self.context.accounts
        number = next(self._numbers)
        user = accounts.users.create_person(operator, name, f"{name.lower()}{number}@example.org", role)
        team = accounts.teams.create(operator, f"team {number}")
        accounts.teams.add_member(operator, team.id, user.id)
        for repository_id, level in levels.items():
            accounts.grants.set_level(operator, team.id, level, repository_id=repository_id)
        return user.id

    def grant_source(self, source_id: str, user_id: str) -> None:
        """Give the teams of an account a grant on a source, which no other team sees from then on."""
        operator, grants = make_operator(self.context.database), self.context.accounts.grants
        with self.context.database.read() as session:
            teams = session.scalars(select(Membership.team_id).where(Membership.user_id == user_id)).all()
        for team_id in teams:
            grants.set_level(operator, team_id, Level.READ, source_id=source_id)

    def run_source_job(self, repository_id: str) -> Job:
        """Run the queued job of a repository but for its fetch and the index of its code; return the job."""
        context = self.context
        job = context.queue.claim("worker")
        assert job is not None
        synchronizer = SourceSynchronizer(context.workspace, context.sources, context.accounts.grants)
        errors = synchronizer.synchronize(get_checkout(self.settings.repositories_folder, repository_id))
        assert context.queue.finish(job.id, "worker", "", errors)
        return context.queue.get(job.id)

    def create_key(self, user_id: str, scopes: Sequence[Scope] = tuple(Scope), **values: Any) -> str:
        """Create a key of an account, and return its secret."""
        operator = make_operator(self.context.database)
        return self.context.keys.create(operator, user_id, "key", scopes=list(map(str, scopes)), **values).secret

    def send(self, key: str, requests: Sequence[tuple[str, str, Any]]) -> list[Reply]:
        """Send requests, each a method, a path and a body, with a key; an empty one sends none."""
        return asyncio.run(self._send(key, requests))

    def sign_in_and_out(self, key: str, request: tuple[str, str, Any]) -> list[Reply]:
        """Sign in with a key as a browser does, sign out, and send a request; return the replies."""
        return asyncio.run(self._sign_in_and_out(key, request))

    def read_audit(self) -> list[Any]:
        """Return all entries of the audit, oldest first."""
        return list(self.context.audit.export())

    def close(self) -> None:
        """Close the services."""
        self.context.close()

    async def _sign_in_and_out(self, key: str, request: tuple[str, str, Any]) -> list[Reply]:
        transport = httpx.ASGITransport(self._app)
        async with httpx.AsyncClient(transport=transport, base_url=ADDRESS, timeout=60) as client:
            signed_in = await client.post("/web/session", json={"key": key})
            headers = {"x-coderag-csrf": signed_in.json()["csrf"]}
            signed_out = await client.delete("/web/session", headers=headers)
            method, path, body = request
            refused = await client.request(method, path, json=body, headers=headers)
        return [Reply(reply.status_code, reply.content) for reply in (signed_in, signed_out, refused)]

    async def _send(self, key: str, requests: Sequence[tuple[str, str, Any]]) -> list[Reply]:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        replies = []
        transport = httpx.ASGITransport(self._app)
        async with httpx.AsyncClient(transport=transport, base_url=ADDRESS, headers=headers, timeout=60) as client:
            for method, path, body in requests:
                reply = await client.request(method, path, json=body)
                replies.append(Reply(reply.status_code, reply.content, dict(reply.headers)))
        return replies
