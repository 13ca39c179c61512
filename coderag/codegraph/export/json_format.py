"""JSON export: the rows of the tables, with the row number as a node's ``id``."""

from collections.abc import Iterator
from typing import Any, Final

import orjson

from coderag.codegraph.export.row_batches import iterate_batches
from coderag.stores.graph_tables import GraphTables

JSON_FORMAT: Final = 1

NODE_FIELDS: Final = (
    "kind",
    "name",
    "qualified_name",
    "path",
    "language",
    "role",
    "start_line",
    "end_line",
    "parent",
    "centrality",
)
EDGE_FIELDS: Final = ("relation", "source", "target", "resolver", "confidence", "line")


def stream_json(tables: GraphTables) -> Iterator[bytes]:
    """Yield the JSON text of a graph, one node or edge per line, candidates included.

    Columns are those of `coderag.stores.graph_tables.build_node_schema` and `build_edge_schema`; ``source``, ``target`` and
    ``parent`` are ids of nodes.
    """
    yield b'{"format":%d,"nodes":[' % JSON_FORMAT
    yield from _format_lines(_add_ids(iterate_batches(tables.nodes.select(list(NODE_FIELDS)))))
    yield b'\n],"edges":['
    yield from _format_lines(iterate_batches(tables.edges.select(list(EDGE_FIELDS))))
    yield b"\n]}\n"


def _add_ids(batches: Iterator[list[dict[str, Any]]]) -> Iterator[list[dict[str, Any]]]:
    first = 0
    for rows in batches:
        yield [{"id": first + row, **values} for row, values in enumerate(rows)]
        first += len(rows)


def _format_lines(batches: Iterator[list[dict[str, Any]]]) -> Iterator[bytes]:
    separator = b"\n"
    for rows in batches:
        yield separator + b",\n".join(map(orjson.dumps, rows))
        separator = b",\n"
