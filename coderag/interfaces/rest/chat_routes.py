"""Routes for conversations with follow-up questions."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Annotated, Any, Final, Literal, cast

from fastapi import APIRouter, Query, Response
from fastapi.responses import PlainTextResponse

from coderag.engine.chat import Approval, Chat
from coderag.errors import UnknownNameError
from coderag.interfaces.json_values import encode_json
from coderag.interfaces.rest.chat_bodies import ChatBody, ThreadParameter, ThreadReply, ThreadsReply, TurnsReply
from coderag.interfaces.rest.event_replies import stream_reply
from coderag.interfaces.rest.event_stream import EventStream, describe_events
from coderag.interfaces.rest.parameters import RootParameter
from coderag.interfaces.rest.problems import Problem
from coderag.interfaces.rest.replies import ForgottenReply
from coderag.interfaces.rest.request_runner import JSON_TYPE, RequestRunner, RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.schema.answers import AnswerEvent

router = APIRouter(route_class=StrictRoute, tags=["answers"], prefix="/chat")

_MAX_THREADS: Final = 500

_ChatEvent = AnswerEvent | Approval | ThreadReply

_CHAT_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events: `thread` with the id of the conversation, then as of `/ask`; or an `approval` where the"
        " prompt needs one, after which the stream ends.",
        "content": describe_events(
            {
                "thread": ThreadReply.__name__,
                **dict.fromkeys(("stage", "draft", "text", "answer"), AnswerEvent.__name__),
                "approval": Approval.__name__,
                "error": Problem.__name__,
            }
        ),
    }
}


@router.post(
    "", status_code=200, response_class=EventStream, responses=_CHAT_RESPONSES, summary="Ask in a conversation"
)
async def chat(body: ChatBody, runner: RunnerDependency) -> Response:
    """Answer a question of a conversation as a stream of events; earlier turns say what `it` and `there` mean.

    A disconnected client cancels the work; the conversation then keeps the question without an answer.
    """
    return await stream_reply(_generate_events(body, runner), _get_event_name, runner.request_s)


@router.get("", response_model=ThreadsReply, summary="List conversations")
async def threads(root: RootParameter, runner: RunnerDependency) -> Response:
    """List the stored conversations of a repository, last used first, at most 500."""
    return await runner.reply(partial(_list_threads, runner, root))


@router.get("/{thread}", response_model=TurnsReply, summary="Read a conversation")
async def turns(thread: ThreadParameter, root: RootParameter, runner: RunnerDependency) -> Response:
    """Return the turns of a conversation; none if there is no such one."""
    async with runner.hold_answer_slot(root) as repository:
        conversation = repository.engine.chat(thread)
        reply = TurnsReply(
            repository.place,
            conversation.thread,
            await conversation.read_turns(),
            await conversation.find_unanswered(),
        )
    return Response(encode_json(reply), media_type=JSON_TYPE)


@router.get("/{thread}/export", response_class=PlainTextResponse, summary="Export a conversation")
async def export(
    thread: ThreadParameter,
    root: RootParameter,
    runner: RunnerDependency,
    format: Annotated[Literal["markdown", "json"], Query(description="Format of the text.")] = "markdown",  # noqa: A002
) -> Response:
    """Return a conversation as Markdown or JSON."""
    text = await runner.run(partial(_export, runner, root, thread, format))
    return PlainTextResponse(text, media_type="text/markdown" if format == "markdown" else JSON_TYPE)


@router.delete("/{thread}", response_model=ForgottenReply, summary="Delete a conversation")
async def delete(thread: ThreadParameter, root: RootParameter, runner: RunnerDependency) -> Response:
    """Delete a conversation permanently."""
    return await runner.reply(partial(_delete, runner, root, thread))


def _list_threads(runner: RequestRunner, root: str) -> ThreadsReply:
    with runner.hold_repository(root) as repository:
        infos = repository.engine.open_chat_threads().list()
        return ThreadsReply(repository.place, infos[:_MAX_THREADS], len(infos))


def _export(runner: RequestRunner, root: str, thread: str, export_format: Literal["markdown", "json"]) -> str:
    with runner.hold_repository(root) as repository:
        return repository.engine.open_chat_threads().export(thread, export_format)


def _delete(runner: RequestRunner, root: str, thread: str) -> ForgottenReply:
    with runner.hold_repository(root) as repository:
        if not repository.engine.open_chat_threads().delete(thread):
            raise UnknownNameError(f"unknown conversation {thread!r}", hint="GET /api/v1/chat lists them.")
    return ForgottenReply(known=True)


async def _generate_events(body: ChatBody, runner: RequestRunner) -> AsyncGenerator[_ChatEvent]:
    async with runner.hold_answer_slot(body.root) as repository:
        conversation: Chat = repository.engine.chat(body.thread)
        yield ThreadReply(conversation.thread)
        stream = conversation.astream(body.text, approve=body.approve)
        async with aclosing(cast("AsyncGenerator[AnswerEvent | Approval]", stream)) as events:
            async for event in events:
                yield event


def _get_event_name(event: _ChatEvent) -> str:
    if isinstance(event, AnswerEvent):
        return event.kind
    return "approval" if isinstance(event, Approval) else "thread"
