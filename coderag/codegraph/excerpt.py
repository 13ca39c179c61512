"""What the code graph knows of some declarations, as a compact map: one line a declaration.

``Context.invoke (src/click/core.py:768) — calls ensure_value:661, Context.make (src/click/make.py:12); called by …``
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from types import MappingProxyType
from typing import Final

import numpy as np

from coderag.codegraph.relations import NOUNS
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
"""In the order in which a line tells them."""

_MOST_NAMES = 4  # of one relation of one declaration
_MOST_EDGES = 200
_LONGEST_NAME = 160  # characters

Place = tuple[str, str, int, int]
"""Path, qualified name, first and last line of a piece of code."""


def graph_excerpt(graph: SymbolGraph, shown: Iterable[Place]) -> list[str]:
    """Return the relations of declarations, one line each, in their order; those without any are left out.

    Args:
        graph: The code graph.
        shown: Where each is; names of others among them come first in a line.
    """
    nodes = dict.fromkeys(node for place in shown if (node := _node_at(graph, *place)) is not None)
    return [line for node in nodes if (line := _line(graph, node, frozenset(nodes)))]


def _node_at(graph: SymbolGraph, path: str, name: str, start: int, end: int) -> int | None:
    """Return the declaration of a name in some lines, else the first that begins in them, else what is around them."""
    file = graph.file_node(path)
    if file is None:
        return None
    inside = graph.nodes_of_file(file)
    lines = graph.start_lines[inside.start : inside.stop]
    begin = (np.flatnonzero((start <= lines) & (lines <= end)) + inside.start).tolist()
    declared = [node for node in begin if node != file]
    named = [node for node in declared if graph.qualified_names[node].as_py() == name]
    return next(iter(named or declared), None) or graph.at(path, start)


def _line(graph: SymbolGraph, node: int, shown: frozenset[int]) -> str:
    own = graph.node(node)
    if own.kind == FILE_KIND:
        return ""
    named: dict[GraphRelation, set[int]] = defaultdict(set)
    for far, noun in _ends(graph, node):
        named[noun].add(far)
    parts = [_part(graph, own, phrase, named[noun], shown) for noun, phrase in _PHRASES.items() if noun in named]
    place = f"{_one_line(own.path)}:{own.start_line}"
    return f"`{_one_line(own.qualified_name)}` ({place}) — {'; '.join(parts)}" if parts else ""


def _ends(graph: SymbolGraph, node: int) -> Iterator[tuple[int, GraphRelation]]:
    """Yield what is at the other ends of a declaration's edges, and what it is to it."""
    for direction in DIRECTIONS:
        found = graph.positions([node], direction)
        surest = found[np.argsort(-graph.confidences[found], kind="stable")[:_MOST_EDGES]]
        ends = (graph.targets if direction == "out" else graph.sources)[surest]
        for code, far in zip(graph.relations.codes[surest].tolist(), ends.tolist(), strict=True):
            noun = NOUNS[graph.relations.words[code], direction]
            if noun in _PHRASES and far != node and graph.kinds[far] != EXTERNAL_KIND:
                yield far, noun


def _part(graph: SymbolGraph, own: GraphNode, phrase: str, found: Set[int], shown: frozenset[int]) -> str:
    order = sorted(found, key=lambda node: (node not in shown, -graph.centralities[node], node))
    names = ", ".join(_name(graph.node(node), own) for node in order[:_MOST_NAMES])
    more = f" and {len(order) - _MOST_NAMES} more" if len(order) > _MOST_NAMES else ""
    return f"{phrase} {names}{more}"


def _name(node: GraphNode, own: GraphNode) -> str:
    """Return a name with its place; the path only if it is another file's."""
    name = f"`{_one_line(node.qualified_name)}`"
    return (
        f"{name}:{node.start_line}" if node.path == own.path else f"{name} ({_one_line(node.path)}:{node.start_line})"
    )


def _one_line(text: str) -> str:
    """Return a name or path without what would end its line or its code span: a repository may name things as it likes."""
    if not text.isprintable():
        text = "".join(sign if sign.isprintable() else " " for sign in text)
    plain = " ".join(text.replace("`", "'").split())
    return plain if len(plain) <= _LONGEST_NAME else f"{plain[:_LONGEST_NAME]}…"
