"""The graph as Cypher: statements for Neo4j 5 and Memgraph, with literals for a file, with parameters for a driver.

The schema is that of `coderag.codegraph.property_graph.schema`. What was there of the same project is deleted first, so
the statements can be run again at any time.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from coderag.codegraph.export.row_batches import iterate_batches
from coderag.codegraph.property_graph.labelled_graph import LabelledGraph
from coderag.codegraph.property_graph.schema import EDGE_PROPERTIES, LABELS, NODE_PROPERTIES
from coderag.schema.vocabulary import RESOLVED
from coderag.stores.graph_tables import GraphTables

Dialect = Literal["neo4j", "memgraph"]
"""They differ in how an index is made."""

_LITERAL_BATCH_ROWS: Final = 500
_ESCAPES: Final = {
    "\\": "\\\\",
    # Neo4j may replace \uXXXX before it reads anything else: a backslash of the text never stands before a u.
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
    tables: GraphTables, project: str, dialect: Dialect = "neo4j", min_confidence: float = RESOLVED
) -> Iterator[bytes]:
    """Yield a graph as a file of Cypher statements, each ending in ``;`` and a line feed.

    Args:
        tables: Of one generation.
        project: Name of the repository.
        dialect: Of the statements that make indexes.
        least: Confidence below which an edge is left out: it is one of several candidates then.
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
    """Return the statements that make the constraints and indexes; where those are there already, they do nothing."""
    indexed = [*((label, name) for label in LABELS for name in ("id", "name")), ("File", "path")]
    if dialect == "memgraph":
        indexes = [f"CREATE INDEX ON :{label}({name})" for label, name in indexed]
        return indexes + [f"CREATE CONSTRAINT ON (n:{label}) ASSERT n.id IS UNIQUE" for label in LABELS]
    return [
        f"CREATE CONSTRAINT coderag_{label.lower()}_id IF NOT EXISTS FOR (n:{label}) REQUIRE n.id IS UNIQUE"
        if name == "id"  # a constraint has its own index
        else f"CREATE INDEX coderag_{label.lower()}_{name} IF NOT EXISTS FOR (n:{label}) ON (n.{name})"
        for label, name in indexed
    ]


def build_load_statements(
    graph: LabelledGraph, max_rows: int, extra_labels: Sequence[str] = ()
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield what makes the nodes and relationships of an empty project: a statement over ``row``, and its rows.

    Put ``UNWIND $rows AS row`` before the statement.

    Args:
        graph: To be loaded.
        rows: Most rows of one statement.
        more_labels: Of every node, beside its own.
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
    """Return a value as a Cypher literal: text, a number, or a mapping of them by plain names."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}: {format_literal(item)}' for name, item in value.items())}}}"
    if isinstance(value, str):
        return f"'{_ESCAPED_PATTERN.sub(_escape, value)}'"
    return str(value)


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}"


def _format_properties(names: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{name}: row.{name}' for name in names)}}}"
