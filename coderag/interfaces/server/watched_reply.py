"""Replies that take long: they end when their caller loses the account, the credential or the rights it began with."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.types import Message, Receive, Scope, Send

from coderag.errors import AuthenticationError, CodeRAGError
from coderag.interfaces.json_values import encode_json
from coderag.interfaces.rest.event_stream import encode_event, is_event_stream
from coderag.interfaces.rest.problems import respond, to_problem
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Level

CHECK_INTERVAL_S: Final = 1.0
"""Seconds of a reply after which the rights of its caller are read again."""


class WatchedReply:
    """A reply whose parts are withheld once its caller has lost rights. It belongs to the task that makes it.

    Args:
        principal: The caller.
        reload: Loads the principal as it is now; raises `AuthenticationError` if it has ended.
        send: ASGI send of the reply.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        principal: Principal,
        reload: Callable[[Principal], Principal],
        send: Send,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.was_ended = False
        self._principal = principal
        self._reload = reload
        self._send = send
        self._clock = clock
        self._checked_at = clock()
        self._task = asyncio.current_task()
        self._has_begun = False
        self._is_event_stream = False

    async def send(self, message: Message) -> None:
        """Send a part of the reply, unless the caller has lost rights by now: then cancel the task."""
        if self._clock() >= self._checked_at + CHECK_INTERVAL_S and not await self._has_rights():
            self.was_ended = True
            if self._task is not None:
                self._task.cancel()
            await asyncio.Event().wait()  # until the cancellation arrives, which may come by a group of tasks
        if message["type"] == "http.response.start":
            self._has_begun = True
            self._is_event_stream = is_event_stream(message)
        await self._send(message)

    async def finish(self, scope: Scope, receive: Receive) -> None:
        """End the reply after its task was cancelled: with a status, or with an event ``error`` in a stream of events.

        Raises:
            ConnectionAbortedError: The reply has begun and has no place for an error, so its client must not take it
                for complete.
        """
        if self._task is not None:
            self._task.uncancel()
        error = AuthenticationError("your rights have changed meanwhile", hint="Send the request again.")
        if not self._has_begun:
            await respond(error)(scope, receive, self._send)
        elif self._is_event_stream:
            # The last event may have been sent by half, which the empty line ends.
            event = b"\n\n" + encode_event("error", encode_json(to_problem(error)))
            await self._send({"type": "http.response.body", "body": event, "more_body": False})
        else:
            raise ConnectionAbortedError("the rights of the caller have changed")

    async def _has_rights(self) -> bool:
        try:
            current = await run_in_threadpool(self._reload, self._principal)
        except AuthenticationError:
            return False
        except CodeRAGError:
            return True  # the database is away: it says nothing, and is asked again with the next part
        self._checked_at = self._clock()
        return not has_lost_rights(self._principal, current)


def has_lost_rights(before: Principal, now: Principal) -> bool:
    """Return whether a principal may do less than before. New rights, as on a repository that was added, are no loss."""
    levels = ((before.repository_levels, now.repository_levels), (before.source_levels, now.source_levels))
    return (
        before.role is not now.role
        or not before.scopes <= now.scopes
        or (before.sees_all_sources and not now.sees_all_sources)
        or any(new.get(key, Level.NONE) < level for old, new in levels for key, level in old.items())
    )
