"""Server-sent events: a reply that streams until its source ends or the client disconnects."""

import asyncio
import math
from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import aclosing, suppress
from typing import Any, Final, Generic, TypeVar

from fastapi.responses import Response
from starlette.types import Message, Receive, Scope, Send

from coderag.interfaces.rest.request_runner import make_timeout_error

EVENT_TYPE: Final = "text/event-stream"

_KEEP_ALIVE_COMMENT = b": keep-alive\n\n"
_KEEP_ALIVE_S = 15.0
"""Seconds without an event before a comment is sent, so that proxies do not close the connection."""

_Event = TypeVar("_Event")
_Result = TypeVar("_Result")


class ClientGoneError(Exception):
    """The client has disconnected. Not an error."""


def encode_event(name: str, data: bytes) -> bytes:
    """Encode an event; its JSON data must have no line ends."""
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


def is_event_stream(message: Message) -> bool:
    """Return whether the start of a reply announces a stream of events."""
    return any(
        name.lower() == b"content-type" and value.startswith(EVENT_TYPE.encode())
        for name, value in message.get("headers", ())
    )


def describe_events(models: Mapping[str, str]) -> dict[str, Any]:
    """Build the OpenAPI description of a stream.

    Args:
        models: Name of the data model by name of the event.
    """
    events = [
        {
            "type": "object",
            "required": ["event", "data"],
            "properties": {
                "event": {"const": name},
                "data": {
                    "type": "string",
                    "contentMediaType": "application/json",
                    "contentSchema": {"$ref": f"#/components/schemas/{model}"},
                },
            },
        }
        for name, model in models.items()
    ]
    return {EVENT_TYPE: {"schema": {"type": "object", "description": "Each event.", "oneOf": events}}}


async def run_unless_gone(
    receive: Receive, coroutine: Coroutine[Any, Any, _Result], timeout_s: float | None = None
) -> _Result:
    """Run a coroutine; cancel it if the client disconnects or the timeout is over.

    Args:
        receive: ASGI receive of the request, whose body has been read.
        coroutine: The coroutine to run.
        timeout_s: Timeout in seconds; None for none.

    Raises:
        ClientGoneError: The client has disconnected.
        TimeoutError: The timeout is over.
    """
    run_task, watch_task = asyncio.create_task(coroutine), asyncio.create_task(_wait_for_disconnect(receive))
    try:
        await asyncio.wait({run_task, watch_task}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if run_task.done():
            return run_task.result()
        raise ClientGoneError if watch_task.done() else TimeoutError
    finally:
        run_task.cancel()
        watch_task.cancel()
        await asyncio.gather(run_task, watch_task, return_exceptions=True)


class EventFeed(Generic[_Event]):
    """Events of a generator that runs in a separate task until it ends or the feed is closed.

    One task runs it completely, because it may hold context variables between events.

    Args:
        events: The generator.
    """

    def __init__(self, events: AsyncGenerator[_Event]) -> None:
        self._queue: deque[_Event] = deque()
        self._has_news = asyncio.Event()
        self._task = asyncio.create_task(self._collect(events))
        self._task.add_done_callback(lambda _: self._has_news.set())

    async def is_ready(self, timeout_s: float) -> bool:
        """Wait for an event or the end of the run; return False on timeout."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._has_news.wait(), timeout_s)
        return self._has_news.is_set()

    def take(self) -> _Event | None:
        """Return the next event of a ready feed; None if the run has ended. Raises what the run raises."""
        if not self._queue:
            self._task.result()
            return None
        event = self._queue.popleft()
        if not self._queue and not self._task.done():
            self._has_news.clear()
        return event

    async def close(self) -> None:
        """Cancel the run and wait for its cleanup."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _collect(self, events: AsyncGenerator[_Event]) -> None:
        async with aclosing(events) as steps:
            async for step in steps:
                self._queue.append(step)
                self._has_news.set()


class EventStream(Response):
    """A response of server-sent events, which ends early if its client disconnects.

    Args:
        events: Each as `encode_event` returns it.
    """

    media_type = EVENT_TYPE

    def __init__(self, events: AsyncGenerator[bytes]) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        del scope
        with suppress(ClientGoneError, OSError):  # sending to a closed connection is an OSError
            await run_unless_gone(receive, self._send(send))

    async def _send(self, send: Send) -> None:
        async with aclosing(self._events) as events:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async for event in events:
                await send({"type": "http.response.body", "body": event, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def keep_alive(feed: EventFeed[Any], silence_s: float = math.inf) -> AsyncGenerator[bytes]:
    """Yield keep-alive comments until the feed is ready.

    Raises:
        ServiceError: The timeout is over.
    """
    wait_s, silent_s = min(_KEEP_ALIVE_S, silence_s), 0.0
    while not await feed.is_ready(wait_s):
        silent_s += wait_s
        if silent_s >= silence_s:
            raise make_timeout_error(silence_s)
        yield _KEEP_ALIVE_COMMENT


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
