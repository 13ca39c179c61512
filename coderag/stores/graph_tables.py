"""Tables of the code graph: nodes, edges and the facts that they are built from.

Nodes: each indexed file followed by its declarations, files in path order; then the referenced packages outside the
repository. A node is identified by its row.

Edges are ordered by (source, relation, target, line). Containment is no edge: it is the node's ``parent``.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

FILE_KIND: Final = "file"
EXTERNAL_KIND: Final = "external"
"""Kinds of nodes that are not declarations."""

GRAPH_TABLES: Final = ("nodes", "edges", "facts")


class GraphTables(NamedTuple):
    """Code graph of one generation. See `build_node_schema`, `build_edge_schema` and `build_facts_schema`."""

    nodes: "pa.Table"
    edges: "pa.Table"
    facts: "pa.Table"


def build_empty_graph() -> GraphTables:
    """Build the tables of an empty graph."""
    return GraphTables(
        build_node_schema().empty_table(), build_edge_schema().empty_table(), build_facts_schema().empty_table()
    )


def build_node_schema() -> "pa.Schema":
    """Build the schema of the nodes.

    ``kind`` is ``file``, ``external`` or a `Kind`. ``path`` is empty for external nodes, whose names are those of
    packages or modules. ``role`` is the file's, or ``test`` for test code inside a source file. Lines are 1-based and
    inclusive, 0 for external nodes. ``parent`` is the row of the enclosing declaration or file, -1 for files and
    external nodes. ``type_parameters`` is their number, in languages that overload type names by arity, else 0.
    ``is_prototype`` is 1 for a declaration that another one defines, such as a function without its body in C, else 0.
    ``centrality`` is the PageRank over calls and imports, divided by the maximum.
    """
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    dictionary_type = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            ("kind", dictionary_type),
            ("name", pa.string()),
            ("qualified_name", pa.string()),
            ("path", dictionary_type),
            ("language", dictionary_type),
            ("role", dictionary_type),
            ("start_line", pa.int32()),
            ("end_line", pa.int32()),
            ("parent", pa.int32()),
            ("type_parameters", pa.int32()),
            ("is_prototype", pa.int32()),
            ("centrality", pa.float32()),
        ]
    )


def build_edge_schema() -> "pa.Schema":
    """Build the schema of the edges.

    ``relation`` is an `EdgeRelation`; ``source`` and ``target`` are node rows. ``resolver`` names the resolver and
    ``confidence``, 0 to 1, its certainty; below `MIN_RESOLVED_CONFIDENCE` the edge is one of several candidates.
    ``line`` is the line of the evidence in the source's file.
    """
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    dictionary_type = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            ("relation", dictionary_type),
            ("source", pa.int32()),
            ("target", pa.int32()),
            ("resolver", dictionary_type),
            ("confidence", pa.float32()),
            ("line", pa.int32()),
        ]
    )


def build_facts_schema() -> "pa.Schema":
    """Build the schema of the facts, one row per file in path order.

    ``package`` is the declared package; ``configures`` is whether the file configures module lookup. ``declares`` are
    the names visible to other files; ``extends`` the names of base types and interfaces. ``namespaces`` are its
    namespace blocks, with ``*`` for a re-export of a whole module. ``interface`` and ``body`` are the encoded halves
    of `FileFacts`; ``digest`` is a hash of the interface without line numbers. ``consulted`` are the rows of the
    files whose interface decided an edge; ``names`` the other lookups: packages and names.
    """
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    return pa.schema(
        [
            ("path", pa.string()),
            ("language", pa.string()),
            ("role", pa.string()),
            ("lines", pa.int32()),
            ("package", pa.string()),
            ("configures", pa.bool_()),
            ("declares", pa.list_(pa.string())),
            ("extends", pa.list_(pa.string())),
            ("namespaces", pa.list_(pa.string())),
            ("interface", pa.binary()),
            ("body", pa.binary()),
            ("digest", pa.binary()),
            ("consulted", pa.list_(pa.int32())),
            ("names", pa.list_(pa.string())),
        ]
    )
