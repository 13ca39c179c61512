"""Cypher export for Neo4j 5 and Memgraph: statements with literals for a file, with parameters for a driver.

The schema is `coderag.codegraph.property_graph.schema`. The statements first delete the project's old nodes, so they can
be run again at any time.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from coderag.codegraph.export.row_batches import iterate_batches
from coderag.codegraph.property_graph.labelled_graph import LabelledGraph
from coderag.codegraph.property_graph.schema import EDGE_PROPERTIES, LABELS, NODE_PROPERTIES
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE
from coderag.stores.graph_tables import GraphTables

Dialect = Literal["neo4j", "memgraph"]
"""The dialects differ in the statements that create indexes."""

_LITERAL_BATCH_ROWS: Final = 500
_ESCAPES: Final = {
    "\\": "\\\\",
    # Neo4j may replace \uXXXX before parsing, so a backslash of the text never precedes a u.
    "\\u": "\\\\'+'u",
    "\\U": "\\\\'+'U",
    "'": "\\'",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\b": "\\b",
    "\f": "\\f",
}
_ESCAPED_PATTERN: Final = re.compile(r"\\[uU]|[\\'\x00-\x1f\x7f\u2028\u2029]")


def stream_cypher(
    tables: GraphTables, project: str, dialect: Dialect = "neo4j", min_confidence: float = MIN_RESOLVED_CONFIDENCE
) -> Iterator[bytes]:
    """Yield a graph as a file of Cypher statements, each ending in ``;`` and a line feed.

    Args:
        tables: Tables of one generation.
        project: Name of the repository.
        dialect: Dialect of the statements that create indexes.
        min_confidence: Edges below this confidence, one of several candidates each, are left out.
    """
    yield f"// The code graph of {' '.join(project.split())}, for {dialect}.\n".encode()
    for statement in build_schema_statements(dialect):
        yield f"{statement};\n".encode()
    for label in LABELS:
        yield f"MATCH (n:{label} {{project: {format_literal(project)}}}) DETACH DELETE n;\n".encode()
    for statement, rows in build_load_statements(LabelledGraph(tables, project, min_confidence), _LITERAL_BATCH_ROWS):
        values = ",\n".join(map(format_literal, rows))
        yield f"UNWIND [\n{values}\n] AS row\n{statement};\n".encode()


def build_schema_statements(dialect: Dialect) -> list[str]:
    """Return the statements that create constraints and indexes; existing ones are left alone."""
    indexed = [*((label, name) for label in LABELS for name in ("id", "name")), ("File", "path")]
    if dialect == "memgraph":
        indexes = [f"CREATE INDEX ON :{label}({name})" for label, name in indexed]
        return indexes + [f"CREATE CONSTRAINT ON (n:{label}) ASSERT n.id IS UNIQUE" for label in LABELS]
    return [
        f"CREATE CONSTRAINT coderag_{label.lower()}_id IF NOT EXISTS FOR (n:{label}) REQUIRE n.id IS UNIQUE"
        if name == "id"  # a uniqueness constraint includes an index
        else f"CREATE INDEX coderag_{label.lower()}_{name} IF NOT EXISTS FOR (n:{label}) ON (n.{name})"
        for label, name in indexed
    ]


def build_load_statements(
    graph: LabelledGraph, max_rows: int, extra_labels: Sequence[str] = ()
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the statements that load an empty project: a statement over ``row``, and its rows.

    Prefix each statement with ``UNWIND $rows AS row``.

    Args:
        graph: The graph to load.
        max_rows: Maximum number of rows per statement.
        extra_labels: Labels of every node besides its own.
    """
    for nodes in graph.group_nodes():
        labels = "".join(f":{label}" for label in (nodes.label, *extra_labels))
        statement = f"CREATE (n{labels} {_format_properties(NODE_PROPERTIES)})"
        yield from ((statement, batch) for batch in iterate_batches(nodes.rows, max_rows))
    for edges in graph.group_edges():
        statement = (
            f"MATCH (a:{edges.source_label} {{id: row.source}}) MATCH (b:{edges.target_label} {{id: row.target}}) "
            f"CREATE (a)-[:{edges.type} {_format_properties(EDGE_PROPERTIES)}]->(b)"
        )
        yield from ((statement, batch) for batch in iterate_batches(edges.rows, max_rows))


def format_literal(value: object) -> str:
    """Return a value as a Cypher literal: text, a number, or a mapping of them with plain names as keys."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}: {format_literal(item)}' for name, item in value.items())}}}"
    if isinstance(value, str):
        return f"'{_ESCAPED_PATTERN.sub(_escape, value)}'"
    return str(value)


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}"


def _format_properties(names: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{name}: row.{name}' for name in names)}}}"
