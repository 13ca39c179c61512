"""Replies that stream the events of a generator, with its errors as events."""

from collections.abc import AsyncGenerator, Callable
from typing import TypeVar

from coderag.errors import CodeRAGError
from coderag.interfaces.json_values import encode_json
from coderag.interfaces.rest.event_stream import EventFeed, EventStream, encode_event, keep_alive
from coderag.interfaces.rest.problems import build_internal_problem, to_problem
from coderag.interfaces.rest.request_runner import make_timeout_error

_Event = TypeVar("_Event")


async def stream_reply(
    events: AsyncGenerator[_Event], get_name: Callable[[_Event], str], silence_s: float
) -> EventStream:
    """Return a reply with the events of a generator.

    A failure before the first event is an error with a status; later ones are events ``error``.

    Args:
        events: The events; each is encoded as JSON.
        get_name: Returns the name of an event.
        silence_s: Maximum seconds until the first event, and between two.

    Raises:
        ServiceError: There is no event in time. Otherwise what the generator raises before its first event.
    """
    feed = EventFeed(events)
    try:
        if not await feed.is_ready(silence_s):
            raise make_timeout_error(silence_s)
        first = feed.take()
    except BaseException:
        await feed.close()
        raise
    return EventStream(_encode_events(feed, first, get_name, silence_s))


async def _encode_events(
    feed: EventFeed[_Event], event: _Event | None, get_name: Callable[[_Event], str], silence_s: float
) -> AsyncGenerator[bytes]:
    """Yield events as bytes; a stream that is silent for too long ends with an error."""
    try:
        while event is not None:
            yield encode_event(get_name(event), encode_json(event))
            async for comment in keep_alive(feed, silence_s):
                yield comment
            event = feed.take()
    except CodeRAGError as error:
        yield encode_event("error", encode_json(to_problem(error)))
    except Exception as error:  # noqa: BLE001  # boundary of the stream: the status has been sent
        yield encode_event("error", encode_json(build_internal_problem(error)))
    finally:
        await feed.close()
