"""Hops of a flow: calls, and what control or data passes through where known calls end (callbacks, tables, shared fields)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice, permutations
from typing import Final, Literal

from coderag.answering.evidence.declared import CALLABLE, CALLS, MAX_UNSURE_CONFIDENCE, TYPES
from coderag.answering.evidence.index_reader import IndexReader

HopKind = Literal["calls", "dispatches", "passes", "lists", "contains", "uses", "shares"]
"""How a flow goes on: ``dispatches``: the call of a method that the target overrides; ``passes``: a function as a value;
``lists``: a table of functions; ``uses``: such a table; ``contains``: a function inside; ``shares``: a field that both use."""

_VALUES: Final = frozenset({"variable", "constant", "field"})
_MUTABLE: Final = frozenset({"variable", "field", "property"})
_MAX_OVERRIDES: Final = 8
_MAX_TABLES: Final = 8
_MAX_NAMESAKES: Final = 60  # methods that were found
_MIN_NAME_CHARS: Final = 4
_NAMESAKE_CONFIDENCE: Final = 0.4  # of a call that a method of the same name may answer
_MAX_SHARING: Final = 4  # functions; a field that more use says nothing of the way
_MIN_CONFIDENCE: Final = 0.1  # of calls; the unsure ones cost more
_COSTS: Final[dict[HopKind, float]] = {
    "calls": 0.0, "dispatches": 0.12, "passes": 0.15, "lists": 0.1, "contains": 0.02, "uses": 0.1, "shares": 0.2,
}  # fmt: skip
_UNSURE_COST: Final = 0.45
_RELATIONS: Final = (*CALLS, "references")


@dataclass(frozen=True, slots=True, order=True)
class Hop:
    """Step from one declaration to another, by node.

    Attributes:
        line: Line that shows it, in the file of `origin`, else of the source.
        via: Field that both use, for ``shares``; else -1.
        origin: Declaration of the source that has the line, such as the definition of a prototype; -1 for the source itself.
        cost: What it costs to go this way, without that of its target.
    """

    source: int
    target: int
    kind: HopKind
    line: int
    confidence: float
    via: int = -1
    origin: int = -1

    @property
    def cost(self) -> float:
        """Cost of the hop itself."""
        return _COSTS[self.kind] + (
            _UNSURE_COST * (1 - self.confidence) if self.confidence <= MAX_UNSURE_CONFIDENCE else 0.0
        )


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
        self._join_tables(depth_in, limit)
        self._join_sharing()

    def _read_around(self, depth_out: int, depth_in: int, limit: int) -> None:
        seen = set(self._seeds)
        level = list(self._seeds)
        for _ in range(depth_out):
            level = self._read_outgoing(level, seen, limit)
        self._read_incoming(self._seeds, depth_in, limit)

    def _read_incoming(self, nodes: Iterable[int], depth: int, limit: int) -> None:
        level = list(nodes)
        known = set(level)
        for _ in range(depth):
            level = [source for source in self._find_sources(level) if source not in known][:limit]
            known.update(level)
            self._read_outgoing([source for source in level if source not in self.hops], known, 0)

    def _read_outgoing(self, level: Iterable[int], seen: set[int], limit: int) -> list[int]:
        """Read the hops from some nodes, and return the nodes that are new."""
        symbols, new = self._symbols, list[int]()
        owners = {other: node for node in level for other in self._list_parts(node)}
        edges = symbols.read_edges(symbols.find_edge_positions(list(owners), "out", _RELATIONS, _MIN_CONFIDENCE))
        methods = {
            edge.target for edge in edges if edge.relation != "references" and symbols.kinds[edge.target] == "method"
        }
        self._read_overrides(methods)
        self._read_tables({edge.target for edge in edges if symbols.kinds[edge.target] in _VALUES})
        for edge in edges:
            for hop in self._to_hops(owners[edge.source], edge.relation, edge.target, edge.line, edge.confidence):
                self._add(replace(hop, origin=edge.source))
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
        symbols = self._symbols
        targets = [part for node in nodes for part in self._list_parts(node)]
        overridden = symbols.targets[symbols.find_edge_positions(targets, "out", ("overrides",))].tolist()
        positions = symbols.find_edge_positions([*targets, *overridden], "in", _RELATIONS, _MIN_CONFIDENCE)
        outer = [int(symbols.parents[node]) for node in targets]
        sources = dict.fromkeys([*symbols.sources[positions].tolist(), *(node for node in outer if node >= 0)])
        return [
            self._index.find_representative(node)
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
                yield Hop(
                    source, self._index.find_representative(target), "lists" if is_table else "passes", line, confidence
                )
            elif target in self._tables:
                yield Hop(source, target, "passes", line, confidence)
            return
        if kind in TYPES:
            constructors = groups.find_constructors(target)
            target = constructors[0] if len(constructors) == 1 else target
        yield Hop(source, self._index.find_representative(target), "calls", line, confidence)
        for override in self._overrides.get(target, ()):
            yield Hop(source, override, "dispatches", line, min(confidence, MAX_UNSURE_CONFIDENCE))

    def _read_overrides(self, methods: set[int]) -> None:
        """Read the methods that override some methods; where there are many, none says where the flow goes."""
        symbols = self._symbols
        unread = sorted(methods - self._overrides.keys())
        self._overrides.update({method: [] for method in unread})
        for position in symbols.find_edge_positions(unread, "in", ("overrides",)).tolist():
            override = self._index.find_representative(int(symbols.sources[position]))
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

    def _join_tables(self, depth_in: int, limit: int) -> None:
        """Join tables of functions with the functions beside them that name them: `TABLE[name](...)` is no known call."""
        symbols = self._symbols
        users: dict[int, None] = {}
        for table in [node for node in self.hops if symbols.kinds[node] in _VALUES][:_MAX_TABLES]:
            file = symbols.find_containing_file(table)
            name = re.compile(rf"\b{re.escape(symbols.names[table].as_py())}\b")
            for node in symbols.get_file_nodes(file) if file is not None else ():
                line = self._find_line(node, name) if symbols.kinds[node] in CALLABLE else None
                if line is not None and node not in self.hops[table]:
                    self._add(Hop(node, table, "uses", line, 1.0))
                    users[node] = None
        self._read_incoming(users, depth_in + 1, limit)

    def _find_line(self, node: int, pattern: re.Pattern[str]) -> int | None:
        """Find the first line of a function that matches."""
        lines = self._index.read_declaration(self._index.get_declaration(node))
        texts = lines.text.split("\n") if lines else []
        first = int(self._symbols.start_lines[node])
        return next((first + number for number, text in enumerate(texts) if pattern.search(text)), None)

    def join_namesakes(self, candidates: Iterable[int]) -> None:
        """Join functions with methods that were found by calls of their names on objects of unknown type.

        Args:
            candidates: Declarations that were found.
        """
        symbols = self._symbols
        by_name: dict[str, list[int]] = {}
        for node in islice(candidates, _MAX_NAMESAKES):
            if symbols.kinds[node] == "method" and len(symbols.names[node].as_py()) >= _MIN_NAME_CHARS:
                by_name.setdefault(symbols.names[node].as_py(), []).append(node)
        if not by_name:
            return
        pattern = re.compile(rf"(?:\.|->)({'|'.join(map(re.escape, by_name))})\(")
        callees = [
            hop.target for seed in self._seeds for hop in self.hops.get(seed, {}).values() if hop.kind == "calls"
        ]
        neighbours = [node for node in callees if symbols.paths[node] in {symbols.paths[seed] for seed in self._seeds}]
        for node in dict.fromkeys([*self._seeds, *neighbours]):
            called = {symbols.names[target].as_py() for target in self.hops.get(node, ())}
            lines = (
                self._index.read_declaration(self._index.get_declaration(node))
                if symbols.kinds[node] in CALLABLE
                else None
            )
            for number, text in enumerate(lines.text.split("\n") if lines else (), int(symbols.start_lines[node])):
                for name in dict.fromkeys(pattern.findall(text)):
                    for target in by_name[name] if name not in called else ():
                        if symbols.languages[node] == symbols.languages[target]:
                            self._add(Hop(node, target, "dispatches", number, _NAMESAKE_CONFIDENCE))

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
