"""Requests in flight: their time and size limits, and the end of endless streams."""

import asyncio
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coderag.errors import ServiceError
from coderag.interfaces.rest.event_stream import is_event_stream
from coderag.interfaces.rest.problems import Problem, to_problem, to_response
from coderag.interfaces.serve.refusals import build_problem


class BoundedRequests:
    """ASGI middleware that limits the time and the body of requests.

    Args:
        app: The app.
        request_s: Seconds that a request may take, or until an event stream begins.
        max_body_bytes: Maximum body size of a request.
        stopping: Set when the server ends: endless streams are ended.
    """

    def __init__(self, app: ASGIApp, request_s: float, max_body_bytes: int, stopping: asyncio.Event) -> None:
        self._app = app
        self._request_s = request_s
        self._max_body_bytes = max_body_bytes
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request within the limits."""
        exchange = _Exchange(scope, receive, send, self._max_body_bytes)
        end_task = asyncio.create_task(self._end_stream(exchange, asyncio.current_task()))
        try:
            async with asyncio.timeout(self._request_s) as exchange.timeout:
                await self._app(scope, exchange.receive, exchange.send)
        except TimeoutError:
            message = f"the request exceeded its timeout of {self._request_s:,.0f} s"
            await exchange.refuse(to_problem(ServiceError(message, hint="Reduce the work of the request.")))
        except HTTPException as error:  # from an app that does not convert it to a response
            await exchange.refuse(build_problem(HTTPStatus(error.status_code), error.detail))
        except asyncio.CancelledError:
            if exchange.was_ended:
                await exchange.end_stream()
            elif self._stopping.is_set() and not exchange.has_begun:  # the grace period is over
                await exchange.refuse(to_problem(make_ending_error()))
            else:
                raise
        finally:
            end_task.cancel()

    async def _end_stream(self, exchange: "_Exchange", task: "asyncio.Task[object] | None") -> None:
        """End an endless event stream when the service ends; other requests are finished."""
        await self._stopping.wait()
        if task is not None and exchange.is_open_stream:
            exchange.was_ended = True
            task.cancel()


class _Exchange:
    """A request and its reply, with a body limit and the state of the reply.

    Args:
        scope: ASGI scope of the request.
        receive: ASGI receive of the request.
        send: ASGI send of the reply.
        max_body_bytes: Maximum size of the body.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, max_body_bytes: int) -> None:
        self.timeout: asyncio.Timeout | None = None
        self.was_ended = False
        self._scope = scope
        self._receive = receive
        self._send = send
        self._max_body_bytes = max_body_bytes
        self._body_bytes_left = max_body_bytes
        self.has_begun = False
        self._is_stream = False

    @property
    def is_open_stream(self) -> bool:
        """Return whether the reply is an endless event stream."""
        return self._is_stream and self._scope["method"] == "GET"

    async def receive(self) -> Message:
        """Receive the next part of the request."""
        message = await self._receive()
        self._body_bytes_left -= len(message.get("body", b""))
        if self._body_bytes_left < 0:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, format_too_large(self._max_body_bytes))
        return message

    async def send(self, message: Message) -> None:
        """Forward a part of the reply. A started stream has no timeout."""
        if message["type"] == "http.response.start":
            self.has_begun = True
            self._is_stream = is_event_stream(message)
            if self._is_stream and self.timeout is not None:
                self.timeout.reschedule(None)
        await self._send(message)

    async def refuse(self, problem: Problem) -> None:
        """Reply with an error; abort a reply that has already begun."""
        if self.has_begun:
            raise ConnectionAbortedError(problem.detail)
        await to_response(problem)(self._scope, self._receive, self._send)

    async def end_stream(self) -> None:
        """End a stream gracefully."""
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def make_ending_error() -> ServiceError:
    """Make the error of a request that comes while the server ends."""
    return ServiceError("the service is shutting down", hint="Try again in a moment.")


def format_too_large(max_bytes: int) -> str:
    """Format the message for a body that is too large."""
    return f"the body has more than {max_bytes:,} bytes"
