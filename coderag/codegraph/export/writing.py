"""A graph in any of the formats, as bytes."""

from collections.abc import Iterator
from typing import Literal

from coderag.codegraph.export.cypher import cypher_chunks
from coderag.codegraph.export.graphml import graphml_chunks
from coderag.codegraph.export.json_format import json_chunks
from coderag.stores.graph_tables import GraphTables

ExportFormat = Literal["json", "graphml", "cypher", "neo4j", "memgraph"]
"""``cypher`` and ``neo4j`` are the same: Cypher as Neo4j 5 speaks it."""


def graph_chunks(tables: GraphTables, to: ExportFormat, project: str) -> Iterator[bytes]:
    """Yield a graph in a format, piece by piece: what is in memory at a time does not grow with the text.

    Args:
        tables: Of one generation.
        to: The format. All but JSON leave out edges that are one of several candidates.
        project: Name of the repository.
    """
    if to == "json":
        return json_chunks(tables)
    if to == "graphml":
        return graphml_chunks(tables)
    return cypher_chunks(tables, project, "memgraph" if to == "memgraph" else "neo4j")
