"""Pictures of the code graph: nodes with their places, aggregated edges, and what was left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

ViewRelation = Literal[
    "calls", "imports", "inherits", "implements", "overrides", "instantiates", "references", "tests", "documents", "contains",
]  # fmt: skip
"""Relations of edges in pictures: those of the code graph, and containment."""

VIEW_RELATIONS: Final[tuple[ViewRelation, ...]] = get_args(ViewRelation)

ViewDirection = Literal["in", "out", "both"]
"""Direction of the edges that are followed, seen from a node."""

Arrangement = Literal["line", "ring", "rings"]
"""Arrangements of given nodes: as a path, as one cycle, or as rings by distance."""

MAX_VIEW_NODES: Final = 2_000
MAX_VIEW_EDGES: Final = 6_000
DEFAULT_VIEW_NODES: Final = 300
DEFAULT_VIEW_EDGES: Final = 900


@dataclass(frozen=True, slots=True)
class ViewFilter:
    """Filter of the edges and nodes of a picture.

    Attributes:
        relations: Relations to include.
        min_confidence: Edges below this confidence are left out.
        has_tests: Whether test code is included.
        has_external: Whether packages outside the repository are included.
    """

    relations: frozenset[str] = frozenset(VIEW_RELATIONS)
    min_confidence: float = 0.5
    has_tests: bool = True
    has_external: bool = True


ALL_EDGES: Final = ViewFilter()
"""Filter of the resolved edges of all relations and nodes."""


@dataclass(frozen=True, slots=True)
class ViewNode:
    """A node of a picture: a folder, a file, a declaration or a package outside the repository.

    Attributes:
        key: Its stable name: `folder/`, a path, `path::name`, or `::package`.
        kind: `folder`, `file`, `external`, or the kind of the declaration.
        language: Its language; of a folder, that of most of its lines.
        role: Its role; of a folder, that of most of its lines.
        files, declarations, lines: Size of what it contains, itself included.
        children: Number of nodes directly inside it, which are drawn when it is opened.
        parent: Position of the opened node around it in the list of nodes; -1 for none.
        is_open: Whether the nodes inside it are drawn.
        x, y: Its centre.
        radius: Radius of its own area, which no other node enters.
        distance: Steps from the subject of the picture.
    """

    key: str
    label: str
    kind: str
    path: str
    start_line: int
    end_line: int
    language: str
    role: str
    files: int
    declarations: int
    lines: int
    children: int
    parent: int = -1
    is_open: bool = False
    x: float = 0.0
    y: float = 0.0
    radius: float = 0.0
    distance: int = 0


@dataclass(frozen=True, slots=True)
class ViewEdge:
    """All edges of the code graph between two nodes of a picture, in one direction.

    Attributes:
        source, target: Positions in the list of nodes.
        count: Number of edges of the code graph.
        confidence: Highest confidence of them.
        relations: Number of them by relation, most first.
    """

    source: int
    target: int
    count: int
    confidence: float
    relations: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ViewStep:
    """The neighbours of one node that a neighbourhood shows.

    Attributes:
        key: The node.
        drawn: Number of its neighbours in the picture.
        total: Number of all its neighbours that the filter admits.
    """

    key: str
    direction: ViewDirection
    drawn: int
    total: int


@dataclass(frozen=True, slots=True)
class GraphView:
    """A picture of a part of the code graph.

    Attributes:
        nodes: Opened nodes precede those inside them.
        opened: Keys of the nodes whose content is drawn.
        omitted_nodes: Number of nodes left out for the limit.
        omitted_edges: Number of edges between drawn nodes left out for the limit.
        extent: The picture lies within this distance of the origin.
        steps: Of a neighbourhood: the nodes whose neighbours are drawn.
    """

    nodes: Sequence[ViewNode]
    edges: Sequence[ViewEdge]
    opened: Sequence[str] = ()
    omitted_nodes: int = 0
    omitted_edges: int = 0
    extent: float = 1.0
    steps: Sequence[ViewStep] = ()


@dataclass(frozen=True, slots=True)
class RelationTally:
    """Neighbours of a node in one relation and direction.

    Attributes:
        total: Number of all neighbours.
        nodes: The first of them, those with most edges first.
        counts: Number of edges to each.
        confidences: Highest confidence of the edges to each.
    """

    relation: ViewRelation
    direction: Literal["in", "out"]
    total: int
    nodes: Sequence[ViewNode]
    counts: Sequence[int]
    confidences: Sequence[float]


@dataclass(frozen=True, slots=True)
class NodeDetails:
    """A node with its neighbours by relation.

    Attributes:
        ancestors: Nodes around it, outermost first.
    """

    node: ViewNode
    ancestors: Sequence[ViewNode]
    relations: Sequence[RelationTally]
