"""Queries about one declaration, shared by the command line, REST and agents. Imports nothing slow."""

from typing import Final, Literal

from coderag.schema.engine import CodeGraphQueries
from coderag.schema.graph import GraphNeighbour

GraphQuery = Literal[
    "callers", "callees", "imports", "importers", "bases", "subclasses", "implementations", "overrides", "overridden",
    "tests", "references", "documents", "impact",
]  # fmt: skip
"""Each is also the name of a method of `coderag.codegraph.graph.CodeGraph`."""

DEPTHLESS_QUERIES: Final[frozenset[GraphQuery]] = frozenset({"tests", "references", "documents"})
"""Queries without a depth."""


def query_graph(
    graph: CodeGraphQueries,
    query: GraphQuery,
    name: str,
    depth: int | None = None,
    *,
    candidates: bool = False,
) -> list[GraphNeighbour]:
    """Return the result of a query about a name.

    Args:
        graph: The graph.
        query: The query.
        name: Name of a declaration or file.
        depth: Maximum number of steps; by default the query's own. Ignored by queries without a depth.
        candidates: Whether to include unresolved calls.

    Raises:
        UnknownNameError: Nothing has the name.
        AmbiguousNameError: Several declarations have the name.
    """
    steps = {"depth": depth} if depth and query not in DEPTHLESS_QUERIES else {}
    neighbours: list[GraphNeighbour] = getattr(graph, query)(name, **steps, candidates=candidates)
    return neighbours
