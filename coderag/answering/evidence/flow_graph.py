"""Hops of a flow: calls, and what control or data passes through where known calls end (callbacks, tables, shared fields)."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations
from typing import Final, Literal

from coderag.answering.evidence.index_reader import CALLABLE, CALLS, PERHAPS, TYPES, IndexReader

HopKind = Literal["calls", "dispatches", "passes", "lists", "contains", "shares"]
"""How a flow goes on: ``dispatches``: the call of a method that the target overrides; ``passes``: a function as a value;
``lists``: a table of functions; ``contains``: a function inside; ``shares``: a field that both use."""

_VALUES: Final = frozenset({"variable", "constant", "field"})
_MUTABLE: Final = frozenset({"variable", "field", "property"})
_MAX_OVERRIDES: Final = 8
_MAX_SHARING: Final = 4  # functions; a field that more use says nothing of the way
_MIN_CONFIDENCE: Final = 0.1  # of calls; the unsure ones cost more
_COSTS: Final[dict[HopKind, float]] = {
    "calls": 0.0, "dispatches": 0.12, "passes": 0.15, "lists": 0.1, "contains": 0.02, "shares": 0.2,
}  # fmt: skip
_UNSURE_COST: Final = 0.45
_RELATIONS: Final = (*CALLS, "references")


@dataclass(frozen=True, slots=True, order=True)
class Hop:
    """Step from one declaration to another, by node.

    Attributes:
        line: Line that shows it, in the source's file.
        via: Field that both use, for ``shares``; else -1.
        cost: What it costs to go this way, without that of its target.
    """

    source: int
    target: int
    kind: HopKind
    line: int
    confidence: float
    via: int = -1

    @property
    def cost(self) -> float:
        """Cost of the hop itself."""
        return _COSTS[self.kind] + (_UNSURE_COST * (1 - self.confidence) if self.confidence <= PERHAPS else 0.0)


class FlowGraph:
    """Hops around the declarations that a question found.

    Args:
        index: The open index.
        seeds: Nodes from which the graph is read.
        depth_out: Hops followed from the seeds.
        depth_in: Hops followed backwards.
        limit: Nodes, at most.
    """

    def __init__(self, index: IndexReader, seeds: Iterable[int], *, depth_out: int, depth_in: int, limit: int) -> None:
        self._index = index
        self._symbols = index.symbols
        self.hops: dict[int, dict[int, Hop]] = {}
        self._seeds = list(seeds)
        self._overrides: dict[int, list[int]] = {}
        self._tables: set[int] = set()
        self._read_around(depth_out, depth_in, limit)
        self._join_sharing()

    def _read_around(self, depth_out: int, depth_in: int, limit: int) -> None:
        seen = set(self._seeds)
        level = list(self._seeds)
        for _ in range(depth_out):
            level = self._read_outgoing(level, seen, limit)
        level, callers = list(self._seeds), set(self._seeds)
        for _ in range(depth_in):
            sources = [source for source in self._find_sources(level) if source not in callers][:limit]
            callers.update(sources)
            self._read_outgoing(sources, seen | callers, 0)
            level = sources

    def _read_outgoing(self, level: Iterable[int], seen: set[int], limit: int) -> list[int]:
        """Read the hops from some nodes, and return the nodes that are new."""
        symbols, new = self._symbols, list[int]()
        owners = {other: node for node in level for other in self._list_parts(node)}
        edges = symbols.read_edges(symbols.find_edge_positions(list(owners), "out", _RELATIONS, _MIN_CONFIDENCE))
        methods = {edge.target for edge in edges if edge.relation != "references" and symbols.kinds[edge.target] == "method"}
        self._read_overrides(methods)
        self._read_tables({edge.target for edge in edges if symbols.kinds[edge.target] in _VALUES})
        for edge in edges:
            for hop in self._to_hops(owners[edge.source], edge.relation, edge.target, edge.line, edge.confidence):
                self._add(hop)
                if hop.target not in seen and len(seen) < limit:
                    seen.add(hop.target)
                    new.append(hop.target)
        for node in dict.fromkeys(owners.values()):
            for child in symbols.find_children(node) if symbols.kinds[node] in CALLABLE else ():
                if symbols.kinds[child] in CALLABLE:
                    self._add(Hop(node, child, "contains", int(symbols.start_lines[child]), 1.0))
                    if child not in seen and len(seen) < limit:
                        seen.add(child)
                        new.append(child)
        return new

    def _list_parts(self, node: int) -> list[int]:
        """List the nodes whose calls are a node's own: its other declarations."""
        return self._index.graph.declaration_groups.find_group(node)

    def _find_sources(self, nodes: Iterable[int]) -> list[int]:
        symbols, groups = self._symbols, self._index.graph.declaration_groups
        targets = [part for node in nodes for part in self._list_parts(node)]
        overridden = symbols.targets[symbols.find_edge_positions(targets, "out", ("overrides",))].tolist()
        positions = symbols.find_edge_positions([*targets, *overridden], "in", _RELATIONS, _MIN_CONFIDENCE)
        outer = [int(symbols.parents[node]) for node in targets]
        sources = dict.fromkeys([*symbols.sources[positions].tolist(), *(node for node in outer if node >= 0)])
        return [
            groups.find_definition(node)
            for node in sources
            if symbols.roles[node] == "source" and symbols.kinds[node] in CALLABLE | _VALUES
        ]

    def _to_hops(self, source: int, relation: str, target: int, line: int, confidence: float) -> Iterable[Hop]:
        symbols, groups = self._symbols, self._index.graph.declaration_groups
        kind = symbols.kinds[target]
        if not symbols.paths[target] or symbols.roles[target] != "source":
            return
        if relation == "references":
            if kind in CALLABLE:
                is_table = symbols.kinds[source] in _VALUES
                yield Hop(source, groups.find_definition(target), "lists" if is_table else "passes", line, confidence)
            elif target in self._tables:
                yield Hop(source, target, "passes", line, confidence)
            return
        if kind in TYPES:
            constructors = groups.find_constructors(target)
            target = constructors[0] if len(constructors) == 1 else target
        yield Hop(source, groups.find_definition(target), "calls", line, confidence)
        for override in self._overrides.get(target, ()):
            yield Hop(source, override, "dispatches", line, min(confidence, PERHAPS))

    def _read_overrides(self, methods: set[int]) -> None:
        """Read the methods that override some methods; where there are many, none says where the flow goes."""
        symbols, groups = self._symbols, self._index.graph.declaration_groups
        unread = sorted(methods - self._overrides.keys())
        self._overrides.update({method: [] for method in unread})
        for position in symbols.find_edge_positions(unread, "in", ("overrides",)).tolist():
            override = groups.find_definition(int(symbols.sources[position]))
            known = self._overrides[int(symbols.targets[position])]
            if symbols.roles[override] == "source" and override not in known:
                known.append(override)
        for method in unread:
            if len(self._overrides[method]) > _MAX_OVERRIDES:
                self._overrides[method] = []

    def _read_tables(self, values: set[int]) -> None:
        """Find the variables whose values refer to functions."""
        symbols = self._symbols
        positions = symbols.find_edge_positions(sorted(values - self._tables), "out", ("references",))
        pairs = zip(symbols.sources[positions].tolist(), symbols.targets[positions].tolist(), strict=True)
        self._tables.update(value for value, target in pairs if symbols.kinds[target] in CALLABLE)

    def _add(self, hop: Hop) -> None:
        if hop.source == hop.target:
            return
        hops = self.hops.setdefault(hop.source, {})
        known = hops.get(hop.target)
        if known is None or hop.cost < known.cost:
            hops[hop.target] = hop

    def _join_sharing(self) -> None:
        """Join seeds that use a field that few functions use: one may put there what the other takes out."""
        symbols = self._symbols
        lines: dict[int, dict[int, int]] = {}
        for edge in symbols.read_edges(symbols.find_edge_positions(self._seeds, "out", ("references",))):
            if symbols.kinds[edge.target] in _MUTABLE:
                lines.setdefault(edge.target, {}).setdefault(edge.source, edge.line)
        shared = [field for field, sources in lines.items() if len(sources) > 1]
        users: dict[int, set[int]] = {}
        for position in symbols.find_edge_positions(shared, "in", ("references",)).tolist():
            user = int(symbols.sources[position])
            if symbols.roles[user] == "source" and symbols.kinds[user] in CALLABLE:
                users.setdefault(int(symbols.targets[position]), set()).add(user)
        for field in shared:
            if len(users.get(field, ())) <= _MAX_SHARING:
                for source, target in permutations(lines[field], 2):
                    if symbols.parents[source] != target and symbols.parents[target] != source:
                        self._add(Hop(source, target, "shares", lines[field][source], 1.0, field))
