"""Routes for pictures of the code graph: bounded, with places, aggregated by folder and file."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from fastapi import APIRouter, Response

from coderag.codegraph.drawing import Drawing, DrawnEdge, DrawnNode, to_mermaid
from coderag.interfaces.rest.graph_view_bodies import (
    ArrangementBody,
    MermaidBody,
    NeighbourhoodBody,
    NodeBody,
    OverviewBody,
    SuggestionsBody,
)
from coderag.interfaces.rest.request_runner import RequestRunner, RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.schema.graph_view import GraphView, NodeDetails, ViewNode

router = APIRouter(route_class=StrictRoute, tags=["graph"], prefix="/graph/view")


@dataclass(frozen=True, slots=True)
class SuggestionsReply:
    """Suggested nodes, the likeliest first."""

    nodes: Sequence[ViewNode]


@dataclass(frozen=True, slots=True)
class MermaidReply:
    """A Mermaid flow chart."""

    text: str


@router.post("/overview", response_model=GraphView, summary="Draw the repository")
async def graph_overview(body: OverviewBody, runner: RunnerDependency) -> Response:
    """Return folders, and inside opened ones files, inside opened files declarations, with the edges between all drawn nodes.

    Places stay the same when nodes are opened, and as far as possible when the repository changes.
    """
    return await runner.reply(partial(_build_overview, runner, body), is_long=True)


@router.post("/neighbourhood", response_model=GraphView, summary="Draw the neighbours of a node")
async def graph_neighbourhood(body: NeighbourhoodBody, runner: RunnerDependency) -> Response:
    """Return a node with its neighbours, and theirs as far as steps ask for them; each step says how many it left out."""
    return await runner.reply(partial(_build_neighbourhood, runner, body), is_long=True)


@router.post("/arrangement", response_model=GraphView, summary="Draw given nodes")
async def graph_arrangement(body: ArrangementBody, runner: RunnerDependency) -> Response:
    """Return given nodes, such as those of a path, a cycle or an impact, with the edges between them."""
    return await runner.reply(partial(_arrange, runner, body), is_long=True)


@router.post("/node", response_model=NodeDetails, summary="Describe a node of the code graph")
async def graph_node(body: NodeBody, runner: RunnerDependency) -> Response:
    """Return a node, what is around it, and its neighbours by relation and direction, those with most edges first."""
    return await runner.reply(partial(_describe, runner, body))


@router.post("/suggestions", response_model=SuggestionsReply, summary="Suggest nodes of the code graph")
async def graph_suggestions(body: SuggestionsBody, runner: RunnerDependency) -> Response:
    """Return declarations, packages, files and folders whose name contains a text."""
    return await runner.reply(partial(_suggest, runner, body))


@router.post("/mermaid", response_model=MermaidReply, summary="Write a picture as Mermaid")
async def graph_mermaid(body: MermaidBody, runner: RunnerDependency) -> Response:
    """Return a flow chart of given boxes and arrows; arrows to missing boxes are left out."""
    return await runner.reply(partial(_write_mermaid, body))


def _build_overview(runner: RequestRunner, body: OverviewBody) -> GraphView:
    with runner.hold_repository(body.root) as repository:
        return repository.engine.build_graph_overview(
            body.opened, body.to_filter(), max_nodes=body.max_nodes, max_edges=body.max_edges
        )


def _build_neighbourhood(runner: RequestRunner, body: NeighbourhoodBody) -> GraphView:
    with runner.hold_repository(body.root) as repository:
        return repository.engine.open_graph_views().build_neighbourhood(
            body.name,
            [step.to_step() for step in body.steps],
            body.to_filter(),
            max_nodes=body.max_nodes,
            max_edges=body.max_edges,
        )


def _arrange(runner: RequestRunner, body: ArrangementBody) -> GraphView:
    distances = {node.key: node.distance for node in body.nodes}
    with runner.hold_repository(body.root) as repository:
        return repository.engine.open_graph_views().arrange(
            distances, body.arrangement, body.to_filter(), max_nodes=body.max_nodes, max_edges=body.max_edges
        )


def _describe(runner: RequestRunner, body: NodeBody) -> NodeDetails:
    with runner.hold_repository(body.root) as repository:
        return repository.engine.open_graph_views().describe(body.name, body.to_filter(), limit=body.limit)


def _suggest(runner: RequestRunner, body: SuggestionsBody) -> SuggestionsReply:
    with runner.hold_repository(body.root) as repository:
        return SuggestionsReply(repository.engine.open_graph_views().suggest(body.text, limit=body.limit))


def _write_mermaid(body: MermaidBody) -> MermaidReply:
    nodes = [DrawnNode(tuple(node.lines), node.is_marked) for node in body.nodes]
    edges = [
        DrawnEdge(edge.source, edge.target, edge.label, edge.is_resolved)
        for edge in body.edges
        if max(edge.source, edge.target) < len(nodes)
    ]
    return MermaidReply(to_mermaid(Drawing(nodes, edges)))
