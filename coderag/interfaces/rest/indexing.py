"""Runs of indexing: begun, watched and cancelled."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import fields
from functools import partial
from typing import Any, Final

from fastapi import APIRouter, Response

from coderag.errors import UnknownNameError
from coderag.interfaces._plain import json_bytes
from coderag.interfaces.rest.bodies import IndexBody
from coderag.interfaces.rest.event_stream import EventFeed, EventStream, describe_events, event_bytes, keep_alive
from coderag.interfaces.rest.parameters import JobParameter, SomeRootParameter
from coderag.interfaces.rest.replies import JobReply, JobsReply
from coderag.interfaces.rest.strict import StrictRoute
from coderag.interfaces.rest.work import Work, WorkOf
from coderag.workspace.following import views_of
from coderag.workspace.jobs import ENDED, IndexJob, JobView

router = APIRouter(route_class=StrictRoute, tags=["indexing"])

_PACE_S = 0.05
"""Between two events of a job at least, however fast it goes; the last one always comes."""

_EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events `job`, each with how the job stands; the stream ends with the job.",
        "content": describe_events({"job": JobReply.__name__}),
    }
}
_BEGUN: Final[dict[int | str, dict[str, Any]]] = {
    202: {
        "description": "The job, begun or under way already.",
        "headers": {"Location": {"description": "Where the job tells how it stands.", "schema": {"type": "string"}}},
    }
}


@router.post("/index", status_code=202, response_model=JobReply, responses=_BEGUN, summary="Bring an index up to date")
async def index(body: IndexBody, work: WorkOf) -> Response:
    """Begin to bring the index of a repository up to date, and return the job; the one that is under way, if there is one.

    Only what changed is read and embedded. Searches go on meanwhile, with the index as it was.
    """
    job = await work.run(partial(_begun, work, body), is_long=True)
    reply = await work.reply(partial(_reply_of, job), status=202)
    reply.headers["location"] = f"/api/v1/jobs/{job.id}"
    return reply


@router.get("/jobs", response_model=JobsReply, summary="List the runs of indexing")
async def jobs(work: WorkOf, root: SomeRootParameter = None) -> Response:
    """List the runs of indexing since the server was started, the last begun first."""
    return await work.reply(partial(_jobs, work, root))


@router.get("/jobs/{job_id}", response_model=JobReply, summary="Tell how a run of indexing stands")
async def job_status(job_id: JobParameter, work: WorkOf) -> Response:
    """Tell how a run of indexing stands: how far it is, what it did, or what went wrong."""
    return await work.reply(lambda: _reply_of(_job(work, job_id)))


@router.get(
    "/jobs/{job_id}/events",
    status_code=200,
    response_class=EventStream,
    responses=_EVENTS,
    summary="Follow a run of indexing",
)
async def job_events(job_id: JobParameter, work: WorkOf) -> Response:
    """Tell how a run of indexing stands, and again whenever that changes, until it ends."""
    return EventStream(_told(_job(work, job_id)))


@router.delete("/jobs/{job_id}", response_model=JobReply, summary="Cancel a run of indexing")
async def cancel_job(job_id: JobParameter, work: WorkOf) -> Response:
    """End a run of indexing; the index stays what it was. Nothing happens if the run has ended."""
    return await work.reply(partial(_cancelled, _job(work, job_id)), is_long=True)


def _begun(work: Work, body: IndexBody) -> IndexJob:
    with work.using(body.root) as one:
        return one.index(full=body.full)


def _job(work: Work, job_id: str) -> IndexJob:
    if (job := work.workspace.job(job_id)) is None:
        hint = "GET /api/v1/jobs lists those since the server was started."
        raise UnknownNameError(f"there is no job {job_id!r}", hint=hint)
    return job


def _jobs(work: Work, root: str | None) -> JobsReply:
    place = os.path.realpath(work.place(root)) if root else None
    return JobsReply([_reply_of(job) for job in work.workspace.jobs() if place in (None, job.view.root)])


def _cancelled(job: IndexJob) -> JobReply:
    job.cancel()
    return _reply_of(job)


def _reply_of(job: IndexJob) -> JobReply:
    view, error = job.view, job.error
    values = {field.name: getattr(view, field.name) for field in fields(JobView)}
    return JobReply(**values, type=type(error).__name__ if error else "", retryable=bool(error and error.retryable))


async def _told(job: IndexJob) -> AsyncGenerator[bytes]:
    feed = EventFeed(_views(job))
    try:
        while True:
            async for comment in keep_alive(feed):
                yield comment
            if feed.take() is None:
                return
            yield event_bytes("job", json_bytes(_reply_of(job)))
    finally:
        await feed.close()


async def _views(job: IndexJob) -> AsyncGenerator[JobView]:
    """Yield how a job stands, and again when that has changed, not too often."""
    async with aclosing(views_of(job)) as views:
        async for view in views:
            yield view
            if view.state not in ENDED:
                await asyncio.sleep(_PACE_S)
