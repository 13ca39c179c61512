"""Draw what the code graph answers, as Mermaid or in Graphviz' DOT.

Names and paths come from repositories and may hold anything: in Mermaid every character that might mean something is an
entity, in DOT what strings and their escapes give a meaning is escaped, and what cannot be printed is spelt out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from coderag.schema.graph import GraphCycle, GraphNeighbour, OutlineEntry
from coderag.schema.vocabulary import RESOLVED, GraphRelation
from coderag.stores.graph_tables import FILE_KIND
from coderag.text.mermaid import label, printable

MOST_NODES: Final = 60
"""Nodes of a drawing, by default; one with more cannot be read."""

_LONGEST_LABEL = 100  # characters of a line
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
        lines: Its label.
        marked: Whether it is what was asked for.
    """

    lines: tuple[str, ...]
    marked: bool = False


class DrawnEdge(NamedTuple):
    """An arrow between two nodes, given by their positions; a dashed one if it is not `sure`."""

    source: int
    target: int
    label: str
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes and arrows.

    Attributes:
        left_out: Number of nodes, or of whole cycles, that had no room.
    """

    nodes: Sequence[DrawnNode]
    edges: Sequence[DrawnEdge]
    left_out: int = 0


def points_outwards(relation: GraphRelation) -> bool:
    """Whether the edge leads to the neighbour, as a call does to a callee; its evidence then stands in another place."""
    return _ARROWS[relation][1]


def nearer(neighbours: Sequence[GraphNeighbour]) -> list[int | None]:
    """Return for each neighbour the position of the one it was reached from; None if that is not among them.

    It may be the declaration that was asked for, or one that only stands for a neighbour, such as a method it overrides.
    """
    positions: dict[tuple[int, str], int] = {}
    for position, neighbour in enumerate(neighbours):
        positions.setdefault((neighbour.depth, neighbour.qualified_name), position)
    return [positions.get((neighbour.depth - 1, neighbour.via)) for neighbour in neighbours]


def draw_neighbours(name: str, neighbours: Sequence[GraphNeighbour], limit: int = MOST_NODES) -> Drawing:
    """Draw what `coderag.codegraph.graph.CodeGraph` answers of a declaration, or the steps of a path.

    Args:
        name: What was asked for.
        limit: Number of neighbours drawn, the first ones.
    """
    shown = neighbours[:limit]
    sketch = _Sketch()
    for start in [one.via or name for one in shown if one.depth == 1] or [name]:
        sketch.place_name(start, marked=True)
    placed = [sketch.place(neighbour) for neighbour in shown]
    for neighbour, target, before in zip(shown, placed, nearer(shown), strict=True):
        source = sketch.place_name(neighbour.via or name) if before is None else placed[before]
        sketch.connect(source, neighbour, target)
    return Drawing(sketch.nodes, sketch.edges, len(neighbours) - len(shown))


def draw_cycles(cycles: Sequence[GraphCycle], limit: int | None = None) -> Drawing:
    """Draw one way around each cycle, always the whole of it.

    Args:
        cycles: Those that are known.
        limit: Number of cycles drawn, the first ones; by default those that `MOST_NODES` have room for, at least one.
    """
    sketch = _Sketch()
    left_out = 0
    for cycle in cycles[:limit]:
        if limit is None and sketch.nodes and len(sketch.nodes) + len(cycle.steps) > MOST_NODES:
            left_out += 1
            continue
        placed = [sketch.place(step) for step in cycle.steps]
        for before, step, target in zip([placed[-1], *placed], cycle.steps, placed, strict=False):
            sketch.connect(before, step, target)
    left_out += len(cycles) - len(cycles[:limit])
    return Drawing(sketch.nodes, sketch.edges, left_out)


def draw_outline(path: str, entries: Sequence[OutlineEntry], limit: int = MOST_NODES) -> Drawing:
    """Draw the declarations of a file, each below the one that contains it; those that are deepest give way first."""
    nodes = [DrawnNode((path,), marked=True)]
    edges: list[DrawnEdge] = []
    level = [(0, entry) for entry in entries]
    left_out = 0
    while level:
        below = []
        for parent, entry in level:
            if len(nodes) > limit:
                left_out += 1 + sum(1 for _ in _all(entry.children))
                continue
            edges.append(DrawnEdge(parent, len(nodes), ""))
            below += [(len(nodes), child) for child in entry.children]
            nodes.append(DrawnNode((f"{entry.kind} {entry.name}", f"{entry.start_line}-{entry.end_line}")))
        level = below
    return Drawing(nodes, edges, left_out)


def mermaid(drawing: Drawing) -> str:
    """Return a Mermaid flow chart, as GitHub and most viewers of Markdown draw it."""
    lines = ["flowchart LR"]
    for place, node in enumerate(_with_note(drawing)):
        text = "<br/>".join(label(line, _LONGEST_LABEL) for line in node.lines)
        lines.append(f'    n{place}["{text}"]')
        if node.marked:
            lines.append(f"    style n{place} stroke-width:3px")
    for edge in drawing.edges:
        arrow = "-->" if edge.sure else "-.->"
        text = f'|"{label(edge.label, _LONGEST_LABEL)}"|' if edge.label else ""
        lines.append(f"    n{edge.source} {arrow}{text} n{edge.target}")
    return "\n".join(lines) + "\n"


def dot(drawing: Drawing) -> str:
    """Return a digraph in DOT, for ``dot -Tsvg`` and other programs of Graphviz."""
    lines = ["digraph {", "    rankdir=LR;", "    node [shape=box];"]
    for place, node in enumerate(_with_note(drawing)):
        text = r"\n".join(_dot_text(line) for line in node.lines)
        lines.append(f'    n{place} [label="{text}"{", penwidth=3" if node.marked else ""}];')
    for edge in drawing.edges:
        style = "" if edge.sure else ", style=dashed"
        lines.append(f'    n{edge.source} -> n{edge.target} [label="{_dot_text(edge.label)}"{style}];')
    return "\n".join([*lines, "}"]) + "\n"


def _with_note(drawing: Drawing) -> list[DrawnNode]:
    note = [DrawnNode((f"... and {drawing.left_out:,} more",))] if drawing.left_out else []
    return [*drawing.nodes, *note]


def _dot_text(text: str) -> str:
    return printable(text, _LONGEST_LABEL).replace("&", "&amp;").replace("\\", r"\\").replace('"', r"\"")


def _all(entries: Sequence[OutlineEntry]) -> Iterator[OutlineEntry]:
    for entry in entries:
        yield entry
        yield from _all(entry.children)


class _Sketch:
    """Nodes and edges as they are drawn; what is met again is the same node."""

    def __init__(self) -> None:
        self.nodes: list[DrawnNode] = []
        self.edges: list[DrawnEdge] = []
        self._places: dict[object, int] = {}

    def place_name(self, name: str, *, marked: bool = False) -> int:
        """Return the place of what is known by its name only, such as what was asked for."""
        return self._place(name, DrawnNode((name,), marked))

    def place(self, one: GraphNeighbour) -> int:
        """Return the place of a neighbour; one that has none yet gets one."""
        where = (f"{one.path}:{one.start_line}",) if one.path and one.kind != FILE_KIND else ()
        node = DrawnNode((f"{one.kind} {one.qualified_name}", *where))
        return self._place((one.path, one.qualified_name, one.start_line), node)

    def connect(self, known: int, neighbour: GraphNeighbour, place: int) -> None:
        """Draw the edge between a neighbour and what it was reached from."""
        verb, outwards = _ARROWS[neighbour.relation]
        source, target = (known, place) if outwards else (place, known)
        self.edges.append(DrawnEdge(source, target, verb, sure=neighbour.confidence >= RESOLVED))

    def _place(self, key: object, node: DrawnNode) -> int:
        if key not in self._places:
            self._places[key] = len(self.nodes)
            self.nodes.append(node)
        return self._places[key]
