"""Search for the flow that a question asks for: trees of hops that collect what is relevant at the least cost.

A greedy heuristic for the prize-collecting Steiner forest, with a price for each gap that no hop bridges.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from operator import attrgetter
from typing import Final, NamedTuple

from coderag.answering.evidence.flow_graph import Hop

Hops = Mapping[int, Mapping[int, Hop]]
"""Hops by source and target."""

MAX_DECLARATIONS: Final = 9
_MAX_DEPTH: Final = 4  # hops to the next relevant declaration
_MAX_COST: Final = 0.9  # of those hops
_MAX_PATH_COST: Final = 3.0
_MAX_PATH_DEPTH: Final = 8
_GAP_COST: Final = 0.3
_MAX_TREES: Final = 4
_MIN_GAIN: Final = 0.04
_MAX_FIRST_CALLS: Final = 4
_get_source: Callable[[Hop], int] = attrgetter("source")
_get_target: Callable[[Hop], int] = attrgetter("target")
_Arrivals = Mapping[int, tuple[float, Hop | None]]


class FlowWeights(NamedTuple):
    """Prizes of declarations on the way, 0 to 1, and costs of passing them.

    Attributes:
        default_cost: Cost of a declaration without an entry.
        terminals: Declarations that the flow should lead to, best first.
    """

    prizes: Mapping[int, float]
    costs: Mapping[int, float]
    default_cost: float
    terminals: Sequence[int]


class FlowSearch:
    """Search over the hops around what a question found.

    Args:
        hops: Hops by source and target.
        weights: Prizes and costs of the declarations.
    """

    def __init__(self, hops: Hops, weights: FlowWeights) -> None:
        self._hops = hops
        self._weights = weights
        self._terminals = weights.terminals
        self._incoming: dict[int, list[Hop]] = {}
        for targets in hops.values():
            for hop in targets.values():
                self._incoming.setdefault(hop.target, []).append(hop)

    def find_path(self, starts: Collection[int], finishes: Collection[int]) -> list[Hop]:
        """Find the cheapest way from one of some declarations to one of others; empty if there is none."""
        ahead = self._measure(starts, self._list_outgoing, _get_target, _MAX_PATH_COST, _MAX_PATH_DEPTH)
        reached = [(ahead[finish][0], finish) for finish in finishes if finish in ahead and finish not in starts]
        return _trace(min(reached)[1], ahead, _get_source)[::-1] if reached else []

    def find_trees(self, path: Sequence[Hop] = ()) -> tuple[list[int], list[Hop]]:
        """Find the roots and the hops of the trees.

        Args:
            path: Hops that the first tree has in any case, from its start.
        """
        start = path[0].source if path else None
        first = self._terminals[0] if start is None else start
        roots, chosen = [first], {hop.target: hop for hop in path}
        nodes = {first, *chosen}
        while len(nodes) < MAX_DECLARATIONS:
            ahead = self._measure(nodes, self._list_outgoing, _get_target)
            open_roots = [root for root in roots if root != start]
            behind = self._measure(open_roots, lambda node: self._incoming.get(node, ()), _get_source)
            ways = self._list_ways(nodes, ahead, behind)
            ways = [(way, is_behind) for way, is_behind in ways if len(nodes) + len(way) <= MAX_DECLARATIONS]
            gains = [self._compute_gain(way, nodes) for way, _ in ways]
            gain, position = max(((gain, -number) for number, gain in enumerate(gains)), default=(0.0, 0))
            apart = next((node for node in self._terminals if node not in nodes), None)
            if (
                apart is not None
                and self._get_prize(apart) - _GAP_COST > max(gain, _MIN_GAIN)
                and len(roots) < _MAX_TREES
            ):
                roots.append(apart)
                nodes.add(apart)
                continue
            if gain < _MIN_GAIN:
                break
            way, is_behind = ways[-position]
            if is_behind:
                roots[roots.index(way[-1].target)] = way[0].source
            for hop in way:
                chosen[hop.target] = hop
                nodes.update((hop.source, hop.target))
        return roots, list(chosen.values()) or self._list_first_calls(first)

    def _list_first_calls(self, node: int) -> list[Hop]:
        """List the first calls of a declaration, for a question that nothing else is relevant to."""
        calls = [hop for hop in self._list_outgoing(node) if hop.kind == "calls"]
        return sorted(calls, key=lambda hop: hop.line)[:_MAX_FIRST_CALLS]

    def _list_outgoing(self, node: int) -> Iterable[Hop]:
        return self._hops.get(node, {}).values()

    def _list_ways(self, nodes: set[int], ahead: _Arrivals, behind: _Arrivals) -> Iterable[tuple[list[Hop], bool]]:
        """Yield the way to each terminal that is not reached yet, and whether it leads to a root instead."""
        for terminal in self._terminals:
            if terminal in nodes:
                continue
            if terminal in ahead:
                yield _trace(terminal, ahead, _get_source)[::-1], False
            if terminal in behind:
                way = _trace(terminal, behind, _get_target)
                if not nodes.intersection(hop.source for hop in way):
                    yield way, True

    def _measure(
        self,
        starts: Iterable[int],
        step: Callable[[int], Iterable[Hop]],
        get_end: Callable[[Hop], int],
        max_cost: float = _MAX_COST,
        max_depth: int = _MAX_DEPTH,
    ) -> _Arrivals:
        """Return the cost of the cheapest way to each declaration in reach, with its last hop."""
        settled: dict[int, tuple[float, Hop | None]] = {}
        waiting: list[tuple[float, int, int, Hop | None]] = [(0.0, 0, node, None) for node in sorted(starts)]
        while waiting:
            distance, depth, node, via = heappop(waiting)
            if node in settled:
                continue
            settled[node] = (distance, via)
            for hop in step(node) if depth < max_depth else ():
                end = get_end(hop)
                if end not in settled:
                    further = distance + hop.cost + self._get_cost(end)
                    if further <= max_cost:
                        heappush(waiting, (further, depth + 1, end, hop))
        return settled

    def _get_prize(self, node: int) -> float:
        return self._weights.prizes.get(node, 0.0)

    def _get_cost(self, node: int) -> float:
        return self._weights.costs.get(node, self._weights.default_cost)

    def _compute_gain(self, way: Sequence[Hop], nodes: set[int]) -> float:
        """Return what a way is worth: the prizes of what it adds, less the costs."""
        added = {hop.target for hop in way} | {hop.source for hop in way} - nodes
        added -= nodes
        return sum(map(self._get_prize, added)) - sum(map(self._get_cost, added)) - sum(hop.cost for hop in way)


def _trace(node: int, arrivals: _Arrivals, get_previous: Callable[[Hop], int]) -> list[Hop]:
    way: list[Hop] = []
    while (hop := arrivals[node][1]) is not None:
        way.append(hop)
        node = get_previous(hop)
    return way
