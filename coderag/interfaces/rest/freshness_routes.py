"""Routes for the freshness of an index: the edits that it lacks, once or as a stream of events."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from fastapi import APIRouter, Response

from coderag.errors import CodeRAGError, StoreError
from coderag.interfaces.json_values import encode_json
from coderag.interfaces.rest.event_stream import EventFeed, EventStream, describe_events, encode_event, keep_alive
from coderag.interfaces.rest.parameters import RootParameter
from coderag.interfaces.rest.problems import Problem, to_problem
from coderag.interfaces.rest.request_runner import RequestRunner, RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.stores.pointer import read_pointer
from coderag.workspace.engines import get_index_folder
from coderag.workspace.jobs import ENDED_STATES
from coderag.workspace.repository import OpenRepository
from coderag.workspace.repository_watch import stream_changes

WATCH_PATH: Final = "/api/v1/freshness/events"
"""Path of the stream, which is no activity of the service."""

_MAX_PATHS: Final = 200
_CHECK_INTERVAL_S: Final = 5.0
"""Seconds between two checks for what sends no event, such as an index that another process wrote."""

_MIN_EVENT_INTERVAL_S: Final = 0.3

router = APIRouter(route_class=StrictRoute, tags=["repositories"], prefix="/freshness")


@dataclass(frozen=True, slots=True)
class IndexFreshness:
    """IndexFreshness of an index.

    Attributes:
        is_open: Whether the repository is open; edits are detected only then.
        is_watched: Whether edits are followed and indexed by themselves.
        generation: Number of the generation; 0 without an index.
        created: Commit time of the generation, ISO 8601; empty without an index.
        edited: First files that differ from the index: edited, new or deleted. Searches read them from disk.
        edited_count: Number of all of them.
        job: Id of the queued or running indexing job; empty without one.
        changes: Kinds of the events since the last state: `edited`, `generation`, `job`, `closed`.
    """

    root: str
    is_open: bool
    is_watched: bool
    generation: int
    created: str
    edited: Sequence[str]
    edited_count: int
    job: str
    changes: Sequence[str] = ()


_EVENT_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events `state` with the freshness, at once and on every change, or a final `error`.",
        "content": describe_events({"state": IndexFreshness.__name__, "error": Problem.__name__}),
    }
}


@router.get("", response_model=IndexFreshness, summary="Get the edits that an index lacks")
async def freshness(root: RootParameter, runner: RunnerDependency) -> Response:
    """Return the files that are known to differ from the index, and the running job."""
    return await runner.reply(partial(_read_open, runner, root), is_long=True)


@router.get(
    "/events",
    status_code=200,
    response_class=EventStream,
    responses=_EVENT_RESPONSES,
    summary="Follow the freshness of an index",
)
async def freshness_events(root: RootParameter, runner: RunnerDependency) -> Response:
    """Stream the freshness of a repository on every change, until the client disconnects or the service ends.

    The stream keeps neither the service alive nor the repository open.
    """
    state = await runner.run(partial(_read_open, runner, root), is_long=True)
    return EventStream(_encode_states(runner, state))


async def _encode_states(runner: RequestRunner, state: IndexFreshness) -> AsyncGenerator[bytes]:
    feed = EventFeed(_follow(runner, state))
    try:
        while True:
            async for comment in keep_alive(feed):
                yield comment
            if (event := feed.take()) is None:
                return
            yield encode_event("state", encode_json(event))
    except CodeRAGError as error:
        yield encode_event("error", encode_json(to_problem(error)))
    finally:
        await feed.close()


async def _follow(runner: RequestRunner, state: IndexFreshness) -> AsyncGenerator[IndexFreshness]:
    """Yield the state whenever it changes or an event is sent."""
    yield state
    async with aclosing(stream_changes(runner.workspace, state.root, _CHECK_INTERVAL_S)) as changes:
        async for kinds in changes:
            current = await runner.run(partial(_read_state, runner, state.root), is_long=True)
            if kinds or current != state:
                yield replace(current, changes=sorted(kinds))
                await asyncio.sleep(_MIN_EVENT_INTERVAL_S)
            state = current


def _read_open(runner: RequestRunner, root: str) -> IndexFreshness:
    """Open a repository, and read its state."""
    with runner.hold_repository(root) as repository:
        return _build_state(repository)


def _read_state(runner: RequestRunner, root: str) -> IndexFreshness:
    """Read the state of a repository if it is open."""
    repository = runner.workspace.find_open(root)
    if repository is None:
        return IndexFreshness(
            root, is_open=False, is_watched=False, generation=0, created="", edited=(), edited_count=0, job=""
        )
    repository.check_generation()
    return _build_state(repository)


def _build_state(repository: OpenRepository) -> IndexFreshness:
    try:
        pointer = read_pointer(get_index_folder(repository.engine))
        edited = repository.engine.list_edited() if pointer else []
    except StoreError:  # the other routes report it
        pointer, edited = None, []
    job = repository.job
    return IndexFreshness(
        root=repository.place,
        is_open=True,
        is_watched=repository.is_watched,
        generation=pointer.generation if pointer else 0,
        created=pointer.created if pointer else "",
        edited=edited[:_MAX_PATHS],
        edited_count=len(edited),
        job=job.id if job and job.view.state not in ENDED_STATES else "",
    )
