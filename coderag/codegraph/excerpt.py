"""Relations of some declarations as a compact map: one line per declaration.

``Context.invoke (src/click/core.py:768) — calls ensure_value:661, Context.make (src/click/make.py:12); called by …``
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from types import MappingProxyType
from typing import Final

import numpy as np

from coderag.codegraph.relations import NEIGHBOUR_RELATIONS
from coderag.codegraph.symbol_graph import DIRECTIONS, GraphNode, SymbolGraph
from coderag.schema.vocabulary import GraphRelation
from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND

_PHRASES: Final[Mapping[GraphRelation, str]] = MappingProxyType(
    {
        "caller": "called by",
        "callee": "calls",
        "base": "extends",
        "derived": "extended by",
        "interface_of": "implements",
        "implementation": "implemented by",
        "overridden": "overrides",
        "override": "overridden by",
        "test_for": "tested by",
        "user": "used by",
    }
)
"""In the order in which a line lists them."""

_MAX_NAMES = 4  # per relation of a declaration
_MAX_EDGES = 200
_MAX_NAME_CHARS = 160

CodeSpan = tuple[str, str, int, int]
"""Path, qualified name, first and last line."""


def format_excerpt(graph: SymbolGraph, spans: Iterable[CodeSpan]) -> list[str]:
    """Return the relations of declarations, one line each, in order; declarations without relations are left out.

    Args:
        graph: The code graph.
        spans: Locations of the declarations; within a line, names from this list come first.
    """
    nodes = dict.fromkeys(node for span in spans if (node := _find_node(graph, *span)) is not None)
    return [line for node in nodes if (line := _format_line(graph, node, frozenset(nodes)))]


def _find_node(graph: SymbolGraph, path: str, name: str, start: int, end: int) -> int | None:
    """Return the declaration of that name in some lines, else the first in them, else the innermost around them."""
    file = graph.find_file(path)
    if file is None:
        return None
    file_nodes = graph.get_file_nodes(file)
    lines = graph.start_lines[file_nodes.start : file_nodes.stop]
    starting_nodes = (np.flatnonzero((start <= lines) & (lines <= end)) + file_nodes.start).tolist()
    declarations = [node for node in starting_nodes if node != file]
    exact_matches = [node for node in declarations if graph.qualified_names[node].as_py() == name]
    return next(iter(exact_matches or declarations), None) or graph.find_innermost(path, start)


def _format_line(graph: SymbolGraph, node: int, listed_nodes: frozenset[int]) -> str:
    subject = graph.get_node(node)
    if subject.kind == FILE_KIND:
        return ""
    nodes_by_relation: dict[GraphRelation, set[int]] = defaultdict(set)
    for far, relation in _find_neighbours(graph, node):
        nodes_by_relation[relation].add(far)
    parts = [
        _format_relation(graph, subject, phrase, nodes_by_relation[relation], listed_nodes)
        for relation, phrase in _PHRASES.items()
        if relation in nodes_by_relation
    ]
    location = f"{_escape_inline(subject.path)}:{subject.start_line}"
    return f"`{_escape_inline(subject.qualified_name)}` ({location}) — {'; '.join(parts)}" if parts else ""


def _find_neighbours(graph: SymbolGraph, node: int) -> Iterator[tuple[int, GraphRelation]]:
    """Yield the node at the other end of each edge of a declaration, and its relation to the declaration."""
    for direction in DIRECTIONS:
        positions = graph.find_edge_positions([node], direction)
        strongest = positions[np.argsort(-graph.confidences[positions], kind="stable")[:_MAX_EDGES]]
        ends = (graph.targets if direction == "out" else graph.sources)[strongest]
        for code, far in zip(graph.relations.codes[strongest].tolist(), ends.tolist(), strict=True):
            relation = NEIGHBOUR_RELATIONS[graph.relations.values[code], direction]
            if relation in _PHRASES and far != node and graph.kinds[far] != EXTERNAL_KIND:
                yield far, relation


def _format_relation(
    graph: SymbolGraph, subject: GraphNode, phrase: str, nodes: Set[int], listed_nodes: frozenset[int]
) -> str:
    ordered_nodes = sorted(nodes, key=lambda node: (node not in listed_nodes, -graph.centralities[node], node))
    names = ", ".join(_format_name(graph.get_node(node), subject) for node in ordered_nodes[:_MAX_NAMES])
    more = f" and {len(ordered_nodes) - _MAX_NAMES} more" if len(ordered_nodes) > _MAX_NAMES else ""
    return f"{phrase} {names}{more}"


def _format_name(node: GraphNode, subject: GraphNode) -> str:
    """Return a name with its line, and with its path if that differs from the subject's."""
    name = f"`{_escape_inline(node.qualified_name)}`"
    return (
        f"{name}:{node.start_line}"
        if node.path == subject.path
        else f"{name} ({_escape_inline(node.path)}:{node.start_line})"
    )


def _escape_inline(text: str) -> str:
    """Return a name or path without characters that would end its line or code span."""
    if not text.isprintable():
        text = "".join(character if character.isprintable() else " " for character in text)
    plain = " ".join(text.replace("`", "'").split())
    return plain if len(plain) <= _MAX_NAME_CHARS else f"{plain[:_MAX_NAME_CHARS]}…"
