"""Replacement of the app of a running server when its settings change, without losing a request."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from coderag.interfaces.server.app import TeamApp
from coderag.server.access.principal import Principal
from coderag.server.audit.retention_timer import RetentionTimer
from coderag.server.context import ServerContext
from coderag.server.settings import ServerSettings

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Generation:
    """An app with the services that it was made of."""

    server: ServerContext
    app: TeamApp
    ending: asyncio.Event
    started: asyncio.Event = field(default_factory=asyncio.Event)
    is_done: asyncio.Event = field(default_factory=asyncio.Event)
    is_idle: asyncio.Event = field(default_factory=asyncio.Event)
    requests: int = 0
    task: "asyncio.Task[None] | None" = None

    async def run(self) -> None:
        """Run the lifespan and the retention of the audit until the last request has ended."""
        retention = RetentionTimer(self.server.audit)
        retention.start()
        try:
            async with self.app.run_lifespan():
                self.started.set()
                await self.is_done.wait()
        finally:
            await run_in_threadpool(retention.close)


class ReloadableApp:
    """ASGI app of a server whose settings may change. It belongs to one event loop.

    Args:
        server: Services of the process.
    """

    def __init__(self, server: ServerContext) -> None:
        self._current = _make_generation(server)
        self._retired: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request by the settings in force when it began."""
        generation = self._current
        generation.requests += 1
        generation.is_idle.clear()
        try:
            await generation.app(scope, receive, send)
        finally:
            generation.requests -= 1
            if not generation.requests:
                generation.is_idle.set()

    async def identify(self, scope: Scope) -> Principal | None:
        """Return the principal of a request. Raises as `RequestAuthenticator.identify`."""
        return await self._current.app.identify(scope)

    async def start(self) -> None:
        """Start the app."""
        await _start(self._current)

    async def reload(self, settings: ServerSettings) -> None:
        """Apply what can be applied of new settings, and log what needs a restart.

        Endless streams end, so that their clients begin them anew; other requests are finished.

        Raises:
            ConfigurationError: A setting cannot be used; those in force stay.
        """
        previous = self._current
        server, delayed = await run_in_threadpool(previous.server.with_settings, settings)
        current = _make_generation(server)
        await _start(current)
        self._current = current
        retirement = asyncio.create_task(self._finish_generation(previous))
        self._retired.add(retirement)
        retirement.add_done_callback(self._retired.discard)
        _log.info("the settings were read again")
        if delayed:
            _log.warning("these settings have changed and need a restart: %s", ", ".join(delayed))

    def end_streams(self) -> None:
        """End endless streams, so that nothing but requests in flight is waited for."""
        self._current.ending.set()

    async def close(self) -> None:
        """End the app, and those before it."""
        for retirement in list(self._retired):
            retirement.cancel()
        await _stop(self._current)

    async def _finish_generation(self, generation: _Generation) -> None:
        """End an app after its last request."""
        generation.ending.set()
        try:
            if generation.requests:
                await asyncio.wait_for(generation.is_idle.wait(), generation.server.settings.limits.request_s)
        except TimeoutError:
            _log.warning("%s requests of the last settings were cut off", generation.requests)
        finally:
            await _stop(generation)
            await run_in_threadpool(generation.server.limits.close)


def _make_generation(server: ServerContext) -> _Generation:
    ending = asyncio.Event()
    return _Generation(server, TeamApp(server, ending), ending)


async def _start(generation: _Generation) -> None:
    generation.task = asyncio.create_task(generation.run(), name="team app")
    started = asyncio.create_task(generation.started.wait())
    await asyncio.wait({generation.task, started}, return_when=asyncio.FIRST_COMPLETED)
    started.cancel()
    if generation.task.done():
        generation.task.result()  # raises what has ended it


async def _stop(generation: _Generation) -> None:
    generation.is_done.set()
    if generation.task is not None:
        with suppress(asyncio.CancelledError):
            await generation.task
