"""Backends of ``coderag mcp``: the running service, or a server in this process. Imports nothing slow."""

import json
import logging
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from coderag.errors import CodeRAGError, ServiceError
from coderag.interfaces.mcp.framing import MAX_LINE_BYTES, LineCutter
from coderag.service.discovery import find_service, is_service_alive
from coderag.service.http import connect
from coderag.service.service_address import ServiceAddress

if TYPE_CHECKING:
    from coderag.config.sections import ServiceSettings  # slow, too
    from coderag.workspace.workspace import Workspace

logger = logging.getLogger(__name__)

CONNECT_TIMEOUT_S: Final = 5.0
"""Seconds within which a service must accept a connection and reply to the hello."""

AUTOSTART_TIMEOUT_S: Final = 15.0
"""Seconds that a freshly started service may take to reply."""

CLOSE_TIMEOUT_S: Final = 0.5
"""Seconds that the server of this process has to end; its remaining work is discarded."""

_READ_BYTES: Final = 1 << 16
_POLL_INTERVAL_S: Final = 0.05


class BackendError(Exception):
    """The backend cannot be reached."""


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Options of a session.

    Attributes:
        root: Default repository of calls; absolute.
        tools: Tools that the client gets.
        allowed_roots: Folders in or below which repositories may lie; empty allows any folder that may be indexed.
        use_service: Whether to use the running service.
    """

    root: Path
    tools: Literal["all", "single"] = "all"
    allowed_roots: tuple[Path, ...] = ()
    use_service: bool = True


class Backend:
    """A line-based connection to an MCP server.

    Args:
        connection: Connection to the server, before the hello.
        name: Name of the backend for messages.
        is_healthy: Checks whether the server still works, if the connection alone does not show it, as with a stopped
            process.
    """

    def __init__(self, connection: socket.socket, name: str, is_healthy: Callable[[], bool] | None = None) -> None:
        self.name = name
        self.is_healthy = is_healthy
        self.has_ended = threading.Event()
        self.end_reason = ""
        """Reason why the connection ended, if known."""
        self._connection = connection
        self._cutter = LineCutter(MAX_LINE_BYTES)
        self._buffered_lines: list[bytes] = []

    def begin_session(self, options: SessionOptions, token: str = "") -> None:
        """Send the hello and wait for the reply; close the connection on failure.

        Raises:
            BackendError: The server rejects the client.
        """
        try:
            self._send_hello(options, token)
        except BackendError:
            self._connection.close()
            raise

    def _send_hello(self, options: SessionOptions, token: str) -> None:
        hello = {"coderag": 1, "token": token, "root": str(options.root), "tools": options.tools}
        try:
            self._connection.sendall(json.dumps(hello).encode("ascii") + b"\n")
            answer: Any = json.loads(self._read_first_line())
        except (OSError, ValueError) as error:
            raise BackendError(f"no answer to the hello: {error}") from error
        if not isinstance(answer, dict) or answer.get("ok") is not True:
            raise BackendError(str(answer.get("error") if isinstance(answer, dict) else answer))
        self._connection.settimeout(None)

    def send(self, line: bytes) -> None:
        """Send a line. If that fails, `read_lines` ends."""
        try:
            self._connection.sendall(line + b"\n")
        except OSError:
            self.close()

    def read_lines(self) -> list[bytes]:
        """Wait for lines and return them; an empty list at the end. Only one thread may call this."""
        while not self._buffered_lines:
            try:
                data = self._connection.recv(_READ_BYTES)
            except OSError:
                data = b""
            if not data:
                self.has_ended.set()
                self._connection.close()
                break
            self._buffered_lines = [line for line in self._cutter.cut(data) if line is not None]
        lines, self._buffered_lines = self._buffered_lines, []
        return lines

    def close(self) -> None:
        """End the connection, and with it `read_lines`."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def _read_first_line(self) -> bytes:
        first, *self._buffered_lines = self.read_lines() or [b""]
        if not first:
            raise BackendError(self.end_reason or "it has ended")
        return first


class LocalServer:
    """The server in this process. Its slow parts are imported on first use, in a separate thread.

    Args:
        options: Options of its sessions.
    """

    def __init__(self, options: SessionOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._current_workspace: Workspace | None = None
        self._thread: threading.Thread | None = None

    def connect(self) -> Backend:
        """Open a session.

        Raises:
            BackendError: It cannot be opened, such as when a part of the installation is missing.
        """
        client_end, server_end = socket.socketpair()
        backend = Backend(client_end, "the server in this process")
        self._thread = threading.Thread(target=self._run, args=(server_end, backend), name="mcp-server", daemon=True)
        self._thread.start()
        backend.begin_session(self._options)
        return backend

    def close(self) -> bool:
        """Close the repositories; return whether there was anything to close. Sessions must have ended."""
        if self._thread is not None:
            self._thread.join(CLOSE_TIMEOUT_S)
        # Without the lock: a thread that is creating the workspace holds it for seconds, with nothing to close yet.
        if self._current_workspace is not None:
            self._current_workspace.close()
        return self._thread is not None

    def _run(self, connection: socket.socket, backend: Backend) -> None:
        import asyncio  # noqa: PLC0415  # slow

        try:
            asyncio.run(self._serve(connection))
        except Exception as error:  # top of the thread: the client gets the reason
            logger.warning("the MCP server in this process has ended", exc_info=error)
            backend.end_reason = f"{type(error).__name__}: {error}"
        finally:
            connection.close()

    async def _serve(self, connection: socket.socket) -> None:
        import asyncio  # noqa: PLC0415  # slow

        from coderag.interfaces.mcp.line_session import serve_lines  # noqa: PLC0415  # a second

        reader, writer = await asyncio.open_connection(sock=connection)
        await serve_lines(self._get_workspace, reader, writer, token=None)

    def _get_workspace(self) -> "Workspace":
        from coderag.workspace.workspace import Workspace, WorkspaceOptions  # noqa: PLC0415  # seconds

        with self._lock:
            if self._current_workspace is None:
                settings = load_service_settings(self._options.root)
                self._current_workspace = Workspace(
                    WorkspaceOptions(self._options.allowed_roots, settings.max_repositories, settings.watch)
                )
            return self._current_workspace


class BackendSelector:
    """Selector of the backend of a session: the service if it runs or may be started, else this process.

    Args:
        options: Options of the session.
    """

    def __init__(self, options: SessionOptions) -> None:
        self._options = options
        self._local = LocalServer(options)

    def connect(self) -> Backend:
        """Open a session.

        Raises:
            BackendError: No backend is available.
        """
        # A service enforces the folders that it was started with, not those of this session.
        if self._options.use_service and not self._options.allowed_roots:
            try:
                if (address := self._find_service()) is not None:
                    return connect_to_service(address, self._options)
            except BackendError as error:
                logger.warning("the service is not used: %s", error)
        return self._local.connect()

    def close(self) -> bool:
        """Close the server in this process; return whether it was in use. Sessions must have ended."""
        return self._local.close()

    def _find_service(self) -> ServiceAddress | None:
        address = find_service()
        if address is None and load_service_settings(self._options.root).autostart:
            from coderag.service.launcher import start_for_later  # noqa: PLC0415  # seldom needed

            start_for_later()
            deadline = time.monotonic() + AUTOSTART_TIMEOUT_S
            while address is None and time.monotonic() < deadline:
                time.sleep(_POLL_INTERVAL_S)
                address = find_service()
        return address


def load_service_settings(root: Path) -> "ServiceSettings":
    """Load the service settings of a repository; the defaults if its settings cannot be used."""
    from coderag.config.sections import ServiceSettings  # noqa: PLC0415  # slow, too
    from coderag.config.settings import Settings  # noqa: PLC0415  # half a second
    from coderag.config.trust import is_trusted  # noqa: PLC0415  # slow, too

    try:
        return Settings.load(root, trusted=is_trusted(root)).service
    except CodeRAGError as error:  # reported again by every call that needs them
        logger.warning("%s", error)
        return ServiceSettings()


def connect_to_service(address: ServiceAddress, options: SessionOptions) -> Backend:
    """Open a session with a service.

    Raises:
        BackendError: It does not reply, or rejects the client.
    """
    try:
        connection = connect(address.mcp, CONNECT_TIMEOUT_S)
    except ServiceError as error:
        raise BackendError(str(error)) from error
    backend = Backend(connection, "the service", lambda: is_service_alive(address))
    backend.begin_session(options, address.token)
    return backend
