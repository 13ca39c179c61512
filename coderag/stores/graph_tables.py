"""The tables of the code graph: its nodes, its edges, and the facts that they were made from.

Nodes: one for each indexed file with all that it declares right behind it, files in the order of their paths; then one for
each package outside the repository that something refers to. A node is known by its row.

Edges are in the order of (source, relation, target, line). That a file defines and a declaration contains another is no
edge: it is a node's ``parent``.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

FILE_KIND: Final = "file"
EXTERNAL_KIND: Final = "external"
"""Kinds of the nodes that are no declarations."""

GRAPH_TABLES: Final = ("nodes", "edges", "facts")


class GraphTables(NamedTuple):
    """The graph of one generation. See `build_node_schema`, `build_edge_schema` and `build_facts_schema`."""

    nodes: "pa.Table"
    edges: "pa.Table"
    facts: "pa.Table"


def build_empty_graph() -> GraphTables:
    """Return the tables of a graph without nodes."""
    return GraphTables(
        build_node_schema().empty_table(), build_edge_schema().empty_table(), build_facts_schema().empty_table()
    )


def build_node_schema() -> "pa.Schema":
    """Return the columns of the nodes.

    ``kind`` is ``file``, ``external`` or one of `Kind`; ``path`` is empty for what is external, whose names
    are those of a package or module; ``role`` is the file's, but ``test`` for what only tests have in the midst of a source
    file; lines are 1-based and inclusive, 0 for what is external; ``parent`` is the row of the declaration around it, else of
    its file, and -1 for files and what is external; ``type_parameters`` is the number of a type's, in languages that tell types
    of one name apart by it, else 0; ``centrality`` is the PageRank over calls and imports, divided by the largest.
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
            ("centrality", pa.float32()),
        ]
    )


def build_edge_schema() -> "pa.Schema":
    """Return the columns of the edges.

    ``relation`` is one of `EdgeRelation`; ``source`` and ``target`` are rows of nodes; ``resolver`` says who
    resolved it and ``confidence``, 0 to 1, how surely; below `RESOLVED` it is one of several candidates.
    ``line`` is that of the evidence, in the file of the source.
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
    """Return the columns of the facts, one row a file in the order of their paths.

    ``package`` is the one that the file declares; ``configures``, whether it says where modules are found; ``declares``, the
    names by which something in it may be known to others; ``extends``, the names of what its types extend and implement;
    ``namespaces``, its namespace blocks, with ``*`` if it passes on all of another module. ``interface`` and ``body`` are the
    two halves of `FileFacts` as bytes: what other files may see, and what only matters inside; ``digest`` is a
    hash of what others may see, without line numbers. ``consulted`` are the rows of the files whose interface decided one of
    its edges, ``names`` the other things asked for: packages, names.
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
