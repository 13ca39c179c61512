"""MCP servers of the team server: one for each set of rights, so that no session ever sees those of others."""

import asyncio
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from coderag.interfaces.mcp.http import make_http
from coderag.interfaces.server.actions import TOOL_ACTIONS
from coderag.server.access.principal import Principal
from coderag.server.access.roles import ACTION_LEVELS, Level
from coderag.server.access.visible_workspace import VisibleWorkspace

_MAX_SERVERS: Final = 256
_IDLE_S: Final = 1_800.0

_START_TIMEOUT_S: Final = 30.0


@dataclass(slots=True)
class _RunningServer:
    """An MCP server whose lifespan runs in a task of its own."""

    app: Starlette
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    used_at: float = 0.0
    requests: int = 0
    task: "asyncio.Task[None] | None" = None

    async def run(self) -> None:
        async with self.app.router.lifespan_context(self.app):
            self.started.set()
            await self.stopping.wait()


class McpPool:
    """Pool of MCP servers. It belongs to one event loop.

    A change of a principal's rights leads to another server: sessions that began with the old rights end, and their
    clients begin anew, as the protocol has it.

    Args:
        clock: Seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._servers: dict[Hashable, _RunningServer] = {}  # least recently used first

    async def serve(
        self, principal: Principal, view: VisibleWorkspace, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serve a request of MCP as its principal may.

        Args:
            principal: The caller.
            view: The workspace as it sees it.
            scope, receive, send: As of ASGI.
        """
        server = await self._get(principal, view)
        server.requests += 1
        try:
            await server.app(scope, receive, send)
        finally:
            server.requests -= 1
            server.used_at = self._clock()

    async def close(self) -> None:
        """End all servers."""
        servers = list(self._servers.values())
        self._servers.clear()
        await asyncio.gather(*map(_stop, servers))

    async def _get(self, principal: Principal, view: VisibleWorkspace) -> _RunningServer:
        key = principal.user_id, principal.credential_id, principal.role, principal.scopes, view.fingerprint
        server = self._servers.pop(key, None)
        if server is None or (server.task is not None and server.task.done()):
            server = _RunningServer(
                make_http(view, tools=list_tools(principal), allowed_hosts=None)
            )  # the app checks names
            server.task = asyncio.create_task(server.run(), name="mcp server")
        self._servers[key] = server
        server.used_at = self._clock()
        await asyncio.wait_for(server.started.wait(), _START_TIMEOUT_S)
        await self._evict()
        return server

    async def _evict(self) -> None:
        """End servers that were not used for long, and the least recently used ones beyond the limit."""
        now, excess = self._clock(), len(self._servers) - _MAX_SERVERS
        idle = [key for key, server in self._servers.items() if not server.requests]
        expired = [key for key in idle if self._servers[key].used_at < now - _IDLE_S]
        surplus = idle[: max(0, excess)]
        for key in dict.fromkeys([*expired, *surplus]):
            await _stop(self._servers.pop(key))


def list_tools(principal: Principal) -> frozenset[str]:
    """Return the names of the tools that a principal may call; those that need more than reading, on some repository."""
    return frozenset(
        tool
        for tool, action in TOOL_ACTIONS.items()
        if principal.may(action)
        and (
            ACTION_LEVELS[action] is Level.READ
            or max(principal.repository_levels.values(), default=Level.NONE) >= ACTION_LEVELS[action]
        )
    )


async def _stop(server: _RunningServer) -> None:
    server.stopping.set()
    if server.task is not None:
        with suppress(Exception):  # its end concerns nobody any more
            await server.task
