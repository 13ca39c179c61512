"""The identity of a team server in a folder: database, keys, sessions and a small app behind them."""

import asyncio
import threading
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from sqlalchemy import event
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp

from coderag.interfaces.rest.problems import install_handlers
from coderag.interfaces.server import resource_metadata, sign_in_routes
from coderag.interfaces.server.access_gate import PRINCIPAL_KEY
from coderag.interfaces.server.authentication import RequestAuthenticator
from coderag.interfaces.server.identity_middleware import IdentityMiddleware
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Level, Role
from coderag.server.identity.access_tokens import AccessTokenService
from coderag.server.identity.keys import CreatedKey, KeyService
from coderag.server.identity.oidc import OidcClient
from coderag.server.identity.principals import PrincipalLoader
from coderag.server.identity.sessions import SessionService
from coderag.server.identity.throttle import SignInThrottle
from coderag.server.sealing import MasterKey
from coderag.server.settings import OidcSettings, ServerSettings
from coderag.server.storage.database import Database
from coderag.server.storage.models import (
    Grant,
    HostedRepository,
    Membership,
    RepositorySource,
    ServerTable,
    Team,
    User,
)


class MovableClock:
    """A clock that a test moves."""

    def __init__(self, now: datetime | None = None) -> None:
        self.now = now or datetime(2026, 5, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **duration: float) -> None:
        self.now += timedelta(**duration)


class RecordedAudit:
    """An audit record that keeps its entries in memory."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []

    def record(
        self,
        principal: Principal | None,
        action: str,
        *,
        repository_id: str = "",
        outcome: str = "allowed",
        detail: Mapping[str, str] = {},
    ) -> None:
        name = principal.name if principal is not None else None
        self.entries.append({"who": name, "action": action, "outcome": outcome, **detail})

    def hash_question(self, text: str) -> str:
        return text


@dataclass
class IdentityWorld:
    """Services of identity over one database.

    It is what an app has as its `state.server`, too.
    """

    folder: Path
    public_url: str = "http://testserver"
    oidc_settings: OidcSettings | None = None
    clock: MovableClock = field(default_factory=MovableClock)
    url: str = ""
    steps: list[int] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.database = Database(self.url or f"sqlite:///{self.folder / 'server.sqlite'}")
        if self.database.is_sqlite:  # no test here cuts the power
            event.listen(self.database.engine, "connect", lambda raw, _: raw.execute("PRAGMA synchronous=OFF"))
        ServerTable.metadata.create_all(self.database.engine)
        self.settings = ServerSettings.load(
            data=self.folder, public_url=self.public_url, oidc=self.oidc_settings or OidcSettings()
        )
        self.audit = RecordedAudit()
        self.loader = PrincipalLoader(self.database, self.clock)
        self.keys = KeyService(self.database, self.loader, self.clock)
        self.sessions = SessionService(self.database, self.loader, self.settings.sessions, self.clock, keys=self.keys)
        self.throttle = SignInThrottle(self.database, self.clock)
        self.oidc: OidcClient | None = None
        access_tokens = None
        if self.oidc_settings is not None:
            self.oidc = OidcClient(self.oidc_settings, self.public_url, self.database, MasterKey(b"k" * 32), self.clock)
            access_tokens = AccessTokenService(
                self.database, self.loader, self.oidc.verifier, self.oidc_settings.issuer
            )
        self.authenticator = RequestAuthenticator(
            self.keys,
            self.sessions,
            self.throttle,
            self.audit,
            access_tokens=access_tokens,
            public_url=self.public_url,
        )

    def build_app(self) -> ASGIApp:
        """Build an app with the routes of identity, and ``/api/who``, which says who sends a request."""
        app = FastAPI()
        app.state.server = self
        install_handlers(app)
        app.include_router(sign_in_routes.router)
        app.include_router(resource_metadata.router)

        @app.api_route("/api/who", methods=["GET", "POST"])
        @app.api_route("/mcp", methods=["GET", "POST"])
        async def answer(request: Request) -> dict[str, Any]:
            principal: Principal | None = request.scope[PRINCIPAL_KEY]
            if principal is None:
                return {"name": None}
            return {"name": principal.name, "kind": principal.kind, "scopes": sorted(principal.scopes)}

        @app.get("/api/stream")
        async def stream(request: Request) -> StreamingResponse:
            return StreamingResponse(self._count(), media_type="text/event-stream")

        @app.get("/api/slow")
        def wait() -> dict[str, str]:
            self.steps.append(0)
            assert self.release.wait(30)
            return {"secret": "content"}

        return IdentityMiddleware(
            app, self.authenticator, public_url=self.public_url, has_provider=self.oidc is not None
        )

    async def _count(self) -> AsyncIterator[str]:
        """Stream numbers; a test sees in `steps` how far it is."""
        for number in range(1_000):
            self.steps.append(number)
            yield f"data: {number}\n\n"
            await asyncio.sleep(0.02)

    def add_user(self, name: str = "ada", role: Role = Role.MEMBER, **values: Any) -> User:
        """Add an account."""
        user = User(
            **{"name": name, "role": role, "email": f"{name}@example.org", "created_at": self.clock(), **values}
        )
        self.add(user)
        return user

    def add_repository(self, name: str, *sources: str) -> tuple[str, list[str]]:
        """Add a repository with sources, and return their ids."""
        repository = HostedRepository(name=name, url=f"https://git.example.org/{name}.git")
        self.add(repository)
        rows = [RepositorySource(repository_id=repository.id, name=each, kind="documentation") for each in sources]
        self.add(*rows)
        return repository.id, [row.id for row in rows]

    def add_team(self, name: str, *user_ids: str, group: str | None = None) -> str:
        """Add a team with members, and return its id."""
        team = Team(name=name, oidc_group=group)
        self.add(team)
        self.add(*(Membership(team_id=team.id, user_id=user_id) for user_id in user_ids))
        return team.id

    def grant(
        self, team_id: str, level: Level, *, repository_id: str | None = None, source_id: str | None = None
    ) -> None:
        """Grant a level to a team."""
        self.add(Grant(team_id=team_id, level=int(level), repository_id=repository_id, source_id=source_id))

    def add(self, *rows: Any) -> None:
        """Add rows."""
        with self.database.begin() as session:
            session.add_all(rows)

    def load(
        self, user: User, *, scopes: Collection[str] | None = None, bound: Collection[str] | None = None
    ) -> Principal:
        """Load the principal of an account, as its session has it; with scopes, as a key has it."""
        with self.database.read() as session:
            return self.loader.load(
                session,
                session.get_one(User, user.id),
                kind="session" if scopes is None else "key",
                credential_id="",
                scopes=scopes,
                repository_ids=bound,
                address="192.0.2.1",
            )

    def create_key(self, user: User, *scopes: str, **values: Any) -> CreatedKey:
        """Create a key of an account, by its own session."""
        return self.keys.create(self.load(user), user.id, "test", scopes=scopes or ("read",), **values)

    def change_user(self, user: User, **values: Any) -> None:
        """Change values of an account."""
        with self.database.begin() as session:
            row = session.get_one(User, user.id)
            for name, value in values.items():
                setattr(row, name, value)

    def remove_user(self, user: User) -> None:
        """Remove an account."""
        with self.database.begin() as session:
            session.delete(session.get_one(User, user.id))

    def list_teams(self, user_id: str) -> dict[str, bool]:
        """Return the names of the teams of an account, and whether the provider gave them."""
        with self.database.read() as session:
            rows = session.query(Team.name, Membership.is_from_oidc).join(Membership, Membership.team_id == Team.id)
            return dict(rows.filter(Membership.user_id == user_id).all())
