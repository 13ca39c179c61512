"""Results of the code graph: neighbours, declarations, cycles, hotspots, outlines."""

from collections.abc import Sequence
from dataclasses import dataclass

from coderag.schema.vocabulary import GraphRelation


@dataclass(frozen=True, slots=True)
class GraphNeighbour:
    """A declaration, file or external package at the other end of a relation.

    Attributes:
        path: Its file; empty for what is outside the repository, whose lines are 0.
        evidence: The file with the evidence, such as the call: that of the neighbour or of the declaration that it is
            reached from.
        line: The line of evidence, in that file.
        kind: One of `Kind`, or ``file`` or ``external``.
        resolver: Who resolved it.
        confidence: 0 to 1: of the least sure step from the declaration that was asked for; below `RESOLVED` it is one of
            several candidates.
        depth: Number of steps from the declaration that was asked for.
        via: Qualified name of what it is related to: the declaration one step nearer, or one that stands for it, such as
            the method that it overrides.
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
class GraphDeclaration:
    """A declaration, file or external package of the graph.

    Attributes:
        name: A name that means only this one: its qualified name, with its path where others have that name too
            (``path::name``), or its place (``path:line``).
        path: Empty for what is outside the repository.
    """

    name: str
    qualified_name: str
    kind: str
    path: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class GraphCycle:
    """Files, or functions, that need one another: each can be reached from each.

    Attributes:
        members: Paths, or qualified names, in the order of their paths.
        steps: One of the shortest ways around, from the first member back to it: each step is an import or a call, its
            neighbour what is imported or called.
    """

    members: Sequence[str]
    steps: Sequence[GraphNeighbour]


@dataclass(frozen=True, slots=True)
class Hotspot:
    """A declaration or file that much depends on.

    Attributes:
        centrality: PageRank over calls and imports, 0 to 1 of the repository's largest.
        users: Number of declarations and files that call, import, extend or name it.
        uses: Number of those that it calls, imports, extends or names.
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
    """A declaration of a file, with those inside it, in order."""

    name: str
    qualified_name: str
    kind: str
    start_line: int
    end_line: int
    children: "Sequence[OutlineEntry]" = ()
