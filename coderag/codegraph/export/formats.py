"""Export formats of the code graph, as streams of bytes."""

from collections.abc import Iterator
from typing import Literal

from coderag.codegraph.export.cypher import stream_cypher
from coderag.codegraph.export.graphml import stream_graphml
from coderag.codegraph.export.json_format import stream_json
from coderag.stores.graph_tables import GraphTables

ExportFormat = Literal["json", "graphml", "cypher", "neo4j", "memgraph"]
"""``cypher`` and ``neo4j`` are the same: the Cypher dialect of Neo4j 5."""


def stream_graph(tables: GraphTables, export_format: ExportFormat, project: str) -> Iterator[bytes]:
    """Yield a graph in a format; memory use does not grow with the size of the text.

    Args:
        tables: Tables of one generation.
        export_format: The format. All but JSON omit edges that are one of several candidates.
        project: Name of the repository.
    """
    if export_format == "json":
        return stream_json(tables)
    if export_format == "graphml":
        return stream_graphml(tables)
    return stream_cypher(tables, project, "memgraph" if export_format == "memgraph" else "neo4j")
