"""The process of the team server, from its start to its end."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, cast

from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from coderag.errors import ConfigurationError
from coderag.interfaces.serve.http_servers import HttpServers
from coderag.interfaces.serve.options import is_loopback
from coderag.interfaces.serve.sockets import open_network_socket
from coderag.interfaces.server.app import TeamApp
from coderag.interfaces.server.observability import Observability
from coderag.server.context import ServerContext, open_server
from coderag.server.logs import configure_logs
from coderag.server.settings import ServerSettings
from coderag.system.process_memory import limit_heaps

_SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGBREAK")

_log = logging.getLogger(__name__)


def serve(settings: ServerSettings, announce: Callable[[str], None]) -> None:
    """Serve until a signal, and finish requests in flight.

    Args:
        settings: Settings of the server.
        announce: Called with the address when it is being served.

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
        asyncio.run(_run(server, announce))
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


async def _run(server: ServerContext, announce: Callable[[str], None]) -> None:
    settings, stopping = server.settings, asyncio.Event()
    app = TeamApp(server, stopping)
    listener = open_network_socket(settings.host, settings.port)
    observed = Observability(app, server, app.identify)
    trusted = list(settings.trusted_proxies)
    # uvicorn and Starlette have types of their own for ASGI, which do not fit one another.
    servers = HttpServers(cast("ASGIApp", ProxyHeadersMiddleware(cast("Any", observed), trusted)))
    async with app.run_lifespan(), _handle_signals(stopping):
        server.jobs.start()
        servers.start(listener, settings.tls_cert, settings.tls_key)
        scheme = "https" if settings.tls_cert else "http"
        announce(settings.public_url or f"{scheme}://{settings.host}:{listener.getsockname()[1]}")
        await stopping.wait()
        _log.info("shutting down")
        observed.readiness.drain()
        await servers.finish()


@asynccontextmanager
async def _handle_signals(stopping: asyncio.Event) -> AsyncIterator[None]:
    """End gracefully on the usual signals."""
    loop = asyncio.get_running_loop()
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    previous = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(stopping.set))
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
