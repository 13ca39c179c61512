"""The process of the team server, from its start to its end."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, cast

from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from coderag.errors import CodeRAGError, ConfigurationError
from coderag.interfaces.serve.http_servers import HttpServers
from coderag.interfaces.serve.options import is_loopback
from coderag.interfaces.serve.sockets import open_network_socket
from coderag.interfaces.server.observability import Observability
from coderag.interfaces.server.reloading import ReloadableApp
from coderag.server.context import ServerContext, open_server
from coderag.server.logs import configure_logs
from coderag.server.run_files import build_local_address, record_process
from coderag.server.settings import ServerSettings
from coderag.system.process_memory import limit_heaps

_SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGBREAK", "SIGHUP")
_RELOAD_SIGNAL: Final = getattr(signal, "SIGHUP", -1)  # Windows has none

_log = logging.getLogger(__name__)


def serve(
    settings: ServerSettings, announce: Callable[[str], None], load_settings: Callable[[], ServerSettings]
) -> None:
    """Serve until a signal, and finish requests in flight. SIGHUP reads the settings again.

    Args:
        settings: Settings of the server.
        announce: Called with the address when it is being served.
        load_settings: Reads the settings again.

    Raises:
        ConfigurationError: A setting cannot be used, or `coderag server init` or `upgrade` is needed.
        ServiceError: The address is not available.
        DatabaseUnavailableError: The database does not answer.
    """
    _check(settings)
    limit_heaps()
    configure_logs()
    server = open_server(settings)
    try:
        asyncio.run(_run(server, announce, load_settings))
    finally:
        server.close()


def _check(settings: ServerSettings) -> None:
    if (settings.tls_cert is None) != (settings.tls_key is None):
        raise ConfigurationError("TLS needs a certificate and its key", hint="Set both tls_cert and tls_key.")
    is_encrypted = settings.tls_cert is not None or settings.public_url.startswith("https://")
    if not is_encrypted and not is_loopback(settings.host):
        hint = "Set tls_cert and tls_key, or public_url to the https address of a proxy."
        raise ConfigurationError(f"{settings.host} is reachable from the network without encryption", hint=hint)
    if settings.oidc.issuer and not settings.public_url:
        raise ConfigurationError("sign-in with a provider needs public_url", hint="Set the address that users see.")


async def _run(
    server: ServerContext, announce: Callable[[str], None], load_settings: Callable[[], ServerSettings]
) -> None:
    settings, signals = server.settings, asyncio.Queue[int]()
    app = ReloadableApp(server)
    listener = open_network_socket(settings.host, settings.port)
    observed = Observability(app, server, app.identify)
    trusted = list(settings.trusted_proxies)
    # uvicorn and Starlette have types of their own for ASGI, which do not fit one another.
    servers = HttpServers(cast("ASGIApp", ProxyHeadersMiddleware(cast("Any", observed), trusted)))
    port, is_encrypted = listener.getsockname()[1], settings.tls_cert is not None
    local_address = build_local_address(settings.host, port, is_encrypted=is_encrypted)
    async with _handle_signals(signals):
        await app.start()
        server.jobs.start()
        servers.start(listener, settings.tls_cert, settings.tls_key)
        with record_process(settings.data, local_address):
            announce(settings.public_url or f"{'https' if is_encrypted else 'http'}://{settings.host}:{port}")
            while await signals.get() == _RELOAD_SIGNAL:
                await _reload(app, load_settings)
        _log.info("shutting down")
        observed.readiness.drain()
        app.end_streams()
        await servers.finish()
        await app.close()


async def _reload(app: ReloadableApp, load_settings: Callable[[], ServerSettings]) -> None:
    try:
        settings = await asyncio.to_thread(load_settings)
        _check(settings)
        await app.reload(settings)
    except CodeRAGError as error:
        _log.error("the settings in force stay: %s %s", error, error.hint)


@asynccontextmanager
async def _handle_signals(signals: "asyncio.Queue[int]") -> AsyncIterator[None]:
    """Put the usual signals into a queue."""
    loop = asyncio.get_running_loop()
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    previous = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, lambda number, _: loop.call_soon_threadsafe(signals.put_nowait, number))
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
