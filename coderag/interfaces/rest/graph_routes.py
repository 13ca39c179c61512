"""Routes for queries to the code graph."""

from dataclasses import fields, replace
from functools import partial
from typing import Annotated, Any, cast

from fastapi import APIRouter, Path, Response

from coderag.interfaces.rest.bodies import (
    CyclesBody,
    HotspotsBody,
    MentionsBody,
    NeighboursBody,
    OutlineBody,
    PathBody,
    UnusedBody,
)
from coderag.interfaces.rest.replies import (
    CyclesReply,
    HotspotsReply,
    MentionsReply,
    NeighboursReply,
    OutlineReply,
    UnusedReply,
)
from coderag.interfaces.rest.request_runner import RequestRunner, RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.schema.graph_queries import GraphQuery, query_graph
from coderag.schema.mentions import MENTION_QUERIES, MentionQuery, Mentions, UnusedReport, has_resolved

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


@router.post("/mentions", response_model=MentionsReply, summary="Find the lines that mention a name")
async def mentions(body: MentionsBody, runner: RunnerDependency) -> Response:
    """Return the lines that mention a name outside its declarations, code first, and why an edge may be missing."""
    return await runner.reply(partial(_find_mentions, runner, body), is_long=True)


@router.post("/unused", response_model=UnusedReply, summary="Find declarations without a known use")
async def unused(body: UnusedBody, runner: RunnerDependency) -> Response:
    """Return functions, methods and types of source files that nothing is known to use, the most certain first."""
    return await runner.reply(partial(_find_unused, runner, body), is_long=True)


@router.post("/{question}", response_model=NeighboursReply, summary="Find the neighbours of a declaration")
async def neighbours(
    question: Annotated[GraphQuery, Path(description="The relation to follow.")],
    body: NeighboursBody,
    runner: RunnerDependency,
) -> Response:
    """Return the neighbours of a declaration in one relation of the code graph.

    `impact` is what may break when it changes. Results are ordered by distance, then confidence. Where no edge answers,
    `mentions` lists the lines that mention the name.
    """
    return await runner.reply(partial(_find_neighbours, runner, question, body), is_long=question == "impact")


def _find_neighbours(runner: RequestRunner, question: GraphQuery, body: NeighboursBody) -> NeighboursReply:
    with runner.hold_repository(body.root) as repository:
        engine = repository.engine
        results = query_graph(engine.graph, question, body.name, body.depth, candidates=body.candidates)
        reply = NeighboursReply(question, repository.place, results[: body.limit], len(results))
        if not body.mentions or question not in MENTION_QUERIES:
            return reply
        is_resolved = has_resolved(results)
        mention_query, limit = cast("MentionQuery", question), 0 if is_resolved else body.limit
        mentions = engine.mentions(body.name, mention_query, limit=limit)
    return replace(
        reply,
        mentions=mentions.lines,
        mention_count=mentions.unlinked if is_resolved else mentions.total,
        tier=mentions.tier,
        reason=mentions.reason,
    )


def _find_mentions(runner: RequestRunner, body: MentionsBody) -> MentionsReply:
    with runner.hold_repository(body.root) as repository:
        mentions = repository.engine.mentions(body.name, body.question, limit=body.limit)
    return MentionsReply(**_get_fields(mentions), root=repository.place)


def _find_unused(runner: RequestRunner, body: UnusedBody) -> UnusedReply:
    with runner.hold_repository(body.root) as repository:
        report = repository.engine.unused(body.path, limit=body.limit)
    return UnusedReply(**_get_fields(report), root=repository.place)


def _find_path(runner: RequestRunner, body: PathBody) -> NeighboursReply:
    with runner.hold_repository(body.root) as repository:
        results = repository.engine.graph.path(body.start, body.end, candidates=body.candidates)
    return NeighboursReply("path", repository.place, results, len(results))


def _find_cycles(runner: RequestRunner, body: CyclesBody) -> CyclesReply:
    with runner.hold_repository(body.root) as repository:
        results = repository.engine.graph.cycles(body.level)
    return CyclesReply(body.level, repository.place, results[: body.limit], len(results))


def _find_hotspots(runner: RequestRunner, body: HotspotsBody) -> HotspotsReply:
    with runner.hold_repository(body.root) as repository:
        return HotspotsReply(repository.place, repository.engine.graph.hotspots(body.limit, body.kind))


def _build_outline(runner: RequestRunner, body: OutlineBody) -> OutlineReply:
    with runner.hold_repository(body.root) as repository:
        graph = repository.engine.graph
        return OutlineReply(graph.find_file(body.path), repository.place, graph.outline(body.path))


def _get_fields(record: Mentions | UnusedReport) -> dict[str, Any]:
    """Return the fields of a dataclass by name, without copying their values."""
    return {field.name: getattr(record, field.name) for field in fields(record)}
