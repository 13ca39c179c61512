"""What the code graph answers beside neighbours, see `coderag.schema.GraphNeighbour`.

Paths, lines and kinds are as in `coderag.schema`; a kind may also be ``file`` or ``external``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from coderag.schema import GraphNeighbour


@dataclass(frozen=True, slots=True)
class Declaration:
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
