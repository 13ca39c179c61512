"""ASGI app of the REST interface."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from operator import attrgetter
from typing import Final

from fastapi import APIRouter, FastAPI

from coderag import __version__
from coderag.interfaces.rest import (
    answer_routes,
    browse_routes,
    change_routes,
    chat_routes,
    feedback_routes,
    freshness_routes,
    graph_routes,
    graph_view_routes,
    history_routes,
    index_routes,
    item_routes,
    playground_routes,
    projection_routes,
    query_routes,
    replay_routes,
    repository_routes,
    search_routes,
    settings_routes,
    statistics_routes,
)
from coderag.interfaces.rest.openapi import DESCRIPTION, TAGS, TITLE, build_openapi
from coderag.interfaces.rest.problems import install_handlers
from coderag.interfaces.rest.request_runner import RequestRunner
from coderag.workspace.workspace_view import WorkspaceView

PREFIX: Final = "/api/v1"


def make_app(workspace: WorkspaceView, *, request_s: float = 120, routers: Sequence[APIRouter] = ()) -> FastAPI:
    """Make the REST interface to the repositories of a workspace, served below ``/api/v1``.

    It checks no token: wrap it where others can reach it. It can be served once, as its threads end with its lifespan.
    The workspace stays open.

    Args:
        workspace: The repositories; it decides which folders may be opened.
        request_s: Seconds that a request may take, or that an event stream may be silent.
        routers: Further routes, such as those of an administration; one description has all.
    """
    runner = RequestRunner(workspace, request_s)

    @asynccontextmanager
    async def run_lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        runner.close()

    app = FastAPI(
        title=TITLE,
        version=__version__,
        description=DESCRIPTION,
        openapi_tags=TAGS,
        docs_url=None,  # its page loads scripts from a CDN
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=attrgetter("name"),
        lifespan=run_lifespan,
    )
    app.state.runner = runner
    install_handlers(app)
    for module in (
        search_routes,
        playground_routes,
        feedback_routes,
        browse_routes,
        answer_routes,
        chat_routes,
        graph_view_routes,
        graph_routes,
        repository_routes,
        index_routes,
        query_routes,
        item_routes,
        statistics_routes,
        freshness_routes,
        settings_routes,
        replay_routes,
        projection_routes,
        history_routes,
        change_routes,
    ):
        app.include_router(module.router, prefix=PREFIX)
    for router in routers:
        app.include_router(router, prefix=PREFIX)
    app.openapi = partial(build_openapi, app)  # type: ignore[method-assign]  # as FastAPI documents it
    return app
