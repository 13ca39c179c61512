"""Routes for queries to the code graph."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Response

from coderag.interfaces.rest.bodies import CyclesBody, HotspotsBody, NeighboursBody, OutlineBody, PathBody
from coderag.interfaces.rest.replies import CyclesReply, HotspotsReply, NeighboursReply, OutlineReply
from coderag.interfaces.rest.request_runner import RequestRunner, RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.schema.graph_queries import GraphQuery, query_graph

router = APIRouter(route_class=StrictRoute, tags=["graph"], prefix="/graph")


@router.post("/path", response_model=NeighboursReply, summary="Find a path between two declarations")
async def path(body: PathBody, runner: RunnerDependency) -> Response:
    """Return the steps of a shortest path between two declarations or files; no results if none is known."""
    return await runner.reply(partial(_find_path, runner, body), is_long=True)


@router.post("/cycles", response_model=CyclesReply, summary="Find cycles")
async def cycles(body: CyclesBody, runner: RunnerDependency) -> Response:
    """Return the cycles of files that import, or of declarations that call, one another, the smallest first."""
    return await runner.reply(partial(_find_cycles, runner, body), is_long=True)


@router.post("/hotspots", response_model=HotspotsReply, summary="Find hotspots")
async def hotspots(body: HotspotsBody, runner: RunnerDependency) -> Response:
    """Return the declarations with the most dependents, most central first."""
    return await runner.reply(partial(_find_hotspots, runner, body), is_long=True)


@router.post("/outline", response_model=OutlineReply, summary="List the declarations of a file")
async def outline(body: OutlineBody, runner: RunnerDependency) -> Response:
    """Return the declarations in a file or declaration, nested, in order."""
    return await runner.reply(partial(_build_outline, runner, body))


@router.post("/{question}", response_model=NeighboursReply, summary="Find the neighbours of a declaration")
async def neighbours(
    question: Annotated[GraphQuery, Path(description="The relation to follow.")],
    body: NeighboursBody,
    runner: RunnerDependency,
) -> Response:
    """Return the neighbours of a declaration in one relation of the code graph.

    `impact` is what may break when it changes. Results are ordered by distance, then confidence.
    """
    return await runner.reply(partial(_find_neighbours, runner, question, body), is_long=question == "impact")


def _find_neighbours(runner: RequestRunner, question: GraphQuery, body: NeighboursBody) -> NeighboursReply:
    with runner.hold_repository(body.root) as repository:
        results = query_graph(repository.engine.graph, question, body.name, body.depth, candidates=body.candidates)
    return NeighboursReply(question, str(repository.root), results[: body.limit], len(results))


def _find_path(runner: RequestRunner, body: PathBody) -> NeighboursReply:
    with runner.hold_repository(body.root) as repository:
        results = repository.engine.graph.path(body.start, body.end, candidates=body.candidates)
    return NeighboursReply("path", str(repository.root), results, len(results))


def _find_cycles(runner: RequestRunner, body: CyclesBody) -> CyclesReply:
    with runner.hold_repository(body.root) as repository:
        results = repository.engine.graph.cycles(body.level)
    return CyclesReply(body.level, str(repository.root), results[: body.limit], len(results))


def _find_hotspots(runner: RequestRunner, body: HotspotsBody) -> HotspotsReply:
    with runner.hold_repository(body.root) as repository:
        return HotspotsReply(str(repository.root), repository.engine.graph.hotspots(body.limit, body.kind))


def _build_outline(runner: RequestRunner, body: OutlineBody) -> OutlineReply:
    with runner.hold_repository(body.root) as repository:
        return OutlineReply(body.path, str(repository.root), repository.engine.graph.outline(body.path))
