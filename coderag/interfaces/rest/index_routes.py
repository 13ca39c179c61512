"""Routes for indexing jobs: start, follow, cancel."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import fields
from functools import partial
from typing import Any, Final

from fastapi import APIRouter, Response

from coderag.errors import UnknownNameError
from coderag.interfaces.json_values import encode_json
from coderag.interfaces.rest.bodies import IndexBody
from coderag.interfaces.rest.event_stream import EventFeed, EventStream, describe_events, encode_event, keep_alive
from coderag.interfaces.rest.parameters import JobParameter, OptionalRootParameter
from coderag.interfaces.rest.replies import JobReply, JobsReply
from coderag.interfaces.rest.request_runner import RequestRunner, RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.workspace.jobs import ENDED_STATES, IndexJob, JobView
from coderag.workspace.progress import stream_views

router = APIRouter(route_class=StrictRoute, tags=["indexing"])

_MIN_EVENT_INTERVAL_S = 0.05
"""Minimum seconds between two events of a job; the last event is always sent."""

_EVENT_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events `job` with the state of the job; the stream ends with the job.",
        "content": describe_events({"job": JobReply.__name__}),
    }
}
_INDEX_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    202: {
        "description": "The job, new or already running.",
        "headers": {"Location": {"description": "Address of the job.", "schema": {"type": "string"}}},
    }
}


@router.post("/index", status_code=202, response_model=JobReply, responses=_INDEX_RESPONSES, summary="Update an index")
async def index(body: IndexBody, runner: RunnerDependency) -> Response:
    """Start to update the index of a repository, and return the job; a running job is joined.

    Only changed files are read and embedded. Searches use the previous index meanwhile.
    """
    job = await runner.run(partial(_start_job, runner, body), is_long=True)
    reply = await runner.reply(partial(_to_reply, runner, job), status=202)
    reply.headers["location"] = f"/api/v1/jobs/{job.id}"
    return reply


@router.get("/jobs", response_model=JobsReply, summary="List indexing jobs")
async def jobs(runner: RunnerDependency, root: OptionalRootParameter = None) -> Response:
    """List the indexing jobs since the server was started, newest first."""
    return await runner.reply(partial(_list_jobs, runner, root))


@router.get("/jobs/{job_id}", response_model=JobReply, summary="Get an indexing job")
async def job_status(job_id: JobParameter, runner: RunnerDependency) -> Response:
    """Return the state of an indexing job: its progress, its report or its error."""
    return await runner.reply(lambda: _to_reply(runner, _find_job(runner, job_id)))


@router.get(
    "/jobs/{job_id}/events",
    status_code=200,
    response_class=EventStream,
    responses=_EVENT_RESPONSES,
    summary="Follow an indexing job",
)
async def job_events(job_id: JobParameter, runner: RunnerDependency) -> Response:
    """Stream the state of an indexing job on every change, until it ends."""
    return EventStream(_encode_views(runner, _find_job(runner, job_id)))


@router.delete("/jobs/{job_id}", response_model=JobReply, summary="Cancel an indexing job")
async def cancel_job(job_id: JobParameter, runner: RunnerDependency) -> Response:
    """Cancel an indexing job; the index stays unchanged. A finished job is not affected."""
    return await runner.reply(partial(_cancel, runner, _find_job(runner, job_id)), is_long=True)


def _start_job(runner: RequestRunner, body: IndexBody) -> IndexJob:
    with runner.hold_repository(body.root) as repository:
        return repository.index(full=body.full)


def _find_job(runner: RequestRunner, job_id: str) -> IndexJob:
    if (job := runner.workspace.find_job(job_id)) is None:
        hint = "GET /api/v1/jobs lists the jobs since the server was started."
        raise UnknownNameError(f"unknown job {job_id!r}", hint=hint)
    return job


def _list_jobs(runner: RequestRunner, root: str | None) -> JobsReply:
    place = runner.workspace.get_place(runner.resolve_root(root)) if root else None
    replies = [_to_reply(runner, job) for job in runner.workspace.list_jobs()]
    return JobsReply([reply for reply in replies if place in (None, reply.root)])


def _cancel(runner: RequestRunner, job: IndexJob) -> JobReply:
    job.cancel()
    return _to_reply(runner, job)


def _to_reply(runner: RequestRunner, job: IndexJob) -> JobReply:
    view, error = job.view, job.error
    values = {field.name: getattr(view, field.name) for field in fields(JobView)}
    values["root"] = runner.workspace.get_place(view.root)
    return JobReply(**values, type=type(error).__name__ if error else "", retryable=bool(error and error.retryable))


async def _encode_views(runner: RequestRunner, job: IndexJob) -> AsyncGenerator[bytes]:
    feed = EventFeed(_sample_views(job))
    try:
        while True:
            async for comment in keep_alive(feed):
                yield comment
            if feed.take() is None:
                return
            yield encode_event("job", encode_json(_to_reply(runner, job)))
    finally:
        await feed.close()


async def _sample_views(job: IndexJob) -> AsyncGenerator[JobView]:
    """Yield the changing views of a job at a limited rate."""
    async with aclosing(stream_views(job)) as views:
        async for view in views:
            yield view
            if view.state not in ENDED_STATES:
                await asyncio.sleep(_MIN_EVENT_INTERVAL_S)
