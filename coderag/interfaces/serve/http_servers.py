"""HTTP servers of the service's app, each on a socket of its own."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from coderag.interfaces.serve.connections import BoundedConnection

_GRACEFUL_SHUTDOWN_S: Final = 20
"""Seconds that requests in flight have to finish when the service ends."""


class HttpServers:
    """HTTP servers of one app, each on a socket of its own.

    Args:
        app: The guarded app.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._servers: list[uvicorn.Server] = []
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, listener: socket.socket, cert: Path | None = None, key: Path | None = None) -> None:
        """Start to serve on a socket, with TLS if there is a certificate."""
        server = _HttpServer(_make_config(self._app, cert, key))
        self._servers.append(server)
        self._tasks.append(asyncio.create_task(server.serve(sockets=[listener])))

    async def finish(self) -> None:
        """Finish the requests in flight, and end."""
        for server in self._servers:
            server.should_exit = True
        await asyncio.gather(*self._tasks, return_exceptions=True)


class _HttpServer(uvicorn.Server):
    """HTTP server that leaves signals to the service."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers."""
        yield


def _make_config(app: ASGIApp, cert: Path | None = None, key: Path | None = None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=BoundedConnection,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=_GRACEFUL_SHUTDOWN_S,
        h11_max_incomplete_event_size=65_536,
        ssl_certfile=cert,
        ssl_keyfile=key,
    )
