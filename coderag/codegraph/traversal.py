"""Traversal of a code graph: breadth-first search and shortest paths."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.columns import IntArray
from coderag.codegraph.symbol_graph import DIRECTIONS, Direction, GraphEdge, SymbolGraph
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE

Equivalents = Callable[[int], Iterable[tuple[int, float]]]
"""Maps a node to others whose edges count as its own, each with a confidence of 0 to 1, such as overridden methods."""


Routes = Mapping[Direction, Collection[str]]
"""Relations to follow in each direction: along edges (``out``) and against them (``in``)."""


class TraversalStep(NamedTuple):
    """A step of a traversal.

    Attributes:
        edge: The edge; the traversal first reaches the node at its far end here.
        direction: Direction in which the edge is followed.
        depth: Number of steps from the nearest start.
        confidence: Lowest confidence of any step from the start up to this one.
    """

    edge: GraphEdge
    direction: Direction
    depth: int
    confidence: float

    @property
    def near_node(self) -> int:
        """Node from which the step is made."""
        return self.edge.source if self.direction == "out" else self.edge.target

    @property
    def far_node(self) -> int:
        """Node to which the step leads."""
        return self.edge.target if self.direction == "out" else self.edge.source


class _Arrival(NamedTuple):
    """Predecessor of a node in a search: the origin, and the edge from there; without edge, the nodes are equivalent."""

    origin: int
    position: int = -1
    is_reversed: bool = False
    confidence: float = 1.0  # of the equivalence


class _EdgeBatch(NamedTuple):
    """Edges by their near and far ends: arrays of shape (n,). ``is_reversed`` marks edges followed backwards."""

    positions: IntArray
    near_nodes: IntArray
    far_nodes: IntArray
    is_reversed: NDArray[np.bool_]

    @classmethod
    def from_nodes(
        cls, graph: SymbolGraph, nodes: Sequence[int], routes: Routes, min_confidence: float
    ) -> "_EdgeBatch":
        """Return the edges that some routes follow from some nodes."""
        outgoing, incoming = (
            graph.find_edge_positions(
                nodes if direction in routes else (), direction, routes.get(direction), min_confidence
            )
            for direction in DIRECTIONS
        )
        near_nodes = np.concatenate([graph.sources[outgoing], graph.targets[incoming]])
        far_nodes = np.concatenate([graph.targets[outgoing], graph.sources[incoming]])
        return cls(
            np.concatenate([outgoing, incoming]), near_nodes, far_nodes, np.arange(len(near_nodes)) >= len(outgoing)
        )

    def select(self, mask: NDArray[np.bool_]) -> "_EdgeBatch":
        """Return the edges that a mask selects."""
        return _EdgeBatch(self.positions[mask], self.near_nodes[mask], self.far_nodes[mask], self.is_reversed[mask])


def find_no_equivalents(node: int) -> Iterable[tuple[int, float]]:
    """Return no equivalent nodes: only a node's own edges are followed."""
    del node
    return ()


def walk_breadth_first(  # noqa: PLR0913  # options with defaults
    graph: SymbolGraph,
    starts: Iterable[int],
    routes: Routes,
    depth: int = 1,
    *,
    min_confidence: float = MIN_RESOLVED_CONFIDENCE,
    limit: int | None = None,
    equivalents: Equivalents = find_no_equivalents,
    exact_relations: Collection[str] = (),
) -> list[TraversalStep]:
    """Return the steps to all reachable nodes, nearest first, then highest confidence first.

    Args:
        graph: The graph.
        starts: Start nodes; they are never reached.
        routes: Relations to follow along the edges and against them.
        depth: Maximum number of steps.
        min_confidence: Edges below this confidence are not followed.
        limit: Maximum number of nodes.
        equivalents: Nodes whose edges are followed as well, for each node.
        exact_relations: Relations that are not followed from equivalents of confidence below 1. Methods that override
            the same base method are unrelated, for example.
    """
    node_confidences = np.zeros(graph.n_nodes, np.float32)  # of the frontier and its equivalents
    seen = np.zeros(graph.n_nodes, bool)
    frontier = dict.fromkeys(starts, 1.0)
    seen[list(frontier)] = True
    steps: list[TraversalStep] = []
    for distance in range(1, depth + 1):
        nodes = _add_equivalents(frontier, equivalents)
        near_nodes = list(nodes)
        node_confidences[near_nodes] = list(nodes.values())
        edge_batch = _EdgeBatch.from_nodes(graph, near_nodes, routes, min_confidence)
        if exact_relations:
            edge_batch = edge_batch.select(
                ~graph.match_edges(edge_batch.positions, exact_relations, 0)
                | np.isin(edge_batch.near_nodes, _find_exact_nodes(frontier, equivalents))
            )
        path_confidences = np.minimum(node_confidences[edge_batch.near_nodes], graph.confidences[edge_batch.positions])
        order = _select_first_visits(edge_batch.far_nodes, np.lexsort((edge_batch.positions, -path_confidences)), seen)
        order = order[: None if limit is None else limit - len(steps)]
        frontier = dict(zip(edge_batch.far_nodes[order].tolist(), path_confidences[order].tolist(), strict=True))
        seen[list(frontier)] = True
        edges = graph.read_edges(edge_batch.positions[order])
        steps += [
            TraversalStep(edge, "in" if is_reversed else "out", distance, round(confidence, 4))
            for edge, is_reversed, confidence in zip(
                edges, edge_batch.is_reversed[order], frontier.values(), strict=True
            )
        ]
        if not frontier or len(steps) == limit:
            break
    return steps


def find_shortest_path(
    graph: SymbolGraph,
    starts: Collection[int],
    ends: Collection[int],
    routes: Routes,
    *,
    min_confidence: float = MIN_RESOLVED_CONFIDENCE,
    equivalents: Equivalents = find_no_equivalents,
) -> list[TraversalStep] | None:
    """Return the steps of a shortest path between two sets of nodes; None if there is none.

    Args:
        graph: The graph.
        starts: Nodes where the path may begin.
        ends: Nodes where it may end; the path is empty if one of them is a start.
        routes: Relations to follow along the edges and against them.
        min_confidence: Edges below this confidence are not followed.
        equivalents: Nodes where the path may continue without a step, for each node.
    """
    arrival_by_node: dict[int, _Arrival] = {}
    seen = np.zeros(graph.n_nodes, bool)
    frontier = sorted(starts)
    seen[frontier] = True
    end_nodes = set(ends)
    while frontier:
        for node in tuple(frontier):
            for other, confidence in equivalents(node):
                if not seen[other]:
                    seen[other] = True
                    arrival_by_node[other] = _Arrival(node, confidence=confidence)
                    frontier.append(other)
        if reached_ends := [node for node in frontier if node in end_nodes]:
            return _trace_path(graph, arrival_by_node, reached_ends[0])
        edge_batch = _EdgeBatch.from_nodes(graph, frontier, routes, min_confidence)
        by_confidence = np.lexsort((edge_batch.positions, -graph.confidences[edge_batch.positions]))
        order = _select_first_visits(edge_batch.far_nodes, by_confidence, seen)
        columns = (edge_batch.near_nodes, edge_batch.positions, edge_batch.is_reversed)
        arrivals = [_Arrival(*values) for values in zip(*(column[order].tolist() for column in columns), strict=True)]
        frontier = edge_batch.far_nodes[order].tolist()
        seen[frontier] = True
        arrival_by_node.update(zip(frontier, arrivals, strict=True))
    return None


def _add_equivalents(frontier: Mapping[int, float], equivalents: Equivalents) -> dict[int, float]:
    """Return the nodes to make steps from, each with the confidence of being there."""
    nodes = dict(frontier)
    for node, node_confidence in frontier.items():
        for other, confidence in equivalents(node):
            nodes[other] = max(nodes.get(other, 0.0), min(node_confidence, confidence))
    return nodes


def _find_exact_nodes(frontier: Iterable[int], equivalents: Equivalents) -> list[int]:
    """Return nodes with their equivalents of confidence 1."""
    return [*frontier, *(other for node in frontier for other, confidence in equivalents(node) if confidence == 1.0)]


def _select_first_visits(nodes: IntArray, order: IntArray, seen: NDArray[np.bool_]) -> IntArray:
    """Return the positions in `nodes`, in the given order, of the first occurrence of each unseen node."""
    order = order[~seen[nodes[order]]]
    first: IntArray = np.unique(nodes[order], return_index=True)[1]
    return order[np.sort(first)]


def _trace_path(graph: SymbolGraph, arrival_by_node: Mapping[int, _Arrival], end: int) -> list[TraversalStep]:
    arrivals = []
    while end in arrival_by_node:
        arrivals.append(arrival_by_node[end])
        end = arrival_by_node[end].origin
    arrivals.reverse()
    edges = iter(
        graph.read_edges(np.array([arrival.position for arrival in arrivals if arrival.position >= 0], np.int64))
    )
    steps: list[TraversalStep] = []
    confidence = 1.0
    for arrival in arrivals:
        confidence = min(confidence, arrival.confidence)
        if arrival.position >= 0:
            edge = next(edges)
            confidence = min(confidence, edge.confidence)
            steps.append(TraversalStep(edge, "in" if arrival.is_reversed else "out", len(steps) + 1, confidence))
    return steps
