"""Answers: as one reply, or as events while they are written."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any, Final, cast

from fastapi import APIRouter, Request, Response

from coderag.errors import CodeRAGError
from coderag.interfaces._plain import json_bytes
from coderag.interfaces.rest.bodies import AskBody
from coderag.interfaces.rest.event_stream import (
    EVENT_TYPE,
    ClientGoneError,
    EventFeed,
    EventStream,
    describe_events,
    event_bytes,
    keep_alive,
    unless_gone,
)
from coderag.interfaces.rest.problems import Problem, internal_problem, problem_of
from coderag.interfaces.rest.strict import StrictRoute
from coderag.interfaces.rest.work import JSON_TYPE, Work, WorkOf, too_long
from coderag.schema.answers import Answer, AnswerEvent

router = APIRouter(route_class=StrictRoute, tags=["answers"])

_CLIENT_GONE = 499
"""As of nginx; nobody sees it but the log."""

_REPLIES: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The answer; with `Accept: text/event-stream` the events of its making: `stage` for each step; `draft`,"
        " the language model's words, not checked yet; `text`, the next part of the checked answer, which replaces the drafts"
        " since the last one; and last the whole `answer`, or an `error`.",
        "content": describe_events(
            {**dict.fromkeys(("stage", "draft", "text", "answer"), AnswerEvent.__name__), "error": Problem.__name__}
        ),
    }
}


@router.post("/ask", response_model=Answer, responses=_REPLIES, summary="Answer a question, with citations")
async def ask(body: AskBody, request: Request, work: WorkOf) -> Response:
    """Answer a question; each claim is checked against the lines that it cites, as they are on disk.

    A language model writes the answer if the repository's settings name one. With `Accept: text/event-stream` the reply is a
    stream of events while the answer is written. A client that goes away ends the work.
    """
    if EVENT_TYPE in request.headers.get("accept", ""):
        return await _streamed(body, work)
    try:
        answer = await unless_gone(request.receive, _answered(body, work), work.request_s)
    except TimeoutError as error:
        raise too_long(work.request_s) from error
    except ClientGoneError:
        return Response(status_code=_CLIENT_GONE)
    return Response(await work.run(partial(json_bytes, answer)), media_type=JSON_TYPE)


async def _answered(body: AskBody, work: Work) -> Answer:
    async with work.turn_to_ask(body.root) as one:
        return await one.engine.aask(body.query, token_budget=body.token_budget, filters=body.as_filters())


async def _streamed(body: AskBody, work: Work) -> Response:
    """Return the events of an answer. What fails before the first one is an error with a status, as without a stream."""
    feed = EventFeed(_written(body, work))
    try:
        if not await feed.is_ready(work.request_s):
            raise too_long(work.request_s)
        first = feed.take()
    except BaseException:
        await feed.close()
        raise
    return EventStream(_told(feed, first, work.request_s))


async def _written(body: AskBody, work: Work) -> AsyncGenerator[AnswerEvent]:
    async with work.turn_to_ask(body.root) as one:
        given = one.engine.astream(body.query, token_budget=body.token_budget, filters=body.as_filters())
        async with aclosing(cast("AsyncGenerator[AnswerEvent]", given)) as events:
            async for event in events:
                yield event


async def _told(feed: EventFeed[AnswerEvent], event: AnswerEvent | None, silence_s: float) -> AsyncGenerator[bytes]:
    """Yield events as bytes; the stream ends with an error if nothing comes for too long."""
    try:
        while event is not None:
            yield event_bytes(event.kind, json_bytes(event))
            async for comment in keep_alive(feed, silence_s):
                yield comment
            event = feed.take()
    except CodeRAGError as error:
        yield event_bytes("error", json_bytes(problem_of(error)))
    except Exception as error:  # noqa: BLE001  # the status has been sent: this is the boundary of a stream
        yield event_bytes("error", json_bytes(internal_problem(error)))
    finally:
        await feed.close()
