"""The service process, from its start to its end."""

import asyncio
import logging
import os
import secrets
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from filelock import Timeout

from coderag import __version__
from coderag.engine.graph_loader import load_query_graph
from coderag.errors import ServiceError
from coderag.interfaces.mcp.framing import MAX_LINE_BYTES
from coderag.interfaces.mcp.line_session import serve_lines
from coderag.interfaces.serve.activity import Activity
from coderag.interfaces.serve.asgi import compose
from coderag.interfaces.serve.hosts import KnownHosts
from coderag.interfaces.serve.http_servers import HttpServers
from coderag.interfaces.serve.log_file import trim_log
from coderag.interfaces.serve.options import ServeOptions
from coderag.interfaces.serve.rate_limit import RateLimit
from coderag.interfaces.serve.request_guard import GuardRules, RequestGuard
from coderag.interfaces.serve.sockets import LocalSocket, open_local_socket, open_network_socket
from coderag.interfaces.serve.web_listener import load_session_key, open_web_socket
from coderag.interfaces.web.sessions import WebSessions
from coderag.service.discovery import ensure_runtime_folder, read_address, remove_address, remove_stale, write_address
from coderag.service.environment import compute_fingerprint
from coderag.service.launcher import make_service_lock
from coderag.service.service_address import ServiceAddress
from coderag.system.process_memory import limit_heaps, trim_heap
from coderag.workspace.jobs import ENDED_STATES
from coderag.workspace.workspace import Workspace, WorkspaceOptions

_CLOSE_TIMEOUT_S: Final = 10.0
"""Seconds that the workspace has to close before the process exits anyway."""

_CHECK_INTERVAL_S: Final = 5.0
"""Maximum seconds between two checks of whether the service is still in use."""

_log = logging.getLogger(__name__)


class AlreadyServedError(Exception):
    """Another service of this user is running."""


@dataclass(slots=True)
class _Sockets:
    """Listening sockets of the service."""

    http: LocalSocket
    mcp: LocalSocket
    network: socket.socket | None

    @property
    def are_reachable(self) -> bool:
        """Return whether the socket files are still in place."""
        return self.http.is_reachable and self.mcp.is_reachable

    def remove(self) -> None:
        """Close all sockets and remove their files."""
        self.http.remove()
        self.mcp.remove()
        if self.network is not None:
            self.network.close()


def serve(
    options: ServeOptions, announce: Callable[[ServiceAddress], None], *, token: str = "", log: Path | None = None
) -> None:
    """Serve until a signal, a stop request or the end of the idle time, and clean up.

    Args:
        options: Options of the service.
        announce: Called when everything is being served.
        token: Token that clients need; empty generates one.
        log: Log file of the process, truncated when it grows.

    Raises:
        AlreadyServedError: Another service of this user lives.
        ServiceError: An address is not available.
        ConfigurationError: The options are invalid.
    """
    options.check()
    limit_heaps()
    lock = make_service_lock()
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise AlreadyServedError from error
    try:
        remove_stale()
        service = Service(options, token or secrets.token_urlsafe(32), log)
        asyncio.run(service.run(announce))
    finally:
        lock.release()


class Service:
    """A running service.

    Args:
        options: Options of the service.
        token: Token that clients need.
        log: As in `serve`.
    """

    def __init__(self, options: ServeOptions, token: str, log: Path | None = None) -> None:
        self._options = options
        self._token = token
        self._log_file = log
        self._activity = Activity()
        self._session_tasks: set[asyncio.Task[None]] = set()
        self._sessions = WebSessions(load_session_key())
        self._web_lock = asyncio.Lock()

    async def run(self, announce: Callable[[ServiceAddress], None]) -> None:
        """Serve. Raises as `serve`."""
        self._stopping = asyncio.Event()
        options = WorkspaceOptions(self._options.allowed_roots, self._options.max_repositories, self._options.watch)
        workspace = Workspace(options)
        sockets: _Sockets | None = None
        try:
            sockets = self._open_sockets()
            async with self._handle_signals(), self._serve_sockets(workspace, sockets):
                self._address = self._build_address(sockets)
                write_address(self._address)
                announce(self._address)
                warming = asyncio.create_task(asyncio.to_thread(load_query_graph))
                await self._wait_for_stop(workspace, sockets)
                warming.cancel()
                remove_address(os.getpid())  # first, so that no new client comes
        finally:
            remove_address(os.getpid())
            if sockets is not None:
                sockets.remove()
            _schedule_exit()
            await asyncio.to_thread(workspace.close)

    def _open_sockets(self) -> _Sockets:
        folder, unix = ensure_runtime_folder(), self._options.unix_sockets
        http = open_local_socket(folder, "http.sock", unix=unix)
        try:
            mcp = open_local_socket(folder, "mcp.sock", unix=unix)
            try:
                network = open_network_socket(self._options.host, self._options.port) if self._options.host else None
            except ServiceError:
                mcp.remove()
                raise
        except ServiceError:
            http.remove()
            raise
        return _Sockets(http, mcp, network)

    def _build_address(self, sockets: _Sockets) -> ServiceAddress:
        is_unix = self._options.unix_sockets
        url = ""
        if sockets.network is not None:
            host, port = self._options.host, sockets.network.getsockname()[1]
            url = f"{self._options.scheme}://{f'[{host}]' if ':' in host.strip('[]') else host}:{port}"
        return ServiceAddress(
            pid=os.getpid(),
            version=__version__,
            http=sockets.http.address if is_unix else f"http://{sockets.http.address}",
            mcp=sockets.mcp.address if is_unix else f"tcp:{sockets.mcp.address}",
            token=self._token,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            environment=compute_fingerprint(),
            url=url,
            request_s=self._options.request_s,
        )

    @asynccontextmanager
    async def _handle_signals(self) -> AsyncIterator[None]:
        """Stop the service gracefully on the usual signals."""
        loop = asyncio.get_running_loop()
        names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]
        previous_handlers = {number: signal.getsignal(number) for number in (getattr(signal, name) for name in names)}
        for number in previous_handlers:
            # Windows has no signal handlers of event loops.
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(self._stopping.set))
        try:
            yield
        finally:
            for number, handler in previous_handlers.items():
                signal.signal(number, handler)

    @asynccontextmanager
    async def _serve_sockets(self, workspace: Workspace, sockets: _Sockets) -> AsyncIterator[None]:
        """Serve on all sockets until the block ends; then finish requests in flight."""
        app = compose(
            workspace,
            self._activity,
            request_s=self._options.request_s,
            tools=self._options.tools,
            stop=self._stopping.set,
            sessions=self._sessions,
            open_web=lambda port: self._open_web(servers, sockets, port),
        )
        # One guard for all servers: they share rate limit, activity and token.
        options, hosts = self._options, KnownHosts(self._options.host)
        # The app times out first, with a better message.
        rules = GuardRules(self._token, hosts, options.request_s + 5, sessions=self._sessions)
        guard = RequestGuard(app.app, rules, RateLimit(options.requests_per_minute), self._activity, self._stopping)
        servers = HttpServers(guard)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(app.run_lifespan())
            stack.push_async_callback(servers.finish)
            servers.start(sockets.http.socket)
            if sockets.network is not None:
                servers.start(sockets.network, options.tls_cert, options.tls_key)
            await stack.enter_async_context(self._serve_mcp_sessions(workspace, sockets.mcp.socket))
            yield
            self._stopping.set()

    async def _open_web(self, servers: HttpServers, sockets: _Sockets, port: int | None) -> str:
        """Serve the web interface on the loopback, unless the network address serves it already.

        Args:
            port: Port; 0 takes a free one, None the usual one, or a free one if that is taken.

        Raises:
            ServiceError: The port is not available, or the interface is open on another one.
        """
        async with self._web_lock:
            if sockets.network is None:
                sockets.network = open_web_socket(port)
                servers.start(sockets.network)
                self._address = replace(self._address, url=f"http://127.0.0.1:{sockets.network.getsockname()[1]}")
                write_address(self._address)
            elif port and port != sockets.network.getsockname()[1]:
                raise ServiceError(
                    f"the service already listens on {self._address.url}", hint="Leave out --port, or restart it."
                )
            return self._address.url

    @asynccontextmanager
    async def _serve_mcp_sessions(self, workspace: Workspace, listener: socket.socket) -> AsyncIterator[None]:
        """Serve MCP sessions until the block ends; calls in flight then fail as retryable."""

        async def serve_session(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._session_tasks.add(task)
            try:
                with self._activity.count_session():
                    await serve_lines(workspace, reader, writer, token=self._token)
            finally:
                self._session_tasks.discard(task)

        start = asyncio.start_unix_server if self._options.unix_sockets else asyncio.start_server
        server = await start(serve_session, sock=listener, limit=MAX_LINE_BYTES)
        try:
            yield
        finally:
            server.close()
            for task in list(self._session_tasks):
                task.cancel()
            await asyncio.gather(*self._session_tasks, return_exceptions=True)

    async def _wait_for_stop(self, workspace: Workspace, sockets: _Sockets) -> None:
        """Wait until the service should end."""
        idle_s = self._options.idle_minutes * 60
        interval_s = min(_CHECK_INTERVAL_S, idle_s / 4) if idle_s else _CHECK_INTERVAL_S
        while not self._stopping.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), interval_s)
            if self._log_file is not None:
                trim_log(self._log_file)
            if self._activity.idle_s <= interval_s:
                await asyncio.to_thread(trim_heap)
            if not self._stopping.is_set() and not _is_discoverable(sockets, self._address):
                _log.warning("the address file of this service is gone or belongs to another one: shutting down")
                return
            if any(job.view.state not in ENDED_STATES for job in workspace.list_jobs()):
                self._activity.reset_idle()
            elif idle_s and self._activity.idle_s >= idle_s:
                _log.info("shutting down after %s idle minutes", self._options.idle_minutes)
                return


def _is_discoverable(sockets: _Sockets, address: ServiceAddress) -> bool:
    """Return whether commands find this service; a missing address file is written again.

    The system removes a runtime directory when its user logs out; another service may be started then.
    """
    published = read_address()
    if not sockets.are_reachable or (published is not None and published.pid != address.pid):
        return False
    if published is None:
        with suppress(ServiceError):  # retried at the next check
            write_address(address)
    return True


def _schedule_exit() -> None:
    """Exit the process even if a thread hangs: nothing is written only at the end."""
    timer = threading.Timer(_CLOSE_TIMEOUT_S, os._exit, (0,))
    timer.daemon = True
    timer.start()
