"""Walks over a code graph: breadth-first, shortest path, and the random one that tells what is central."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.columns import FloatArray, IntArray
from coderag.codegraph.symbol_graph import DIRECTIONS, Direction, GraphEdge, SymbolGraph
from coderag.schema.vocabulary import RESOLVED

StandIns = Callable[[int], Iterable[tuple[int, float]]]
"""For a node, others whose edges count as its own, and how surely, 0 to 1: the methods that a method overrides, say."""

Routes = Mapping[Direction, Collection[str]]
"""Relations to follow in each direction: along edges (``out``) and against them (``in``)."""

_DAMPING: Final = 0.85
"""Source: L. Page et al., The PageRank Citation Ranking, 1999."""

_CHANGE: Final = 1e-8  # of all ranks together, when it has converged
_MOST_ROUNDS: Final = 200  # 0.85 ** 200 is 8e-15


class Step(NamedTuple):
    """A step of a walk.

    Attributes:
        edge: The edge; the node at its far end is reached for the first time.
        direction: The one that it is gone in.
        depth: Number of steps from the nearest start.
        confidence: Of the least sure step from there, this one included.
    """

    edge: GraphEdge
    direction: Direction
    depth: int
    confidence: float

    @property
    def near(self) -> int:
        """The node that the step is made from."""
        return self.edge.source if self.direction == "out" else self.edge.target

    @property
    def far(self) -> int:
        """The node that it leads to."""
        return self.edge.target if self.direction == "out" else self.edge.source


class _Arrival(NamedTuple):
    """How a walk came to a node: from where, and by which edge; without one the node stands in for its origin."""

    origin: int
    position: int = -1
    against: bool = False
    confidence: float = 1.0  # with which it stands in


class _Edges(NamedTuple):
    """Edges by their ends: arrays of shape (n,); ``against`` tells those that are followed from target to source."""

    positions: IntArray
    near: IntArray
    far: IntArray
    against: NDArray[np.bool_]

    @classmethod
    def from_nodes(cls, graph: SymbolGraph, nodes: Sequence[int], routes: Routes, least: float) -> "_Edges":
        """Return the edges from some nodes."""
        out, back = (
            graph.positions(nodes if direction in routes else (), direction, routes.get(direction), least)
            for direction in DIRECTIONS
        )
        along = np.concatenate([graph.sources[out], graph.targets[back]])
        across = np.concatenate([graph.targets[out], graph.sources[back]])
        return cls(np.concatenate([out, back]), along, across, np.arange(len(along)) >= len(out))

    def where(self, kept: NDArray[np.bool_]) -> "_Edges":
        """Return some of the edges."""
        return _Edges(self.positions[kept], self.near[kept], self.far[kept], self.against[kept])


def no_stand_ins(node: int) -> Iterable[tuple[int, float]]:
    """Return no other nodes: a node's edges are its own."""
    del node
    return ()


def breadth_first(  # noqa: PLR0913  # options, each with a default
    graph: SymbolGraph,
    starts: Iterable[int],
    routes: Routes,
    depth: int = 1,
    *,
    least: float = RESOLVED,
    limit: int | None = None,
    stand_ins: StandIns = no_stand_ins,
    own: Collection[str] = (),
) -> list[Step]:
    """Return the steps to all nodes within reach, the nearest first, of equally near ones the surest.

    Args:
        graph: The graph.
        starts: Where to begin; they are never reached.
        routes: Relations to follow along the edges, and those to follow against them.
        depth: Number of steps, at most.
        least: Confidence below which an edge is not followed.
        limit: Number of nodes, at most.
        stand_ins: Nodes whose edges are followed as well, from each node.
        own: Relations that are not followed from a node that stands in less surely than 1: what overrides the method that a
            method overrides is nothing to it.
    """
    sureness = np.zeros(graph.n_nodes, np.float32)  # of each node that steps are made from
    seen = np.zeros(graph.n_nodes, bool)
    frontier = dict.fromkeys(starts, 1.0)
    seen[list(frontier)] = True
    steps: list[Step] = []
    for distance in range(1, depth + 1):
        nodes = _with_stand_ins(frontier, stand_ins)
        near = list(nodes)
        sureness[near] = list(nodes.values())
        reached = _Edges.from_nodes(graph, near, routes, least)
        if own:
            reached = reached.where(
                ~graph.wanted(reached.positions, own, 0) | np.isin(reached.near, _surely(frontier, stand_ins))
            )
        sure = np.minimum(sureness[reached.near], graph.confidences[reached.positions])
        order = _first_of_each(reached.far, np.lexsort((reached.positions, -sure)), seen)
        order = order[: None if limit is None else limit - len(steps)]
        frontier = dict(zip(reached.far[order].tolist(), sure[order].tolist(), strict=True))
        seen[list(frontier)] = True
        edges = graph.edges_at(reached.positions[order])
        steps += [
            Step(edge, "in" if against else "out", distance, round(confidence, 4))
            for edge, against, confidence in zip(edges, reached.against[order], frontier.values(), strict=True)
        ]
        if not frontier or len(steps) == limit:
            break
    return steps


def shortest_path(
    graph: SymbolGraph,
    starts: Collection[int],
    ends: Collection[int],
    routes: Routes,
    *,
    least: float = RESOLVED,
    stand_ins: StandIns = no_stand_ins,
) -> list[Step] | None:
    """Return the steps of a shortest way between two sets of nodes; None if there is none.

    Args:
        graph: The graph.
        starts: Where it may begin.
        ends: Where it may end; at once if one of them is a start.
        routes: Relations to follow along the edges, and those to follow against them.
        least: Confidence below which an edge is not followed.
        stand_ins: Nodes that the way may go on from, at each node, without a step.
    """
    came_by: dict[int, _Arrival] = {}
    seen = np.zeros(graph.n_nodes, bool)
    frontier = sorted(starts)
    seen[frontier] = True
    arrived = set(ends)
    while frontier:
        for node in tuple(frontier):
            for other, confidence in stand_ins(node):
                if not seen[other]:
                    seen[other] = True
                    came_by[other] = _Arrival(node, confidence=confidence)
                    frontier.append(other)
        if there := [node for node in frontier if node in arrived]:
            return _way_to(graph, came_by, there[0])
        reached = _Edges.from_nodes(graph, frontier, routes, least)
        surest = np.lexsort((reached.positions, -graph.confidences[reached.positions]))
        order = _first_of_each(reached.far, surest, seen)
        columns = (reached.near, reached.positions, reached.against)
        arrivals = [_Arrival(*how) for how in zip(*(column[order].tolist() for column in columns), strict=True)]
        frontier = reached.far[order].tolist()
        seen[frontier] = True
        came_by.update(zip(frontier, arrivals, strict=True))
    return None


def centrality(n_nodes: int, source: IntArray, target: IntArray, weight: FloatArray) -> FloatArray:
    """Return each node's PageRank, divided by the largest.

    What a node without edges of its own has is shared among all.

    Args:
        n_nodes: Number of nodes.
        source: int (n_edges,), rank flows from here ...
        target: int (n_edges,), ... to here.
        weight: (n_edges,), above 0: how much of it, relative to the other edges of the source.

    Returns:
        float32 (n_nodes,), 0 to 1.

    Source: L. Page et al., The PageRank Citation Ranking, 1999.
    """
    import scipy.sparse as sp  # noqa: PLC0415  # 0.15 s, which only a writer need take

    if n_nodes == 0:
        return np.zeros(0, np.float32)
    given = np.bincount(source, weight, n_nodes)
    shares = np.asarray(weight, np.float64) / given[source]
    flow = sp.csr_matrix((shares, (target, source)), shape=(n_nodes, n_nodes))
    ends = (given == 0).astype(np.float64)
    ranks = np.full(n_nodes, 1 / n_nodes)
    for _ in range(_MOST_ROUNDS):
        before, ranks = ranks, flow @ ranks
        ranks += (before * ends).sum() / n_nodes
        ranks *= _DAMPING
        ranks += (1 - _DAMPING) / n_nodes
        if np.abs(np.subtract(ranks, before, out=before)).sum() < _CHANGE:
            break
    shares_of_largest: FloatArray = (ranks / ranks.max()).astype(np.float32)
    return shares_of_largest


def _with_stand_ins(frontier: Mapping[int, float], stand_ins: StandIns) -> dict[int, float]:
    """Return the nodes to make steps from, with how sure it is to be there."""
    nodes = dict(frontier)
    for node, sureness in frontier.items():
        for other, confidence in stand_ins(node):
            nodes[other] = max(nodes.get(other, 0.0), min(sureness, confidence))
    return nodes


def _surely(frontier: Iterable[int], stand_ins: StandIns) -> list[int]:
    """Return nodes with those that surely stand in for them."""
    return [*frontier, *(other for node in frontier for other, sureness in stand_ins(node) if sureness == 1.0)]


def _first_of_each(nodes: IntArray, order: IntArray, seen: NDArray[np.bool_]) -> IntArray:
    """Return the positions in `nodes`, in that order, at which a node is for the first time that was not seen before."""
    order = order[~seen[nodes[order]]]
    first: IntArray = np.unique(nodes[order], return_index=True)[1]
    return order[np.sort(first)]


def _way_to(graph: SymbolGraph, came_by: Mapping[int, _Arrival], end: int) -> list[Step]:
    arrivals = []
    while end in came_by:
        arrivals.append(came_by[end])
        end = came_by[end].origin
    arrivals.reverse()
    along = iter(graph.edges_at(np.array([one.position for one in arrivals if one.position >= 0], np.int64)))
    steps: list[Step] = []
    confidence = 1.0
    for arrival in arrivals:
        confidence = min(confidence, arrival.confidence)
        if arrival.position >= 0:
            edge = next(along)
            confidence = min(confidence, edge.confidence)
            steps.append(Step(edge, "in" if arrival.against else "out", len(steps) + 1, confidence))
    return steps
