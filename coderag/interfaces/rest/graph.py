"""Questions to the code graph."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Response

from coderag.interfaces.rest.bodies import CyclesBody, HotspotsBody, NeighboursBody, OutlineBody, PathBody
from coderag.interfaces.rest.replies import CyclesReply, HotspotsReply, NeighboursReply, OutlineReply
from coderag.interfaces.rest.strict import StrictRoute
from coderag.interfaces.rest.work import Work, WorkOf
from coderag.schema.graph_queries import GraphQuery, query_graph

router = APIRouter(route_class=StrictRoute, tags=["graph"], prefix="/graph")


@router.post("/path", response_model=NeighboursReply, summary="Find how one declaration leads to another")
async def path(body: PathBody, work: WorkOf) -> Response:
    """Return the steps of a shortest way from one declaration or file to another; no results if none is known."""
    return await work.reply(partial(_path, work, body), is_long=True)


@router.post("/cycles", response_model=CyclesReply, summary="Find what needs one another in circles")
async def cycles(body: CyclesBody, work: WorkOf) -> Response:
    """Return the groups of files that import, or of declarations that call, one another, the smallest first."""
    return await work.reply(partial(_cycles, work, body), is_long=True)


@router.post("/hotspots", response_model=HotspotsReply, summary="Find what much depends on")
async def hotspots(body: HotspotsBody, work: WorkOf) -> Response:
    """Return the declarations that much depends on, most central first."""
    return await work.reply(partial(_hotspots, work, body), is_long=True)


@router.post("/outline", response_model=OutlineReply, summary="List the declarations of a file")
async def outline(body: OutlineBody, work: WorkOf) -> Response:
    """Return what a file or declaration declares, nested, in order."""
    return await work.reply(partial(_outline, work, body))


@router.post("/{question}", response_model=NeighboursReply, summary="Ask about one declaration")
async def neighbours(
    question: Annotated[GraphQuery, Path(description="What is asked of the declaration.")],
    body: NeighboursBody,
    work: WorkOf,
) -> Response:
    """Return what calls, imports, extends, overrides, tests, names or documents a declaration, or what it does so.

    `impact` is what may break when it changes. The nearest and surest come first.
    """
    return await work.reply(partial(_neighbours, work, question, body), is_long=question == "impact")


def _neighbours(work: Work, question: GraphQuery, body: NeighboursBody) -> NeighboursReply:
    with work.using(body.root) as one:
        found = query_graph(one.engine.graph, question, body.name, body.depth, candidates=body.candidates)
    return NeighboursReply(question, str(one.root), found[: body.limit], len(found))


def _path(work: Work, body: PathBody) -> NeighboursReply:
    with work.using(body.root) as one:
        found = one.engine.graph.path(body.start, body.end, candidates=body.candidates)
    return NeighboursReply("path", str(one.root), found, len(found))


def _cycles(work: Work, body: CyclesBody) -> CyclesReply:
    with work.using(body.root) as one:
        found = one.engine.graph.cycles(body.level)
    return CyclesReply(body.level, str(one.root), found[: body.limit], len(found))


def _hotspots(work: Work, body: HotspotsBody) -> HotspotsReply:
    with work.using(body.root) as one:
        return HotspotsReply(str(one.root), one.engine.graph.hotspots(body.limit, body.kind))


def _outline(work: Work, body: OutlineBody) -> OutlineReply:
    with work.using(body.root) as one:
        return OutlineReply(body.path, str(one.root), one.engine.graph.outline(body.path))
