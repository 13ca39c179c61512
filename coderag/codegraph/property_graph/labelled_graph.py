"""The code graph as Arrow tables of nodes by label and relationships by type and labels."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.property_graph.schema import (
    CONTAINS,
    DEFINES,
    DEFINES_METHOD,
    LABEL_BY_KIND,
    LABELS,
    RELATIONSHIP_TYPES,
    STRUCTURE_RESOLVER,
    TYPE_BY_RELATION,
    Label,
)
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE
from coderag.stores.graph_tables import GraphTables

if TYPE_CHECKING:
    import pyarrow as pa

_PROJECT, _FILE, _CLASS, _METHOD = (LABELS.index(label) for label in ("Project", "File", "Class", "Method"))


class LabelledNodes(NamedTuple):
    """Nodes of one label; the columns are `schema.NODE_PROPERTIES`."""

    label: Label
    rows: "pa.Table"


class LabelledEdges(NamedTuple):
    """Relationships of one type between nodes of two labels.

    Attributes:
        rows: Columns ``source`` and ``target`` (node ids), then `schema.EDGE_PROPERTIES`.
    """

    type: str
    source_label: Label
    target_label: Label
    rows: "pa.Table"


class LabelledGraph:
    """The code graph as a labelled property graph, with a node for the project, which contains the files.

    Args:
        tables: Tables of one generation.
        project: Name of the project; also the first part of every id.
        min_confidence: Edges below this confidence, one of several candidates each, are left out.
    """

    def __init__(self, tables: GraphTables, project: str, min_confidence: float = MIN_RESOLVED_CONFIDENCE) -> None:
        self.project = project
        self._tables = tables
        self._graph = SymbolGraph(tables)
        self._min_confidence = min_confidence

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self._labels)

    @property
    def n_edges(self) -> int:
        """Number of relationships."""
        return len(self._all_edges[0])

    def group_nodes(self) -> Iterator[LabelledNodes]:
        """Yield the nodes of each label."""
        for code, label in enumerate(LABELS):
            chosen = np.flatnonzero(self._labels == code)
            if len(chosen):
                yield LabelledNodes(label, self._node_rows.take(chosen))

    def group_edges(self) -> Iterator[LabelledEdges]:
        """Yield the relationships, grouped by type and the labels of both ends."""
        sources, targets, types, columns = self._all_edges
        n = len(LABELS)
        groups = (types * n + self._labels[sources]) * n + self._labels[targets]
        order = np.argsort(groups, kind="stable")
        bounds = np.flatnonzero(np.diff(groups[order])) + 1
        for chosen in np.split(order, bounds) if len(order) else ():
            first = chosen[0]
            ends = {"source": self._ids.take(sources[chosen]), "target": self._ids.take(targets[chosen])}
            yield LabelledEdges(
                RELATIONSHIP_TYPES[types[first]],
                LABELS[self._labels[sources[first]]],
                LABELS[self._labels[targets[first]]],
                _build_table({**ends, **{name: column.take(chosen) for name, column in columns.items()}}),
            )

    @cached_property
    def _labels(self) -> NDArray[np.int64]:
        """Position in `LABELS` of each node's label; the last node is the project."""
        kinds = self._graph.kinds
        label_by_kind = np.array([LABELS.index(LABEL_BY_KIND.get(kind, "Symbol")) for kind in kinds.values], np.int64)
        return np.append(label_by_kind[kinds.codes], _PROJECT)

    @cached_property
    def _ids(self) -> "pa.Array":
        """Id of each node; the last node is the project."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s
        import pyarrow.compute as pc  # noqa: PLC0415

        nodes = self._tables.nodes
        paths = nodes["path"].cast(pa.string())
        location_ids = pc.binary_join_element_wise(self.project, paths, ":")
        qualified_ids = pc.binary_join_element_wise(location_ids, nodes["qualified_name"], "::")
        ids = pc.if_else(
            pc.equal(nodes["kind"].cast(pa.string()), "file"), location_ids, qualified_ids
        ).combine_chunks()
        # LlamaIndex uses a node's name, without quotes, as its id.
        return _number_duplicates(pc.replace_substring(pa.concat_arrays([ids, pa.array([self.project])]), '"', "'"))

    @cached_property
    def _node_rows(self) -> "pa.Table":
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        nodes = self._tables.nodes
        plain_columns = {
            name: _to_plain_array(nodes[name]) for name in ("name", "qualified_name", "path", "language", "role")
        }
        project = {"name": self.project, "qualified_name": self.project}
        texts = {name: _append_value(column, project.get(name, "")) for name, column in plain_columns.items()}
        numbers = {
            name: _append_value(_to_plain_array(nodes[name]), 0) for name in ("start_line", "end_line", "centrality")
        }
        count = nodes.num_rows + 1
        return _build_table(
            {
                "id": self._ids,
                "project": pa.repeat(pa.scalar(self.project), count),
                "kind": _append_value(_to_plain_array(nodes["kind"]), "project"),
                **texts,
                **numbers,
            }
        )

    @cached_property
    def _all_edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], dict[str, "pa.Array"]]:
        """Source, target and type of each relationship, and its properties: containment first, then the edge table."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        graph, edges = self._graph, self._tables.edges
        chosen = np.flatnonzero(graph.confidences >= np.float32(self._min_confidence))
        table = edges.take(chosen)
        parents, children, kinds = self._find_containment()
        relation_types = [RELATIONSHIP_TYPES.index(TYPE_BY_RELATION[word]) for word in graph.relations.values]
        types = np.array(relation_types, np.int64)[graph.relations.codes[chosen]]
        n_contained = len(children)
        lines = np.append(graph.start_lines, 0)[children].astype(np.int32)
        containment = {
            "resolver": pa.repeat(pa.scalar(STRUCTURE_RESOLVER), n_contained),
            "confidence": pa.repeat(pa.scalar(1.0, pa.float32()), n_contained),
            "line": pa.array(lines),
        }
        return (
            np.concatenate([parents, graph.sources[chosen]]),
            np.concatenate([children, graph.targets[chosen]]),
            np.concatenate([kinds, types]),
            {name: pa.concat_arrays([column, _to_plain_array(table[name])]) for name, column in containment.items()},
        )

    def _find_containment(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return parents, children and the position in `RELATIONSHIP_TYPES` of each containment relationship."""
        files, parents, labels = self._graph.files, self._graph.parents, self._labels[:-1]
        nested = np.flatnonzero(parents >= 0)
        enclosing = parents[nested]
        types = np.full(len(nested), RELATIONSHIP_TYPES.index(CONTAINS))
        types[labels[enclosing] == _FILE] = RELATIONSHIP_TYPES.index(DEFINES)
        types[(labels[enclosing] == _CLASS) & (labels[nested] == _METHOD)] = RELATIONSHIP_TYPES.index(DEFINES_METHOD)
        return (
            np.concatenate([np.full(len(files), self._graph.n_nodes), enclosing]),
            np.concatenate([files, nested]),
            np.concatenate([np.full(len(files), RELATIONSHIP_TYPES.index(CONTAINS)), types]),
        )


def _to_plain_array(column: "pa.ChunkedArray") -> "pa.Array":
    """Return a column as one array without a dictionary."""
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    return (column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column).combine_chunks()


def _append_value(values: "pa.Array", last: str | int) -> "pa.Array":
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    return pa.concat_arrays([values, pa.array([last], values.type)])


def _build_table(columns: dict[str, Any]) -> "pa.Table":
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    return pa.table(columns)


def _number_duplicates(ids: "pa.Array") -> "pa.Array":
    """Return unique ids: repeated ones (overloads, redefinitions) get ``#2``, ``#3``, … in order."""
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    while True:
        codes = ids.dictionary_encode().indices.to_numpy(zero_copy_only=False)
        order = np.argsort(codes, kind="stable")
        firsts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        occurrence = np.empty(len(codes), np.int64)
        occurrence[order] = np.arange(len(codes)) - np.repeat(firsts, np.diff(np.append(firsts, len(codes)))) + 1
        duplicates = np.flatnonzero(occurrence > 1)
        if not len(duplicates):
            return ids
        numbered = {int(row): f"{ids[row].as_py()}#{occurrence[row]}" for row in duplicates.tolist()}
        ids = pa.array([numbered.get(row, id_) for row, id_ in enumerate(ids.to_pylist())], pa.string())
