"""Observability of the server: its app with ids, logs, metrics and spans, and the routes that monitoring asks."""

from functools import partial
from typing import Protocol

from starlette.types import ASGIApp, Receive, Scope, Send

from coderag.engine.telemetry import build_tracer
from coderag.interfaces.server.access_gate import AuditRecorder
from coderag.interfaces.server.health_routes import HEALTH_PATHS, HealthRoutes, Identify
from coderag.interfaces.server.observed_app import ObservedApp
from coderag.server.access.principal import Principal
from coderag.server.metrics import ServerMetrics
from coderag.server.readiness import Readiness, make_folder_check, make_key_check
from coderag.server.sealing import KEY_FILE_NAME
from coderag.server.settings import ServerSettings
from coderag.server.storage.database import Database
from coderag.server.storage.upgrade import check_revision


class ObservedServices(Protocol):
    """Services of a server, as monitoring sees them."""

    @property
    def settings(self) -> ServerSettings:
        """Settings in force."""
        ...

    @property
    def database(self) -> Database:
        """Database."""
        ...

    @property
    def metrics(self) -> ServerMetrics:
        """Metrics of this process."""
        ...

    @property
    def audit(self) -> AuditRecorder:
        """Audit record."""
        ...


class Observability:
    """ASGI app around that of a server: it observes every request, and answers those of monitoring itself.

    Args:
        app: App of the server.
        server: Its services.
        identify: Returns the caller of a request; None opens the metrics to their token only.

    Raises:
        ConfigurationError: Spans are configured, and their extra is not installed.
    """

    def __init__(self, app: ASGIApp, server: ObservedServices, identify: Identify | None = None) -> None:
        settings = server.settings
        self.readiness = Readiness(
            {
                "database": partial(_check_database, server.database),
                "key": make_key_check(settings.key_file or settings.data / KEY_FILE_NAME),
                "folder": make_folder_check(settings.data),
            }
        )
        routes = HealthRoutes(
            self.readiness, server.metrics, server.audit, identify or _identify_nobody, settings.metrics_token
        )
        self._app = app
        self._health = routes.make_app()
        self._observed = ObservedApp(self._dispatch, server.metrics, build_tracer(settings.telemetry))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        await self._observed(scope, receive, send)

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_health = scope["type"] == "http" and scope["path"] in HEALTH_PATHS
        await (self._health if is_health else self._app)(scope, receive, send)


def _check_database(database: Database) -> None:
    database.check()
    check_revision(database)


async def _identify_nobody(_: Scope) -> Principal | None:
    return None
