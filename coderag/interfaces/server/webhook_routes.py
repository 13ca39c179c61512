"""Route of webhooks, by which git servers report pushes."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.server.access.roles import Action
from coderag.server.webhooks import MAX_BODY_BYTES, WebhookReceiver

ROUTE_ACTIONS: Final[Mapping[str, Action]] = MappingProxyType({"POST /hooks/{repository_id}": Action.PUBLIC})
"""Action of each route; the secret of the repository proves the sender."""

router = APIRouter(route_class=StrictRoute, tags=["webhooks"])


class WebhookReply(BaseModel):
    """Reply to a delivery."""

    job_id: str | None = Field(
        description="Job that fetches the push; null for a repeated delivery, another branch or event."
    )


@router.post("/hooks/{repository_id}", status_code=202)
async def receive_webhook(repository_id: str, request: Request) -> WebhookReply:
    """Take a push event of GitHub, GitLab or Gitea, and queue a job that fetches it.

    The secret of the webhook signs a delivery of GitHub and Gitea; GitLab sends it along. A wrong signature and an unknown
    repository have the same reply.
    """
    announced = request.headers.get("content-length", "")
    if announced.isascii() and announced.isdigit() and int(announced[:20]) > MAX_BODY_BYTES:
        raise _build_too_large()
    server: Any = request.app.state.server
    receiver = WebhookReceiver(server.database, server.master_key, server.queue)
    headers = dict(request.headers)
    reader = await run_in_threadpool(receiver.open, repository_id, headers)
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise _build_too_large()
        reader.feed(part)
    outcome = await run_in_threadpool(reader.finish)
    request.state.audit_detail = {"job": outcome.job_id or ""}
    return WebhookReply(job_id=outcome.job_id)


def _build_too_large() -> HTTPException:
    return HTTPException(413, f"the body has more than {MAX_BODY_BYTES:,} bytes")
