"""Calls around a declaration, each with its line: who calls it, and what its code uses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, get_args

from coderag.codegraph.declaration_groups import FUNCTION_KINDS, TYPE_KINDS
from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.relations import CALL_RELATIONS, USE_RELATIONS
from coderag.codegraph.symbol_graph import GraphEdge
from coderag.errors import UnknownNameError
from coderag.schema.browse import CodeLink
from coderag.schema.graph import GraphDeclaration
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE, EdgeRelation, Kind
from coderag.stores.graph_tables import FILE_KIND

_CALLABLE_KINDS: Final = FUNCTION_KINDS | TYPE_KINDS
_DECLARATION_KINDS: Final[frozenset[str]] = frozenset(get_args(Kind))
_LINK_RELATIONS: Final[tuple[EdgeRelation, ...]] = (*USE_RELATIONS, "imports")
_SECONDARY_ROLES: Final = frozenset({"test", "example", "generated", "vendored"})


@dataclass(frozen=True, slots=True)
class CallSites:
    """Calls of a declaration by another.

    Attributes:
        node: The caller.
        edge: Its surest call.
        confidence: Confidence of that call.
        lines: Lines of all its calls, in order.
    """

    node: int
    edge: GraphEdge
    confidence: float
    lines: Sequence[int]


class CallReader:
    """Reader of the calls around declarations.

    Args:
        graph: The code graph.
        candidates: Whether to include uncertain candidates of ambiguous names.
    """

    def __init__(self, graph: CodeGraph, *, candidates: bool = False) -> None:
        self._graph = graph
        self._symbols = graph.symbols
        self._min_confidence = 0.0 if candidates else MIN_RESOLVED_CONFIDENCE
        self._declarations: dict[int, GraphDeclaration] = {}

    def resolve(self, name: str) -> list[int]:
        """Return the nodes of the declaration that a name means. Raises as the queries of `CodeGraph`."""
        nodes = self._graph.symbol_resolver.resolve(name, _CALLABLE_KINDS, _DECLARATION_KINDS, {FILE_KIND})
        if not self._symbols.paths[nodes[0]]:
            raise UnknownNameError(f"{name} is outside the repository", hint="Its callers are listed by the graph.")
        return nodes

    def describe(self, node: int) -> GraphDeclaration:
        """Return a node as a public result."""
        if node not in self._declarations:
            self._declarations[node] = self._graph.symbol_resolver.to_declaration(node)
        return self._declarations[node]

    def find_callers(self, nodes: Sequence[int]) -> list[CallSites]:
        """Return the callers of a declaration, tests last, then the surest first.

        A call of a method that it overrides, and of the type that it constructs, counts as a call of it.
        """
        targets = self._find_targets(nodes)
        positions = self._symbols.find_edge_positions(list(targets), "in", CALL_RELATIONS, self._min_confidence)
        calls: dict[int, list[tuple[float, GraphEdge]]] = {}
        for edge in self._symbols.read_edges(positions):
            calls.setdefault(edge.source, []).append((min(edge.confidence, targets[edge.target]), edge))
        sites = []
        for source, edges in calls.items():
            confidence, edge = max(edges, key=lambda entry: entry[0])
            sites.append(CallSites(source, edge, confidence, sorted({edge.line for _, edge in edges})))
        return sorted(sites, key=self._rank_caller)

    def find_links(self, nodes: Sequence[int], start_line: int, end_line: int) -> list[CodeLink]:
        """Return the uses of declarations by some nodes, between two lines, by line."""
        positions = self._symbols.find_edge_positions(nodes, "out", _LINK_RELATIONS, self._min_confidence)
        lines = self._symbols.lines[positions]
        positions = positions[(lines >= start_line) & (lines <= end_line)]
        edges = {(edge.line, edge.target): edge for edge in reversed(self._symbols.read_edges(positions))}
        return [self._to_link(edges[key]) for key in sorted(edges)]

    def find_own_nodes(self, node: int) -> list[int]:
        """Return a declaration with all declarations inside it; of a file, all its nodes."""
        if self._symbols.kinds[node] == FILE_KIND:
            return list(self._symbols.get_file_nodes(node))
        return [node, *self._symbols.find_descendants(node)]

    def _find_targets(self, nodes: Sequence[int]) -> dict[int, float]:
        """Return the nodes whose calls are calls of a declaration, with the confidence that they are."""
        groups = self._graph.declaration_groups
        targets = dict.fromkeys(nodes, 1.0)
        for node in nodes:
            for constructor in groups.find_constructors(node):
                targets.setdefault(constructor, 1.0)
            for other, confidence in groups.find_use_targets(node):
                targets.setdefault(other, confidence)
        return targets

    def _rank_caller(self, sites: CallSites) -> tuple[bool, float, str, int]:
        node = self._symbols.get_node(sites.node)
        return node.role in _SECONDARY_ROLES, -sites.confidence, node.path, node.start_line

    def _to_link(self, edge: GraphEdge) -> CodeLink:
        target = self._graph.declaration_groups.find_definition(edge.target)
        name = self._symbols.names[target].as_py()
        return CodeLink(edge.line, edge.relation, name, self.describe(target), edge.confidence, edge.resolver)
