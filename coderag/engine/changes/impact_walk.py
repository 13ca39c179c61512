"""Spread of a change over the code graph, against the direction of uses, weakened by each step."""

import heapq
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from coderag.codegraph.declaration_groups import FUNCTION_KINDS, TYPE_KINDS
from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.symbol_graph import GraphEdge
from coderag.stores.graph_tables import FILE_KIND

_RELATION_WEIGHTS: Final[Mapping[str, float]] = MappingProxyType(
    {
        "calls": 0.9,
        "instantiates": 0.9,
        "tests": 0.9,
        "references": 0.8,
        "inherits": 0.7,
        "implements": 0.7,
        "overrides": 0.5,
    }
)
"""Factor of a step by its relation, besides the confidence of the edge."""

_ENCLOSING_WEIGHT: Final = 0.95  # what is inside a function runs with it
_OWNER_WEIGHT: Final = 0.25  # who uses a type may call any of its methods
_DISPATCHED_OWNER_WEIGHT: Final = 0.6  # and surely some method without a known caller
_IMPORTER_WEIGHT: Final = 0.3  # importing a file runs its module-level code
_TEST_IMPORTER_WEIGHT: Final = 0.8  # and a helper of tests that fails to import fails them
_MIN_CONFIDENCE: Final = 0.1  # candidates count, too: weighted by their confidence
_MIN_STRENGTH: Final = 0.02
_MAX_NODES: Final = 5_000
_MAX_STEPS: Final = 8

ExtraUsers = Callable[[int], Iterable[tuple[int, float]]]
"""Maps a node to users without an edge, each with a weight, such as the tests that take a fixture."""


class Reach(NamedTuple):
    """A node that the change reaches.

    Attributes:
        strength: Product of the weights of the steps, 0 to 1.
        start: Changed node from which it is reached.
        via: Node one step nearer to it; the node itself for a start.
        steps: Number of steps.
    """

    strength: float
    start: int
    via: int
    steps: int


class ImpactWalker:
    """Walker from changed nodes to their users; the users of a node are found once.

    Args:
        graph: The code graph.
        find_extra_users: Further users of a node.
    """

    def __init__(self, graph: CodeGraph, find_extra_users: ExtraUsers = lambda _: ()) -> None:
        self._graph = graph
        self._find_extra_users = find_extra_users
        self._users: dict[int, list[tuple[int, float]]] = {}

    def spread(self, starts: Mapping[int, float]) -> dict[int, Reach]:
        """Return the nodes that use some changed ones, directly or not, each by its strongest path.

        Args:
            starts: Strength of the change by node, 0 to 1.
        """
        reached: dict[int, Reach] = {}
        queue = [(-strength, 0, node, node, node) for node, strength in starts.items()]
        heapq.heapify(queue)
        while queue and len(reached) < _MAX_NODES:
            negative, steps, node, start, via = heapq.heappop(queue)
            if node in reached:
                continue
            reached[node] = Reach(-negative, start, via, steps)
            if steps >= _MAX_STEPS:
                continue
            for user, weight in self._get_users(node):
                strength = -negative * weight
                if strength >= _MIN_STRENGTH and user not in reached:
                    heapq.heappush(queue, (-strength, steps + 1, user, start, node))
        return reached

    def _get_users(self, node: int) -> list[tuple[int, float]]:
        """Return the users of a node with the weight of the step, each once."""
        if node not in self._users:
            weights: dict[int, float] = {}
            for user, weight in (*_find_users(self._graph, node), *self._find_extra_users(node)):
                weights[user] = max(weight, weights.get(user, 0.0))
            self._users[node] = list(weights.items())
        return self._users[node]


def _find_users(graph: CodeGraph, node: int) -> list[tuple[int, float]]:
    """Return the users of a node with the weight of the step, and the function or type around it."""
    symbols = graph.symbols
    if symbols.kinds[node] == FILE_KIND:
        edges = symbols.find_edges(node, "in", ("imports",))
        weight = _TEST_IMPORTER_WEIGHT if symbols.roles[node] == "test" else _IMPORTER_WEIGHT
        return [(edge.source, edge.confidence * weight) for edge in edges]
    weights = {node: 1.0}
    for other, confidence in graph.declaration_groups.find_use_targets(node):
        weights[other] = max(weights.get(other, 0.0), confidence)
    users = [
        (_locate_source(graph, edge), weight * edge.confidence * _RELATION_WEIGHTS[edge.relation])
        for target, weight in weights.items()
        for edge in symbols.find_edges(target, "in", tuple(_RELATION_WEIGHTS), _MIN_CONFIDENCE)
    ]
    parent = int(symbols.parents[node])
    if parent >= 0 and symbols.kinds[parent] in FUNCTION_KINDS:
        users.append((parent, _ENCLOSING_WEIGHT))
    elif parent >= 0 and symbols.kinds[parent] in TYPE_KINDS:
        users.append((parent, _OWNER_WEIGHT if users else _DISPATCHED_OWNER_WEIGHT))
    return users


def _locate_source(graph: CodeGraph, edge: GraphEdge) -> int:
    """Return the source of an edge; of module-level code, the variable whose value it is part of, such as a table."""
    symbols = graph.symbols
    if symbols.kinds[edge.source] != FILE_KIND:
        return edge.source
    inner = symbols.find_innermost(symbols.paths[edge.source], edge.line)
    return edge.source if inner is None else inner
