"""Cycles of a code graph: strongly connected groups of files or functions."""

from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from coderag.codegraph.symbol_graph import GraphEdge, SymbolGraph
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE, MODULE_RESOLVER, CycleLevel


class Cycle(NamedTuple):
    """A strongly connected component of more than one node.

    Attributes:
        nodes: In ascending order.
        edges: A shortest cycle through the first node.
    """

    nodes: list[int]
    edges: list[GraphEdge]


def find_cycles(
    graph: SymbolGraph, relations: Collection[str], level: CycleLevel, min_confidence: float = MIN_RESOLVED_CONFIDENCE
) -> list[Cycle]:
    """Return the strongly connected components of more than one node, in order.

    Submodule declarations (a file that declares a module of its own) are not followed.

    Args:
        graph: The graph.
        relations: Relations to follow.
        level: ``symbols`` connects declarations; ``files`` connects the files of both ends of each edge.
        min_confidence: Edges below this confidence are left out.
    """
    import scipy.sparse as sp  # noqa: PLC0415  # with the next import 0.3 s, and few queries need it
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    all_positions = np.arange(graph.n_edges)
    positions = all_positions[graph.match_edges(all_positions, relations, min_confidence)]
    is_followed = np.array([word != MODULE_RESOLVER for word in graph.resolvers.values], bool)
    positions = positions[is_followed[graph.resolvers.codes[positions]]]
    sources, targets = graph.sources[positions], graph.targets[positions]
    if level == "files":
        is_internal = (graph.parents[targets] >= 0) | np.isin(targets, graph.files)  # external nodes have no file
        positions, sources, targets = positions[is_internal], sources[is_internal], targets[is_internal]
        sources, targets = (graph.files[np.searchsorted(graph.files, ends, "right") - 1] for ends in (sources, targets))
    shape = (graph.n_nodes, graph.n_nodes)
    matrix = sp.coo_matrix((np.ones(len(positions), bool), (sources, targets)), shape=shape).tocsr()
    _, labels = connected_components(matrix, directed=True, connection="strong")
    sizes = np.bincount(labels, minlength=1) if graph.n_nodes else np.zeros(1, np.int64)
    members = np.flatnonzero(sizes[labels] > 1)
    groups: dict[int, list[int]] = {}
    for node, label in zip(members.tolist(), labels[members].tolist(), strict=True):
        groups.setdefault(label, []).append(node)
    is_within_component = (labels[sources] == labels[targets]) & (sizes[labels[sources]] > 1) & (sources != targets)
    successors: dict[int, dict[int, int]] = {}
    for position, source, target in zip(
        positions[is_within_component].tolist(),
        sources[is_within_component].tolist(),
        targets[is_within_component].tolist(),
        strict=True,
    ):
        successors.setdefault(source, {}).setdefault(target, position)
    node_cycles = [Cycle(nodes, _find_shortest_cycle(graph, successors, nodes[0])) for nodes in groups.values()]
    return sorted(node_cycles, key=lambda cycle: cycle.nodes)


def _find_shortest_cycle(
    graph: SymbolGraph, successors: Mapping[int, Mapping[int, int]], start: int
) -> list[GraphEdge]:
    """Return a shortest cycle through a node; all edges run between keys of `successors`."""
    predecessors: dict[int, int] = {}
    frontier = [start]
    while start not in predecessors:
        next_frontier = []
        for node in frontier:
            for successor in successors[node]:
                if successor not in predecessors:
                    predecessors[successor] = node
                    next_frontier.append(successor)
        frontier = next_frontier
    nodes = [start, predecessors[start]]
    while nodes[-1] != start:
        nodes.append(predecessors[nodes[-1]])
    nodes.reverse()
    positions = np.array([successors[source][target] for source, target in pairwise(nodes)])
    return [
        edge._replace(source=source, target=target)
        for edge, (source, target) in zip(graph.read_edges(positions), pairwise(nodes), strict=True)
    ]
