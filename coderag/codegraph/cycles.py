"""Cycles of a code graph: files that import, or functions that call, one another."""

from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from coderag.codegraph.symbol_graph import GraphEdge, SymbolGraph
from coderag.schema.vocabulary import MODULE_OF, RESOLVED

Level = Literal["files", "symbols"]


class Cycle(NamedTuple):
    """A strongly connected component of more than one node.

    Attributes:
        nodes: In order.
        edges: A shortest way from the first node back to it.
    """

    nodes: list[int]
    edges: list[GraphEdge]


def cycles(graph: SymbolGraph, relations: Collection[str], level: Level, least: float = RESOLVED) -> list[Cycle]:
    """Return the groups of nodes that can all reach one another, in order; that a file declares a module of its own is no way.

    Args:
        graph: The graph.
        relations: Those to follow.
        level: Between declarations, or between files: then each edge counts for the files of its ends.
        least: Confidence below which an edge is left out.
    """
    import scipy.sparse as sp  # noqa: PLC0415  # 0.3 s with the next, and hardly a question is about cycles
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    every = np.arange(graph.n_edges)
    positions = every[graph.wanted(every, relations, least)]
    is_import = np.array([word != MODULE_OF for word in graph.resolvers.words], bool)
    positions = positions[is_import[graph.resolvers.codes[positions]]]
    sources, targets = graph.sources[positions], graph.targets[positions]
    if level == "files":
        inside = (graph.parents[targets] >= 0) | np.isin(targets, graph.files)  # what is external has no file
        positions, sources, targets = positions[inside], sources[inside], targets[inside]
        sources, targets = (graph.files[np.searchsorted(graph.files, ends, "right") - 1] for ends in (sources, targets))
    shape = (graph.n_nodes, graph.n_nodes)
    matrix = sp.coo_matrix((np.ones(len(positions), bool), (sources, targets)), shape=shape).tocsr()
    _, labels = connected_components(matrix, directed=True, connection="strong")
    sizes = np.bincount(labels, minlength=1) if graph.n_nodes else np.zeros(1, np.int64)
    members = np.flatnonzero(sizes[labels] > 1)
    groups: dict[int, list[int]] = {}
    for node, label in zip(members.tolist(), labels[members].tolist(), strict=True):
        groups.setdefault(label, []).append(node)
    within = (labels[sources] == labels[targets]) & (sizes[labels[sources]] > 1) & (sources != targets)
    following: dict[int, dict[int, int]] = {}
    for position, source, target in zip(
        positions[within].tolist(), sources[within].tolist(), targets[within].tolist(), strict=True
    ):
        following.setdefault(source, {}).setdefault(target, position)
    found = [Cycle(nodes, _around(graph, following, nodes[0])) for nodes in groups.values()]
    return sorted(found, key=lambda cycle: cycle.nodes)


def _around(graph: SymbolGraph, following: Mapping[int, Mapping[int, int]], start: int) -> list[GraphEdge]:
    """Return a shortest way from a node back to it; the ends of its edges are nodes of `following`."""
    came_from: dict[int, int] = {}
    frontier = [start]
    while start not in came_from:
        reached = []
        for node in frontier:
            for other in following[node]:
                if other not in came_from:
                    came_from[other] = node
                    reached.append(other)
        frontier = reached
    nodes = [start, came_from[start]]
    while nodes[-1] != start:
        nodes.append(came_from[nodes[-1]])
    nodes.reverse()
    positions = np.array([following[near][far] for near, far in pairwise(nodes)])
    return [
        edge._replace(source=near, target=far)
        for edge, (near, far) in zip(graph.edges_at(positions), pairwise(nodes), strict=True)
    ]
