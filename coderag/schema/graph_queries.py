"""What can be asked of one declaration, alike on the command line, over REST and by agents. Imports nothing slow."""

from typing import Final, Literal

from coderag.schema.graph import GraphNeighbour

GraphQuery = Literal[
    "callers", "callees", "imports", "importers", "bases", "subclasses", "implementations", "overrides", "overridden",
    "tests", "references", "documents", "impact",
]  # fmt: skip
"""Each is a method of `coderag.codegraph.graph.CodeGraph` too."""

DEPTHLESS_QUERIES: Final[frozenset[GraphQuery]] = frozenset({"tests", "references", "documents"})
"""Questions without a depth."""


def query_graph(
    graph: object,
    query: GraphQuery,
    name: str,
    depth: int | None = None,
    *,
    candidates: bool = False,
) -> list[GraphNeighbour]:
    """Return what a graph says of a name.

    Args:
        graph: A `coderag.codegraph.graph.CodeGraph`, or a stand-in that follows edits or asks a service.
        question: What is asked.
        name: Of a declaration or file.
        depth: Steps to follow, by default as many as the question is for; not heeded by a question without a depth.
        candidates: Count calls that are not resolved, too.

    Raises:
        UnknownNameError: Nothing has the name.
        AmbiguousNameError: Several declarations have it.
    """
    steps = {"depth": depth} if depth and query not in DEPTHLESS_QUERIES else {}
    neighbours: list[GraphNeighbour] = getattr(graph, query)(name, **steps, candidates=candidates)
    return neighbours
