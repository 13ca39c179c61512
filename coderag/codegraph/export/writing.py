"""A graph in any of the formats, as bytes or as a file."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from coderag.codegraph.export.cypher import cypher_chunks
from coderag.codegraph.export.graphml import graphml_chunks
from coderag.codegraph.export.json_format import json_chunks
from coderag.stores.disk import storage_errors, sync_directory, sync_file
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


def write_chunks(path: Path, chunks: Iterable[bytes]) -> int:
    """Replace a file's contents atomically, without holding them in memory.

    Returns:
        Number of bytes.

    Raises:
        StoreError: It cannot be written; what was there is as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    size = 0
    with storage_errors(f"write {path}"):
        try:
            with temporary.open("wb") as file:
                for chunk in chunks:
                    size += file.write(chunk)
            sync_file(temporary)
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)
    return size


def write_json(tables: GraphTables, path: Path) -> int:
    """Write a graph as JSON, atomically; return the number of bytes."""
    return write_chunks(path, json_chunks(tables))
