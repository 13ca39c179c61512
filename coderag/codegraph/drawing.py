"""Drawings of code graph results as Mermaid or Graphviz DOT.

Names and paths come from repositories and may contain any character. Mermaid output encodes every special character
as an entity; DOT output escapes them. Unprintable characters are spelled out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from coderag.schema.graph import GraphCycle, GraphNeighbour, OutlineEntry
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE, GraphRelation
from coderag.stores.graph_tables import FILE_KIND
from coderag.text.mermaid import escape_label, to_printable

DEFAULT_MAX_NODES: Final = 60
"""Maximum number of nodes by default; larger drawings are unreadable."""

_MAX_LABEL_CHARS = 100
_ARROWS: Final[Mapping[GraphRelation, tuple[str, bool]]] = MappingProxyType(
    {
        "caller": ("calls", False),
        "callee": ("calls", True),
        "imports": ("imports", True),
        "imported_by": ("imports", False),
        "base": ("extends", True),
        "derived": ("extends", False),
        "interface_of": ("implements", True),
        "implementation": ("implements", False),
        "override": ("overrides", False),
        "overridden": ("overrides", True),
        "user": ("refers to", False),
        "used": ("refers to", True),
        "test_for": ("tests", False),
        "tested": ("tests", True),
        "documentation": ("documents", False),
        "documented": ("documents", True),
    }
)
"""Verb of each relation, and whether the arrow points at the neighbour."""


class DrawnNode(NamedTuple):
    """A box.

    Attributes:
        lines: Lines of its label.
        is_marked: Whether it is the subject of the query.
    """

    lines: tuple[str, ...]
    is_marked: bool = False


class DrawnEdge(NamedTuple):
    """An arrow between two nodes, given by their positions; dashed unless `is_resolved`."""

    source: int
    target: int
    label: str
    is_resolved: bool = True


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes and arrows.

    Attributes:
        n_omitted: Number of omitted nodes or, in drawings of cycles, omitted cycles.
    """

    nodes: Sequence[DrawnNode]
    edges: Sequence[DrawnEdge]
    n_omitted: int = 0


def is_outgoing(relation: GraphRelation) -> bool:
    """Return whether the edge leads to the neighbour, as a call does to a callee.

    The evidence of an outgoing edge is in the file of the query's subject, not in the neighbour's.
    """
    return _ARROWS[relation][1]


def find_predecessors(neighbours: Sequence[GraphNeighbour]) -> list[int | None]:
    """Return for each neighbour the position of the one from which it was reached; None if it is not in the list.

    The predecessor may be the subject itself, or a node that only stands for a neighbour, such as an overridden method.
    """
    positions: dict[tuple[int, str], int] = {}
    for position, neighbour in enumerate(neighbours):
        positions.setdefault((neighbour.depth, neighbour.qualified_name), position)
    return [positions.get((neighbour.depth - 1, neighbour.via)) for neighbour in neighbours]


def draw_neighbours(name: str, neighbours: Sequence[GraphNeighbour], limit: int = DEFAULT_MAX_NODES) -> Drawing:
    """Draw the neighbours that `coderag.codegraph.graph.CodeGraph` returns, or the steps of a path.

    Args:
        name: Subject of the query.
        neighbours: The result.
        limit: Maximum number of neighbours to draw.
    """
    drawn_neighbours = neighbours[:limit]
    builder = _DrawingBuilder()
    for start in [neighbour.via or name for neighbour in drawn_neighbours if neighbour.depth == 1] or [name]:
        builder.place_name(start, is_marked=True)
    positions = [builder.place_neighbour(neighbour) for neighbour in drawn_neighbours]
    for neighbour, target, predecessor in zip(
        drawn_neighbours, positions, find_predecessors(drawn_neighbours), strict=True
    ):
        source = builder.place_name(neighbour.via or name) if predecessor is None else positions[predecessor]
        builder.connect(source, neighbour, target)
    return Drawing(builder.nodes, builder.edges, len(neighbours) - len(drawn_neighbours))


def draw_cycles(cycles: Sequence[GraphCycle], limit: int | None = None) -> Drawing:
    """Draw one closed path for each cycle, never a part of one.

    Args:
        cycles: The result.
        limit: Maximum number of cycles; by default as many as fit into `DEFAULT_MAX_NODES` boxes, at least one.
    """
    builder = _DrawingBuilder()
    n_omitted = 0
    for cycle in cycles[:limit]:
        if limit is None and builder.nodes and len(builder.nodes) + len(cycle.steps) > DEFAULT_MAX_NODES:
            n_omitted += 1
            continue
        positions = [builder.place_neighbour(step) for step in cycle.steps]
        for previous, step, target in zip([positions[-1], *positions], cycle.steps, positions, strict=False):
            builder.connect(previous, step, target)
    n_omitted += len(cycles) - len(cycles[:limit])
    return Drawing(builder.nodes, builder.edges, n_omitted)


def draw_outline(path: str, entries: Sequence[OutlineEntry], limit: int = DEFAULT_MAX_NODES) -> Drawing:
    """Draw the declarations of a file as a tree; the deepest are omitted first."""
    nodes = [DrawnNode((path,), is_marked=True)]
    edges: list[DrawnEdge] = []
    level = [(0, entry) for entry in entries]
    n_omitted = 0
    while level:
        next_level = []
        for parent, entry in level:
            if len(nodes) > limit:
                n_omitted += 1 + sum(1 for _ in _iterate_entries(entry.children))
                continue
            edges.append(DrawnEdge(parent, len(nodes), ""))
            next_level += [(len(nodes), child) for child in entry.children]
            nodes.append(DrawnNode((f"{entry.kind} {entry.name}", f"{entry.start_line}-{entry.end_line}")))
        level = next_level
    return Drawing(nodes, edges, n_omitted)


def to_mermaid(drawing: Drawing) -> str:
    """Return a Mermaid flow chart, as rendered by GitHub and most Markdown viewers."""
    lines = ["flowchart LR"]
    for position, node in enumerate(_append_note(drawing)):
        text = "<br/>".join(escape_label(line, _MAX_LABEL_CHARS) for line in node.lines)
        lines.append(f'    n{position}["{text}"]')
        if node.is_marked:
            lines.append(f"    style n{position} stroke-width:3px")
    for edge in drawing.edges:
        arrow = "-->" if edge.is_resolved else "-.->"
        text = f'|"{escape_label(edge.label, _MAX_LABEL_CHARS)}"|' if edge.label else ""
        lines.append(f"    n{edge.source} {arrow}{text} n{edge.target}")
    return "\n".join(lines) + "\n"


def to_dot(drawing: Drawing) -> str:
    """Return a DOT digraph, for ``dot -Tsvg`` and other Graphviz programs."""
    lines = ["digraph {", "    rankdir=LR;", "    node [shape=box];"]
    for position, node in enumerate(_append_note(drawing)):
        text = r"\n".join(_escape_dot(line) for line in node.lines)
        lines.append(f'    n{position} [label="{text}"{", penwidth=3" if node.is_marked else ""}];')
    for edge in drawing.edges:
        style = "" if edge.is_resolved else ", style=dashed"
        lines.append(f'    n{edge.source} -> n{edge.target} [label="{_escape_dot(edge.label)}"{style}];')
    return "\n".join([*lines, "}"]) + "\n"


def _append_note(drawing: Drawing) -> list[DrawnNode]:
    note = [DrawnNode((f"... and {drawing.n_omitted:,} more",))] if drawing.n_omitted else []
    return [*drawing.nodes, *note]


def _escape_dot(text: str) -> str:
    return to_printable(text, _MAX_LABEL_CHARS).replace("&", "&amp;").replace("\\", r"\\").replace('"', r"\"")


def _iterate_entries(entries: Sequence[OutlineEntry]) -> Iterator[OutlineEntry]:
    for entry in entries:
        yield entry
        yield from _iterate_entries(entry.children)


class _DrawingBuilder:
    """Collects the nodes and edges of a drawing; a repeated node is the same box."""

    def __init__(self) -> None:
        self.nodes: list[DrawnNode] = []
        self.edges: list[DrawnEdge] = []
        self._positions: dict[object, int] = {}

    def place_name(self, name: str, *, is_marked: bool = False) -> int:
        """Return the position of a node that is known by name only, such as the subject."""
        return self._place_node(name, DrawnNode((name,), is_marked))

    def place_neighbour(self, neighbour: GraphNeighbour) -> int:
        """Return the position of a neighbour, adding its box if there is none."""
        location = (
            (f"{neighbour.path}:{neighbour.start_line}",) if neighbour.path and neighbour.kind != FILE_KIND else ()
        )
        node = DrawnNode((f"{neighbour.kind} {neighbour.qualified_name}", *location))
        return self._place_node((neighbour.path, neighbour.qualified_name, neighbour.start_line), node)

    def connect(self, origin: int, neighbour: GraphNeighbour, position: int) -> None:
        """Draw the edge between a neighbour and the node from which it was reached."""
        verb, is_forward = _ARROWS[neighbour.relation]
        source, target = (origin, position) if is_forward else (position, origin)
        self.edges.append(DrawnEdge(source, target, verb, is_resolved=neighbour.confidence >= MIN_RESOLVED_CONFIDENCE))

    def _place_node(self, key: object, node: DrawnNode) -> int:
        if key not in self._positions:
            self._positions[key] = len(self.nodes)
            self.nodes.append(node)
        return self._positions[key]
