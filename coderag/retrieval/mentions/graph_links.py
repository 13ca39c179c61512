"""Lines that edges of the code graph explain."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from coderag.codegraph.declaration_groups import FUNCTION_KINDS
from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.symbol_graph import GraphEdge, GraphNode
from coderag.retrieval.mentions.targets import MentionTarget
from coderag.schema.chunks import SymbolRecord
from coderag.stores.graph_tables import FILE_KIND

_MAX_NAMESAKES: Final = 500
"""Declarations of one name whose edges are read."""


@dataclass(slots=True)
class GraphLinks:
    """Edges to a name's declarations, and other declarations of the name.

    Attributes:
        own_lines: Path and line of each edge to one of the target's declarations.
        users: Path and qualified name of their sources; a file's name is empty.
        other_lines: Path and line of each edge to another declaration of the name.
        namesakes: All declarations of the name, by path.
    """

    own_lines: set[tuple[str, int]] = field(default_factory=set)
    users: set[tuple[str, str]] = field(default_factory=set)
    other_lines: set[tuple[str, int]] = field(default_factory=set)
    namesakes: dict[str, list[GraphNode]] = field(default_factory=dict)

    def contains(self, path: str, line: int, enclosing: Sequence[SymbolRecord]) -> bool:
        """Return whether an edge to the target explains a line: its own, or another of the same user."""
        if (path, line) in self.own_lines:
            return True
        if not enclosing:
            return (path, "") in self.users
        inner = enclosing[-1]
        return any(
            (path, symbol["qualified_name"]) in self.users
            for symbol in enclosing
            if symbol is inner or symbol["kind"] in FUNCTION_KINDS
        )


def find_graph_links(graph: CodeGraph, target: MentionTarget) -> GraphLinks:
    """Find the edges that explain lines with a target's name."""
    symbols, links = graph.symbols, GraphLinks()
    own_nodes = {node.id for node in target.nodes}
    for node in list(own_nodes):
        own_nodes.update(other for other, _ in graph.declaration_groups.find_use_targets(node))
        own_nodes.update(graph.declaration_groups.find_constructors(node))
    if target.is_file:
        files = [node for node in own_nodes if symbols.kinds[node] == FILE_KIND]
        own_nodes.update(inside for file in files for inside in symbols.get_file_nodes(file))
    namesakes = _find_namesakes(graph, target.pattern.words)
    for node in namesakes:
        links.namesakes.setdefault(symbols.paths[node], []).append(symbols.get_node(node))
    for edge in _read_edges(graph, own_nodes):
        path = symbols.paths[edge.source]
        links.own_lines.add((path, edge.line))
        if edge.relation not in ("imports", "documents"):
            name = "" if symbols.kinds[edge.source] == FILE_KIND else symbols.qualified_names[edge.source].as_py()
            links.users.add((path, name))
    links.other_lines = {
        (symbols.paths[edge.source], edge.line) for edge in _read_edges(graph, set(namesakes) - own_nodes)
    } - links.own_lines
    return links


def _find_namesakes(graph: CodeGraph, words: Iterable[str]) -> list[int]:
    """Return the nodes with one of some names, in the order of the graph."""
    import pyarrow as pa  # noqa: PLC0415  # 0.1 s
    import pyarrow.compute as pc  # noqa: PLC0415

    if not graph.symbols.n_nodes:
        return []
    mask = pc.is_in(graph.symbols.names, value_set=pa.array(list(words), graph.symbols.names.type))
    rows: list[int] = np.flatnonzero(mask.to_numpy(zero_copy_only=False))[:_MAX_NAMESAKES].tolist()
    return [row for row in rows if graph.symbols.kinds[row] != FILE_KIND]


def _read_edges(graph: CodeGraph, nodes: Iterable[int]) -> list[GraphEdge]:
    positions = graph.symbols.find_edge_positions(sorted(nodes), "in")
    return graph.symbols.read_edges(positions)
