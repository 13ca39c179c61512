"""The repositories, and what is indexed of them."""

from functools import partial

from fastapi import APIRouter, Response

from coderag import __version__
from coderag.errors import UnknownNameError
from coderag.interfaces._plain import json_bytes
from coderag.interfaces.rest.bodies import RootBody
from coderag.interfaces.rest.parameters import RootParameter
from coderag.interfaces.rest.replies import ForgottenReply, HealthReply, RepositoriesReply
from coderag.interfaces.rest.strict import StrictRoute
from coderag.interfaces.rest.work import JSON_TYPE, Work, WorkOf
from coderag.schema.indexing import IndexStatus
from coderag.workspace.workspace import KnownRepository

router = APIRouter(route_class=StrictRoute, tags=["repositories"])


@router.get("/health", response_model=HealthReply, summary="Tell that the server works")
async def health() -> Response:
    """Tell that the server works, and which version of CodeRAG it is."""
    return Response(json_bytes(HealthReply("ok", __version__)), media_type=JSON_TYPE)


@router.get("/repositories", response_model=RepositoriesReply, summary="List the known repositories")
async def repositories(work: WorkOf) -> Response:
    """List the repositories that were opened or indexed on this machine, the last used first."""
    return await work.reply(lambda: RepositoriesReply(work.workspace.known()), is_long=True)


@router.post("/repositories", response_model=KnownRepository, summary="Open a repository")
async def open_repository(body: RootBody, work: WorkOf) -> Response:
    """Open a repository, so that the first question about it is answered fast. Nothing is indexed."""
    return await work.reply(partial(_opened, work, body.root), is_long=True)


@router.delete("/repositories", response_model=ForgottenReply, summary="Forget a repository")
async def forget_repository(root: RootParameter, work: WorkOf) -> Response:
    """Close a repository and strike it from the known ones; its index stays."""
    return await work.reply(partial(_forgotten, work, root), is_long=True)


@router.get("/status", response_model=IndexStatus, summary="Tell what is indexed")
async def status(root: RootParameter, work: WorkOf) -> Response:
    """Tell what is indexed of a repository, and what on disk differs from it."""
    return await work.reply(partial(_status, work, root), is_long=True)


def _opened(work: Work, root: str) -> KnownRepository:
    with work.using(root) as one:
        listed = (known for known in work.workspace.known() if known.root == str(one.root))
        unlisted = KnownRepository(one.name, str(one.root), "", is_open=True, is_indexed=one.is_indexed)
        return next(listed, unlisted)


def _status(work: Work, root: str) -> IndexStatus:
    with work.using(root) as one:
        return one.engine.status()


def _forgotten(work: Work, root: str) -> ForgottenReply:
    if not work.workspace.forget(work.place(root)):
        raise UnknownNameError(f"no repository is known as {root[:80]!r}", hint="GET /api/v1/repositories lists them.")
    return ForgottenReply(known=True)
