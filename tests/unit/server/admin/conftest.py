"""The routes of the administration as an app behind the gate of the server, called as any role."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from fastapi import FastAPI

from coderag.interfaces.rest.problems import install_handlers
from coderag.interfaces.rest.strict_route import GATE_KEY
from coderag.interfaces.server.access_gate import PRINCIPAL_KEY, AccessGate, ViewLoader
from coderag.interfaces.server.admin.router import ROUTE_ACTIONS, router
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Level, Role
from coderag.workspace.workspace import Workspace
from tests.support.server_accounts import add_repository, add_user, make_principal
from tests.support.server_services import ServerWorld, make_world

Send = Callable[..., httpx.Response]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ServerWorld]:
    world = make_world(tmp_path)
    yield world
    world.database.close()


@pytest.fixture
def shop(world: ServerWorld) -> str:
    """Id of a repository with two sources."""
    return add_repository(world.database, "shop", "wiki", "tracker")


@pytest.fixture
def hidden(world: ServerWorld) -> str:
    """Id of a repository that nobody of these tests sees but owners and admins."""
    return add_repository(world.database, "hidden", "notes")


@pytest.fixture
def principals(world: ServerWorld, shop: str, hidden: str) -> dict[Role, Principal]:
    """A principal of each role; members administer the shop, viewers read it, auditors see nothing."""
    levels = {
        Role.OWNER: {shop: Level.ADMINISTER, hidden: Level.ADMINISTER},
        Role.ADMIN: {shop: Level.ADMINISTER, hidden: Level.ADMINISTER},
        Role.MEMBER: {shop: Level.ADMINISTER},
        Role.VIEWER: {shop: Level.READ},
        Role.AUDITOR: {},
    }
    return {role: make_principal(role, add_user(world.database, str(role), role), levels=levels[role]) for role in Role}


@pytest.fixture
def send(world: ServerWorld, principals: dict[Role, Principal]) -> Send:
    """Send a request as a role or a principal: ``send(Role.OWNER, "GET", "/users")``."""
    app = FastAPI(redirect_slashes=False)
    app.state.server = world
    install_handlers(app)
    app.include_router(router, prefix="/api/v1")
    views = ViewLoader(cast("Workspace", None), lambda _: [])
    gate = AccessGate(views, cast("Any", world.audit), ROUTE_ACTIONS)

    def send(caller: Role | Principal | None, method: str, path: str, **options: Any) -> httpx.Response:
        principal = principals[caller] if isinstance(caller, Role) else caller

        async def serve(scope: Any, receive: Any, reply: Any) -> None:
            scope[GATE_KEY] = gate
            scope[PRINCIPAL_KEY] = principal
            await app(scope, receive, reply)

        async def run() -> httpx.Response:
            transport = httpx.ASGITransport(serve, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="https://code.example.org") as client:
                return await client.request(method, f"/api/v1/server{path}", **options)

        return asyncio.run(run())

    return send
