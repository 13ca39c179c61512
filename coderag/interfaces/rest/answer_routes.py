"""Routes for answers: as one reply, or as events while they are written."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any, Final, cast

from fastapi import APIRouter, Request, Response

from coderag.errors import CodeRAGError
from coderag.interfaces.json_values import encode_json
from coderag.interfaces.rest.bodies import AskBody
from coderag.interfaces.rest.event_stream import (
    EVENT_TYPE,
    ClientGoneError,
    EventFeed,
    EventStream,
    describe_events,
    encode_event,
    keep_alive,
    run_unless_gone,
)
from coderag.interfaces.rest.problems import Problem, build_internal_problem, to_problem
from coderag.interfaces.rest.request_runner import JSON_TYPE, RequestRunner, RunnerDependency, make_timeout_error
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.schema.answers import Answer, AnswerEvent

router = APIRouter(route_class=StrictRoute, tags=["answers"])

_CLIENT_GONE_STATUS = 499
"""Status of nginx for a disconnected client; it appears only in the log."""

_ASK_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The answer. With `Accept: text/event-stream` a stream of events: `stage` for each step; `draft` with"
        " unchecked output of the language model; `text` with the next part of the checked answer, which replaces the drafts"
        " since the last one; finally the whole `answer` or an `error`.",
        "content": describe_events(
            {**dict.fromkeys(("stage", "draft", "text", "answer"), AnswerEvent.__name__), "error": Problem.__name__}
        ),
    }
}


@router.post("/ask", response_model=Answer, responses=_ASK_RESPONSES, summary="Answer a question, with citations")
async def ask(body: AskBody, request: Request, runner: RunnerDependency) -> Response:
    """Answer a question; each claim is checked against the cited lines on disk.

    A language model writes the answer if the repository's settings name one. With `Accept: text/event-stream` the reply
    is a stream of events. A disconnected client cancels the work.
    """
    if EVENT_TYPE in request.headers.get("accept", ""):
        return await _stream_answer(body, runner)
    try:
        answer = await run_unless_gone(request.receive, _answer(body, runner), runner.request_s)
    except TimeoutError as error:
        raise make_timeout_error(runner.request_s) from error
    except ClientGoneError:
        return Response(status_code=_CLIENT_GONE_STATUS)
    return Response(await runner.run(partial(encode_json, answer)), media_type=JSON_TYPE)


async def _answer(body: AskBody, runner: RequestRunner) -> Answer:
    async with runner.hold_answer_slot(body.root) as repository:
        return await repository.engine.aask(body.query, token_budget=body.token_budget, filters=body.to_filters())


async def _stream_answer(body: AskBody, runner: RequestRunner) -> Response:
    """Return the events of an answer.

    A failure before the first event is an error with a status, as without a stream.
    """
    feed = EventFeed(_generate_events(body, runner))
    try:
        if not await feed.is_ready(runner.request_s):
            raise make_timeout_error(runner.request_s)
        first = feed.take()
    except BaseException:
        await feed.close()
        raise
    return EventStream(_encode_events(feed, first, runner.request_s))


async def _generate_events(body: AskBody, runner: RequestRunner) -> AsyncGenerator[AnswerEvent]:
    async with runner.hold_answer_slot(body.root) as repository:
        stream = repository.engine.astream(body.query, token_budget=body.token_budget, filters=body.to_filters())
        async with aclosing(cast("AsyncGenerator[AnswerEvent]", stream)) as events:
            async for event in events:
                yield event


async def _encode_events(
    feed: EventFeed[AnswerEvent], event: AnswerEvent | None, silence_s: float
) -> AsyncGenerator[bytes]:
    """Yield events as bytes; a stream that is silent for too long ends with an error."""
    try:
        while event is not None:
            yield encode_event(event.kind, encode_json(event))
            async for comment in keep_alive(feed, silence_s):
                yield comment
            event = feed.take()
    except CodeRAGError as error:
        yield encode_event("error", encode_json(to_problem(error)))
    except Exception as error:  # noqa: BLE001  # boundary of the stream: the status has been sent
        yield encode_event("error", encode_json(build_internal_problem(error)))
    finally:
        await feed.close()
