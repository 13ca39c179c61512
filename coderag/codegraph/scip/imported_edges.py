"""SCIP edges that persist over generations: their ends are names, because row numbers change."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from coderag.codegraph.scip.edges import HIERARCHY_RELATIONS, ScipEdge
from coderag.codegraph.symbol_graph import GraphEdge, SymbolGraph
from coderag.errors import StoreError
from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND, GraphTables, build_edge_schema

if TYPE_CHECKING:
    import pyarrow as pa

SCIP_RESOLVER: Final = "scip"
_REPLACED_RELATIONS: Final = frozenset({"calls", "instantiates", "references"})
"""Relations whose linked edges are dropped in covered files, even without an imported edge."""

_FORMAT_VERSION: Final = 1
_METADATA_KEY: Final = b"coderag.files"
_REIMPORT_HINT: Final = "Import the SCIP index again."


class StableNodeId(NamedTuple):
    """A node, identified independently of its row.

    Attributes:
        name: Qualified name; empty for the file itself.
        nth: Number of earlier declarations with that name in the file.
    """

    path: str
    name: str
    nth: int


@dataclass(frozen=True)
class ImportedEdges:
    """The edges of a SCIP index.

    Attributes:
        edges: Columns ``relation, source_path, source_name, source_nth, target_path, target_name, target_nth, line``.
        files: Content hash of each file that the index covers.
    """

    edges: "pa.Table"
    files: Mapping[str, str]

    def to_bytes(self) -> bytes:
        """Return the serialized edges."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        metadata = {_METADATA_KEY: orjson.dumps({"format": _FORMAT_VERSION, "files": dict(self.files)})}
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, self.edges.schema.with_metadata(metadata)) as writer:
            writer.write_table(self.edges.replace_schema_metadata(metadata))
        return bytes(sink.getvalue())

    @classmethod
    def from_bytes(cls, stored: bytes) -> "ImportedEdges":
        """Return the edges that `to_bytes` serialized.

        Raises:
            StoreError: The bytes are damaged or of another format.
        """
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        try:
            edges = pa.ipc.open_file(stored).read_all()
            metadata = orjson.loads(edges.schema.metadata[_METADATA_KEY])
            if metadata["format"] != _FORMAT_VERSION or edges.schema.remove_metadata() != _build_schema():
                raise StoreError("The imported edges have another format", hint=_REIMPORT_HINT)
            return cls(edges.replace_schema_metadata(None), metadata["files"])
        except (pa.ArrowInvalid, KeyError, TypeError, ValueError) as error:
            raise StoreError(f"The imported edges are damaged: {error}", hint=_REIMPORT_HINT) from error


class AppliedEdges(NamedTuple):
    """Result of `apply_edges`.

    Attributes:
        edges: Edges as in `coderag.stores.graph_tables.build_edge_schema`.
        stale: Files that changed or were removed since the import; they keep their linked edges.
        lost: Number of edges left out because one end no longer exists.
    """

    edges: "pa.Table"
    stale: tuple[str, ...]
    lost: int


def name_edges(graph: SymbolGraph, edges: Iterable[ScipEdge]) -> "pa.Table":
    """Return edges with stable ids of their ends."""
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    edges = list(edges)
    node_ids: dict[int, StableNodeId] = {}
    for path in {graph.paths[node] for edge in edges for node in (edge.source, edge.target)}:
        node_ids |= {node: node_id for node_id, node in _index_nodes(graph, path).items()}
    rows = [(edge.relation, *node_ids[edge.source], *node_ids[edge.target], edge.line) for edge in edges]
    schema = _build_schema()
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.Table.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema=schema
    )


def apply_edges(tables: GraphTables, imported: ImportedEdges, hashes: Mapping[str, str]) -> AppliedEdges:
    """Replace linked edges by imported ones. Call it after linking and before centrality is computed.

    Args:
        tables: Linked nodes and edges; edges of an earlier import are replaced.
        imported: Edges from `coderag.codegraph.scip.importer.import_edges`.
        hashes: Hash of each indexed file's content, by path.
    """
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    graph = SymbolGraph(tables)
    unchanged_files = {
        path: node
        for path, digest in imported.files.items()
        if hashes.get(path) == digest and (node := graph.find_file(path)) is not None
    }
    scip_edges, n_lost = _resolve_rows(graph, imported.edges, unchanged_files)
    is_retained = _mask_retained_edges(graph, unchanged_files.values(), scip_edges)
    columns: dict[str, Any] = {
        "relation": [edge.relation for edge in scip_edges],
        "source": [edge.source for edge in scip_edges],
        "target": [edge.target for edge in scip_edges],
        "resolver": [SCIP_RESOLVER] * len(scip_edges),
        "confidence": [1.0] * len(scip_edges),
        "line": [edge.line for edge in scip_edges],
    }
    schema = build_edge_schema()
    parts = [tables.edges.take(np.flatnonzero(is_retained)).cast(schema), pa.table(columns, schema)]
    edges = pa.concat_tables(parts).unify_dictionaries()
    order = [(name, "ascending") for name in ("source", "relation", "target", "line")]
    plain = edges.set_column(0, "relation", edges["relation"].cast(pa.string()))
    return AppliedEdges(
        plain.sort_by(order).cast(schema), tuple(sorted(imported.files.keys() - unchanged_files.keys())), n_lost
    )


def _resolve_rows(
    graph: SymbolGraph, edges: "pa.Table", unchanged_paths: Collection[str]
) -> tuple[list[ScipEdge], int]:
    """Return the edges of unchanged files between nodes, and the number of edges that lost an end."""
    nodes_by_id: dict[StableNodeId, int] = {}
    paths = {*unchanged_paths, *edges["target_path"].to_pylist()}
    for path in paths:
        nodes_by_id |= _index_nodes(graph, path)
    scip_edges, n_lost = [], 0
    for relation, path, name, nth, *target, line in zip(*(column.to_pylist() for column in edges.columns), strict=True):
        if path not in unchanged_paths:
            continue
        ends = nodes_by_id.get(StableNodeId(path, name, nth)), nodes_by_id.get(StableNodeId(*target))
        if ends[0] is None or ends[1] is None:
            n_lost += 1
        else:
            scip_edges.append(ScipEdge(relation, ends[0], ends[1], line))
    return scip_edges, n_lost


def _mask_retained_edges(graph: SymbolGraph, files: Iterable[int], scip_edges: Iterable[ScipEdge]) -> NDArray[np.bool_]:
    """Return for each linked edge whether it is retained."""
    imported_subjects = {_get_subject(graph, edge) for edge in scip_edges}
    is_covered = np.zeros(graph.n_nodes, bool)
    for file in files:
        nodes = graph.get_file_nodes(file)
        is_covered[nodes.start : nodes.stop] = True
    is_external = np.zeros(graph.n_nodes, bool)
    is_external[graph.find_by_kind(EXTERNAL_KIND)] = True
    is_retained: NDArray[np.bool_] = ~is_covered[graph.sources] | is_external[graph.targets]
    for position in np.flatnonzero(~is_retained).tolist():
        [edge] = graph.read_edges(np.array([position]))
        is_retained[position] = (
            edge.relation not in _REPLACED_RELATIONS and _get_subject(graph, edge) not in imported_subjects
        )
    is_linked = np.array([word != SCIP_RESOLVER for word in graph.resolvers.values], bool)
    is_retained &= is_linked[graph.resolvers.codes]
    return is_retained


def _get_subject(graph: SymbolGraph, edge: GraphEdge | ScipEdge) -> tuple[str, int | None, int]:
    """Return the key of an edge: an imported edge replaces the linked edges with the same key."""
    if edge.relation == "imports":  # importing a file and importing from it differ; some indexers report only one
        target_kind = "file" if graph.kinds[edge.target] == FILE_KIND else "declaration"
        return f"imports {target_kind}", graph.find_containing_file(edge.source), edge.line
    return "hierarchy" if edge.relation in HIERARCHY_RELATIONS else edge.relation, edge.source, 0


def _index_nodes(graph: SymbolGraph, path: str) -> dict[StableNodeId, int]:
    """Return the nodes of a file by stable id; empty for a file that is gone."""
    file = graph.find_file(path)
    if file is None:
        return {}
    nodes_by_id = {StableNodeId(path, "", 0): file}
    counts: Counter[str] = Counter()
    for node in graph.get_file_nodes(file)[1:]:
        name = graph.qualified_names[node].as_py()
        nodes_by_id[StableNodeId(path, name, counts[name])] = node
        counts[name] += 1
    return nodes_by_id


def _build_schema() -> "pa.Schema":
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    id_fields = (("path", pa.string()), ("name", pa.string()), ("nth", pa.int32()))
    ends = [(f"{end}_{name}", kind) for end in ("source", "target") for name, kind in id_fields]
    return pa.schema([("relation", pa.string()), *ends, ("line", pa.int32())])
