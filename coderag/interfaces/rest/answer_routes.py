"""Routes for answers: as one reply, or as events while they are written."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from operator import attrgetter
from typing import Any, Final, cast

from fastapi import APIRouter, Request, Response

from coderag.interfaces.json_values import encode_json
from coderag.interfaces.rest.bodies import AskBody
from coderag.interfaces.rest.event_replies import stream_reply
from coderag.interfaces.rest.event_stream import (
    EVENT_TYPE,
    ClientGoneError,
    describe_events,
    run_unless_gone,
)
from coderag.interfaces.rest.problems import Problem
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
        return await stream_reply(_generate_events(body, runner), attrgetter("kind"), runner.request_s)
    try:
        answer = await run_unless_gone(request.receive, _answer(body, runner), runner.request_s)
    except TimeoutError as error:
        raise make_timeout_error(runner.request_s) from error
    except ClientGoneError:
        return Response(status_code=_CLIENT_GONE_STATUS)
    return Response(await runner.run(partial(encode_json, answer)), media_type=JSON_TYPE)


async def _answer(body: AskBody, runner: RequestRunner) -> Answer:
    async with runner.hold_answer_slot(body.root) as repository:
        started = time.perf_counter()
        answer = await repository.engine.aask(body.query, token_budget=body.token_budget, filters=body.to_filters())
        runner.recorder.record(repository, "ask", body, answer, started)
        return answer


async def _generate_events(body: AskBody, runner: RequestRunner) -> AsyncGenerator[AnswerEvent]:
    async with runner.hold_answer_slot(body.root) as repository:
        started = time.perf_counter()
        stream = repository.engine.astream(body.query, token_budget=body.token_budget, filters=body.to_filters())
        async with aclosing(cast("AsyncGenerator[AnswerEvent]", stream)) as events:
            async for event in events:
                if event.answer is not None:
                    runner.recorder.record(repository, "ask", body, event.answer, started)
                yield event
