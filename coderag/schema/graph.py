"""Results of the code graph: neighbours, declarations, cycles, hotspots, outlines."""

from collections.abc import Sequence
from dataclasses import dataclass

from coderag.schema.vocabulary import AskedDirection, AskedRelation, GraphRelation


@dataclass(frozen=True, slots=True)
class GraphNeighbour:
    """A declaration, file or external package at the other end of a relation.

    Attributes:
        path: Its file; empty for external symbols, whose lines are 0.
        evidence: File of the evidence, such as the call: that of the neighbour or of the previous declaration.
        line: Line of the evidence in that file.
        kind: One of `Kind`, or ``file`` or ``external``.
        resolver: Name of the resolver.
        confidence: 0 to 1: minimum over the steps from the queried declaration; below `MIN_RESOLVED_CONFIDENCE` it is
            one of several candidates.
        depth: Number of steps from the queried declaration.
        via: Qualified name of the declaration one step nearer, or of an equivalent, such as the overridden method.
    """

    relation: GraphRelation
    path: str
    line: int
    start_line: int
    end_line: int
    qualified_name: str
    kind: str
    resolver: str
    confidence: float
    depth: int = 1
    via: str = ""
    evidence: str = ""
    role: str = ""


@dataclass(frozen=True, slots=True)
class RelationQuery:
    """A relation that a question asks for, with what the code graph knows of it.

    Attributes:
        subject: Name whose neighbours are asked for; of a path, where it begins.
        relation: Relation that the question asks for; ``tests`` and ``any`` for its tests and for what a change affects.
        direction: Seen from the subject; empty for both.
        depth: Maximum number of steps; 0 for a path, which may have any number.
        neighbours: In the order of the graph; of a path, its steps. Those below `MIN_RESOLVED_CONFIDENCE` come last:
            nothing ties them to the subject but its name.
        end: Where a path ends; empty for other queries.
    """

    subject: str
    relation: AskedRelation
    direction: AskedDirection
    depth: int
    neighbours: Sequence[GraphNeighbour] = ()
    end: str = ""


@dataclass(frozen=True, slots=True)
class GraphDeclaration:
    """A declaration, file or external package of the graph.

    Attributes:
        name: A unique name: the qualified name, with its path if others share it (``path::name``), or ``path:line``.
        path: Empty for an external package.
    """

    name: str
    qualified_name: str
    kind: str
    path: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class GraphCycle:
    """Files or functions that depend on one another: each can be reached from every other.

    Attributes:
        members: Paths or qualified names, ordered by path.
        steps: A shortest closed path from the first member back to it. Each step is an import or a call; its neighbour is the
            imported file or called function.
    """

    members: Sequence[str]
    steps: Sequence[GraphNeighbour]


@dataclass(frozen=True, slots=True)
class Hotspot:
    """A central declaration or file.

    Attributes:
        centrality: PageRank over calls and imports, 0 to 1, relative to the repository's largest.
        users: Number of declarations and files that call, import, extend or name it.
        uses: Number of declarations and files that it calls, imports, extends or names.
    """

    path: str
    start_line: int
    end_line: int
    qualified_name: str
    kind: str
    centrality: float
    users: int
    uses: int


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A declaration of a file with its nested declarations, in order."""

    name: str
    qualified_name: str
    kind: str
    start_line: int
    end_line: int
    children: "Sequence[OutlineEntry]" = ()
