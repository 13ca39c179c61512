"""Edges of a SCIP index, kept over generations: their ends are names, which stay while rows change."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from coderag.codegraph.scip.edges import HIERARCHY, FoundEdge
from coderag.codegraph.symbol_graph import GraphEdge, SymbolGraph
from coderag.errors import StoreError
from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND, GraphTables, build_edge_schema

if TYPE_CHECKING:
    import pyarrow as pa

RESOLVER: Final = "scip"
_ALONE: Final = frozenset({"calls", "instantiates", "references"})
"""Relations of which a covered file has the index's edges only."""

_FORMAT: Final = 1
_HASHES: Final = b"coderag.files"
_HINT: Final = "Import the SCIP index again."


class Place(NamedTuple):
    """A node by what stays of it.

    Attributes:
        name: Qualified name; empty for the file itself.
        nth: Number of declarations before it with that name in the file.
    """

    path: str
    name: str
    nth: int


@dataclass(frozen=True)
class ImportedEdges:
    """The edges of a SCIP index.

    Attributes:
        edges: Columns ``relation, source_path, source_name, source_nth, target_path, target_name, target_nth, line``.
        files: Hash of the content of each file that the index covers.
    """

    edges: "pa.Table"
    files: Mapping[str, str]

    def to_bytes(self) -> bytes:
        """Return all of it for a file of the index."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        told = {_HASHES: orjson.dumps({"format": _FORMAT, "files": dict(self.files)})}
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, self.edges.schema.with_metadata(told)) as writer:
            writer.write_table(self.edges.replace_schema_metadata(told))
        return bytes(sink.getvalue())

    @classmethod
    def from_bytes(cls, stored: bytes) -> "ImportedEdges":
        """Return what `to_bytes` made.

        Raises:
            StoreError: It is damaged.
        """
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        try:
            edges = pa.ipc.open_file(stored).read_all()
            told = orjson.loads(edges.schema.metadata[_HASHES])
            if told["format"] != _FORMAT or edges.schema.remove_metadata() != _schema():
                raise StoreError("The imported edges are of another format", hint=_HINT)
            return cls(edges.replace_schema_metadata(None), told["files"])
        except (pa.ArrowInvalid, KeyError, TypeError, ValueError) as error:
            raise StoreError(f"The imported edges are damaged: {error}", hint=_HINT) from error


class AppliedEdges(NamedTuple):
    """What `apply_edges` made.

    Attributes:
        edges: As `coderag.stores.graph_tables.build_edge_schema` says.
        stale: Files that changed since the import, or are gone: their edges are ours.
        lost: Number of edges left out because an end is gone.
    """

    edges: "pa.Table"
    stale: tuple[str, ...]
    lost: int


def name_edges(graph: SymbolGraph, edges: Iterable[FoundEdge]) -> "pa.Table":
    """Return edges by the names of their ends."""
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    edges = list(edges)
    places: dict[int, Place] = {}
    for path in {graph.paths[node] for edge in edges for node in (edge.source, edge.target)}:
        places |= {node: place for place, node in _places(graph, path).items()}
    rows = [(edge.relation, *places[edge.source], *places[edge.target], edge.line) for edge in edges]
    schema = _schema()
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.Table.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema=schema
    )


def apply_edges(tables: GraphTables, imported: ImportedEdges, hashes: Mapping[str, str]) -> AppliedEdges:
    """Put imported edges in the place of linked ones. Do so after linking and before the centrality is computed.

    Args:
        tables: Nodes and edges as linked. The edges of an earlier import in them are replaced.
        imported: From `coderag.codegraph.scip.importing.import_edges`.
        hashes: Hash of each indexed file's content, by path.
    """
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    graph = SymbolGraph(tables)
    fresh = {
        path: node
        for path, digest in imported.files.items()
        if hashes.get(path) == digest and (node := graph.file_node(path)) is not None
    }
    found, lost = _rows(graph, imported.edges, fresh)
    kept = _kept(graph, fresh.values(), found)
    columns: dict[str, Any] = {
        "relation": [edge.relation for edge in found],
        "source": [edge.source for edge in found],
        "target": [edge.target for edge in found],
        "resolver": [RESOLVER] * len(found),
        "confidence": [1.0] * len(found),
        "line": [edge.line for edge in found],
    }
    schema = build_edge_schema()
    parts = [tables.edges.take(np.flatnonzero(kept)).cast(schema), pa.table(columns, schema)]
    edges = pa.concat_tables(parts).unify_dictionaries()
    order = [(name, "ascending") for name in ("source", "relation", "target", "line")]
    plain = edges.set_column(0, "relation", edges["relation"].cast(pa.string()))
    return AppliedEdges(plain.sort_by(order).cast(schema), tuple(sorted(imported.files.keys() - fresh.keys())), lost)


def _rows(graph: SymbolGraph, edges: "pa.Table", fresh: Collection[str]) -> tuple[list[FoundEdge], int]:
    """Return the edges of files that did not change, between nodes, and how many have lost an end."""
    places: dict[Place, int] = {}
    paths = {*fresh, *edges["target_path"].to_pylist()}
    for path in paths:
        places |= _places(graph, path)
    found, lost = [], 0
    for relation, path, name, nth, *target, line in zip(*(column.to_pylist() for column in edges.columns), strict=True):
        if path not in fresh:
            continue
        ends = places.get(Place(path, name, nth)), places.get(Place(*target))
        if ends[0] is None or ends[1] is None:
            lost += 1
        else:
            found.append(FoundEdge(relation, ends[0], ends[1], line))
    return found, lost


def _kept(graph: SymbolGraph, fresh: Iterable[int], found: Iterable[FoundEdge]) -> NDArray[np.bool_]:
    """Return for each linked edge whether it stays."""
    said = {_subject(graph, edge) for edge in found}
    covered = np.zeros(graph.n_nodes, bool)
    for file in fresh:
        nodes = graph.nodes_of_file(file)
        covered[nodes.start : nodes.stop] = True
    external = np.zeros(graph.n_nodes, bool)
    external[graph.of_kind(EXTERNAL_KIND)] = True
    kept: NDArray[np.bool_] = ~covered[graph.sources] | external[graph.targets]
    for position in np.flatnonzero(~kept).tolist():
        [edge] = graph.edges_at(np.array([position]))
        kept[position] = edge.relation not in _ALONE and _subject(graph, edge) not in said
    linked = np.array([word != RESOLVER for word in graph.resolvers.words], bool)
    kept &= linked[graph.resolvers.codes]
    return kept


def _subject(graph: SymbolGraph, edge: GraphEdge | FoundEdge) -> tuple[str, int | None, int]:
    """Return what an edge is about: of two edges about the same, imported and linked, the imported one stays."""
    if edge.relation == "imports":  # a file and what is taken from it are two things: indexers may tell one only
        taken = "file" if graph.kinds[edge.target] == FILE_KIND else "declaration"
        return f"imports {taken}", graph.file_of(edge.source), edge.line
    return "hierarchy" if edge.relation in HIERARCHY else edge.relation, edge.source, 0


def _places(graph: SymbolGraph, path: str) -> dict[Place, int]:
    """Return the nodes of a file by place; none for a file that is gone."""
    file = graph.file_node(path)
    if file is None:
        return {}
    found = {Place(path, "", 0): file}
    before: Counter[str] = Counter()
    for node in graph.nodes_of_file(file)[1:]:
        name = graph.qualified_names[node].as_py()
        found[Place(path, name, before[name])] = node
        before[name] += 1
    return found


def _schema() -> "pa.Schema":
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    place = (("path", pa.string()), ("name", pa.string()), ("nth", pa.int32()))
    ends = [(f"{end}_{name}", kind) for end in ("source", "target") for name, kind in place]
    return pa.schema([("relation", pa.string()), *ends, ("line", pa.int32())])
