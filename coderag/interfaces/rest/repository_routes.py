"""Routes for repositories and their index status."""

from functools import partial

from fastapi import APIRouter, Response

from coderag import __version__
from coderag.errors import UnknownRepositoryError
from coderag.interfaces.json_values import encode_json
from coderag.interfaces.rest.bodies import RootBody
from coderag.interfaces.rest.parameters import RootParameter
from coderag.interfaces.rest.replies import ForgottenReply, HealthReply, RepositoriesReply
from coderag.interfaces.rest.request_runner import JSON_TYPE, RequestRunner, RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.schema.indexing import IndexStatus
from coderag.workspace.workspace import KnownRepository

router = APIRouter(route_class=StrictRoute, tags=["repositories"])


@router.get("/health", response_model=HealthReply, summary="Check the health of the server")
async def health() -> Response:
    """Return the health and version of the server."""
    return Response(encode_json(HealthReply("ok", __version__)), media_type=JSON_TYPE)


@router.get("/repositories", response_model=RepositoriesReply, summary="List the known repositories")
async def repositories(runner: RunnerDependency) -> Response:
    """List the repositories opened or indexed on this machine, last used first."""
    return await runner.reply(lambda: RepositoriesReply(runner.workspace.list_repositories()), is_long=True)


@router.post("/repositories", response_model=KnownRepository, summary="Open a repository")
async def open_repository(body: RootBody, runner: RunnerDependency) -> Response:
    """Open a repository, so that its first query is fast. Nothing is indexed."""
    return await runner.reply(partial(_open, runner, body.root), is_long=True)


@router.delete("/repositories", response_model=ForgottenReply, summary="Forget a repository")
async def forget_repository(root: RootParameter, runner: RunnerDependency) -> Response:
    """Close a repository and remove it from the known ones; its index stays."""
    return await runner.reply(partial(_forget, runner, root), is_long=True)


@router.get("/status", response_model=IndexStatus, summary="Get the index status")
async def status(root: RootParameter, runner: RunnerDependency) -> Response:
    """Return the index status of a repository, with the files that differ on disk."""
    return await runner.reply(partial(_read_status, runner, root), is_long=True)


def _open(runner: RequestRunner, root: str) -> KnownRepository:
    with runner.hold_repository(root) as repository:
        listed = (entry for entry in runner.workspace.list_repositories() if entry.root == repository.place)
        unlisted = KnownRepository(
            repository.name, repository.place, "", is_open=True, is_indexed=repository.is_indexed
        )
        return next(listed, unlisted)


def _read_status(runner: RequestRunner, root: str) -> IndexStatus:
    with runner.hold_repository(root) as repository:
        return repository.engine.status()


def _forget(runner: RequestRunner, root: str) -> ForgottenReply:
    if not runner.workspace.forget(runner.resolve_root(root)):
        raise UnknownRepositoryError(f"unknown repository {root[:80]!r}", hint="GET /api/v1/repositories lists them.")
    return ForgottenReply(known=True)
