"""The code graph of one generation as compact arrays: nodes by number, edges by the node at either end.

Nothing is made before it is asked for; then numbers are NumPy arrays, and names stay in Arrow until one is read.
"""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.columns import (
    DictionaryColumn,
    FloatArray,
    IntArray,
    to_array,
    to_dictionary_column,
    to_float_array,
    to_int_array,
)
from coderag.schema.vocabulary import RESOLVED
from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND, GraphTables

if TYPE_CHECKING:
    import pyarrow as pa

Direction = Literal["out", "in"]
"""From a node along its edges, or against those that point to it."""

DIRECTIONS: Final[tuple[Direction, Direction]] = ("out", "in")


class GraphNode(NamedTuple):
    """A node: a file, a declaration, or a package outside the repository. See `coderag.stores.graph_tables`."""

    id: int
    kind: str
    name: str
    qualified_name: str
    path: str
    start_line: int
    end_line: int
    parent: int
    language: str
    role: str
    centrality: float


class GraphEdge(NamedTuple):
    """An edge, read as "the source … the target"; ``line`` is that of the evidence, in the source's file."""

    relation: str
    source: int
    target: int
    resolver: str
    confidence: float
    line: int


class SymbolGraph:
    """The nodes and edges of one generation.

    Args:
        tables: The tables, or what reads them: called once, when something is first asked for.
    """

    def __init__(self, tables: GraphTables | Callable[[], GraphTables]) -> None:
        self._source = tables

    @cached_property
    def _tables(self) -> GraphTables:
        return self._source if isinstance(self._source, GraphTables) else self._source()

    @cached_property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self._tables.nodes.num_rows)

    @cached_property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(self._tables.edges.num_rows)

    # Nodes

    def get_node(self, id: int) -> GraphNode:  # noqa: A002 - what the field is called
        """Return what is known of a node."""
        return GraphNode(
            id=id,
            kind=self.kinds[id],
            name=self.names[id].as_py(),
            qualified_name=self.qualified_names[id].as_py(),
            path=self.paths[id],
            start_line=int(self.start_lines[id]),
            end_line=int(self.end_lines[id]),
            parent=int(self.parents[id]),
            language=self.languages[id],
            role=self.roles[id],
            centrality=float(self.centralities[id]),
        )

    @cached_property
    def kinds(self) -> DictionaryColumn:
        """The kind of each node."""
        return to_dictionary_column(self._tables.nodes["kind"])

    @cached_property
    def paths(self) -> DictionaryColumn:
        """The file of each node."""
        return to_dictionary_column(self._tables.nodes["path"])

    @cached_property
    def roles(self) -> DictionaryColumn:
        """The role of each node: its file's, but ``test`` for the tests among the source."""
        return to_dictionary_column(self._tables.nodes["role"])

    @cached_property
    def languages(self) -> DictionaryColumn:
        """The language of each node's file."""
        return to_dictionary_column(self._tables.nodes["language"])

    @cached_property
    def names(self) -> "pa.StringArray":
        """The name of each node."""
        return to_array(self._tables.nodes["name"])

    @cached_property
    def qualified_names(self) -> "pa.StringArray":
        """The qualified name of each node."""
        return to_array(self._tables.nodes["qualified_name"])

    @cached_property
    def qualified_names_by_code(self) -> DictionaryColumn:
        """The qualified name of each node, equal ones with one code."""
        return to_dictionary_column(self._tables.nodes["qualified_name"].dictionary_encode())

    @cached_property
    def start_lines(self) -> IntArray:
        """int64 (n_nodes,)."""
        return to_int_array(self._tables.nodes["start_line"])

    @cached_property
    def end_lines(self) -> IntArray:
        """int64 (n_nodes,)."""
        return to_int_array(self._tables.nodes["end_line"])

    @cached_property
    def parents(self) -> IntArray:
        """int64 (n_nodes,): the declaration around each node, else its file; -1 for files and what is external."""
        return to_int_array(self._tables.nodes["parent"])

    @cached_property
    def type_parameters(self) -> IntArray:
        """int64 (n_nodes,): of each type, in languages that tell types of one name apart by their number; else 0."""
        if "type_parameters" not in self._tables.nodes.column_names:  # in an index that an earlier version made
            return np.zeros(self.n_nodes, np.int64)
        return to_int_array(self._tables.nodes["type_parameters"])

    @cached_property
    def has_type_parameters(self) -> bool:
        """Whether any type has some that count."""
        return bool(self.type_parameters.any())

    @cached_property
    def centralities(self) -> FloatArray:
        """float32 (n_nodes,), 0 to 1."""
        return to_float_array(self._tables.nodes["centrality"])

    def find_children(self, node: int) -> list[int]:
        """Return the declarations right inside a node, in order."""
        file = self.find_containing_file(node) if self._is_parent[node] else None
        if file is None:
            return []
        file_nodes = self.get_file_nodes(file)
        children: list[int] = (
            np.flatnonzero(self.parents[file_nodes.start : file_nodes.stop] == node) + file_nodes.start
        ).tolist()
        return children

    def find_ancestors(self, node: int) -> list[int]:
        """Return the declarations that a node is inside of, the innermost first, without its file."""
        ancestors: list[int] = []
        while (node := int(self.parents[node])) >= 0 and self.parents[node] >= 0:
            ancestors.append(node)
        return ancestors

    def find_descendants(self, node: int) -> list[int]:
        """Return all declarations inside a node, in order."""
        file = self.find_containing_file(node) if self._is_parent[node] else None
        if file is None:
            return []
        nodes = self.get_file_nodes(file)
        parents = self.parents[nodes.start : nodes.stop]
        nested = level = np.array([node])
        while len(level):
            level = np.flatnonzero(np.isin(parents, level)) + nodes.start
            nested = np.concatenate([nested, level])
        return sorted(nested[1:].tolist())

    @cached_property
    def _is_parent(self) -> NDArray[np.bool_]:
        is_parent = np.zeros(self.n_nodes, bool)
        is_parent[self.parents[self.parents >= 0]] = True
        return is_parent

    # Files

    @cached_property
    def files(self) -> IntArray:
        """The nodes of the files, in the order of their paths."""
        return self.find_by_kind(FILE_KIND)

    def find_by_kind(self, kind: str) -> IntArray:
        """Return the nodes of a kind, in order."""
        kind_names = self.kinds.values
        return (
            np.flatnonzero(self.kinds.codes == kind_names.index(kind)) if kind in kind_names else np.zeros(0, np.int64)
        )

    def find_file(self, path: str) -> int | None:
        """Return the node of a file."""
        return self._file_nodes.get(path)

    @cached_property
    def _file_nodes(self) -> dict[str, int]:
        return {self.paths[file]: file for file in self.files.tolist()}

    def find_containing_file(self, node: int) -> int | None:
        """Return the node of the file that a node is in, a file's own for itself; None for what is external."""
        position = int(np.searchsorted(self.files, node, side="right")) - 1
        return int(self.files[position]) if position >= 0 and self.paths[node] else None

    def get_file_nodes(self, file: int) -> range:
        """Return a file's node and those of all that it declares."""
        position = int(np.searchsorted(self.files, file))
        if position + 1 < len(self.files):
            return range(file, int(self.files[position + 1]))
        external_nodes = self.find_by_kind(EXTERNAL_KIND)  # they come last
        return range(file, int(external_nodes[0]) if len(external_nodes) else self.n_nodes)

    def find_innermost(self, path: str, line: int) -> int | None:
        """Return the innermost declaration around a line of a file, else the file; None if the file is not known."""
        file = self.find_file(path)
        if file is None:
            return None
        file_nodes = self.get_file_nodes(file)
        starts, ends = (lines[file_nodes.start : file_nodes.stop] for lines in (self.start_lines, self.end_lines))
        enclosing = np.flatnonzero((starts <= line) & (line <= ends))
        enclosing = enclosing[enclosing > 0]  # the file itself
        if not len(enclosing):
            return file
        # Of two on the same lines, the later one is inside the other.
        return int(file_nodes.start + enclosing[np.lexsort((-enclosing, (ends - starts)[enclosing]))[0]])

    # Edges

    def find_edges(
        self,
        node: int,
        direction: Direction,
        relations: Collection[str] | None = None,
        min_confidence: float = RESOLVED,
    ) -> list[GraphEdge]:
        """Return a node's edges, in the order of (relation, other end, line).

        Args:
            node: At the near end.
            direction: ``out`` for the edges it is the source of, ``in`` for those that point to it.
            relations: Those wanted; None for all.
            least: Confidence below which an edge is left out.
        """
        return self.read_edges(self.find_edge_positions([node], direction, relations, min_confidence))

    def read_edges(self, positions: IntArray) -> list[GraphEdge]:
        """Return the edges at some positions of the table."""
        relations, resolvers = self.relations, self.resolvers
        columns = (
            relations.codes[positions].tolist(),
            self.sources[positions].tolist(),
            self.targets[positions].tolist(),
            resolvers.codes[positions].tolist(),
            self._rounded_confidences[positions].tolist(),
            self.lines[positions].tolist(),
        )
        return [
            GraphEdge(relations.values[relation], source, target, resolvers.values[resolver], confidence, line)
            for relation, source, target, resolver, confidence, line in zip(*columns, strict=True)
        ]

    def find_edge_positions(
        self,
        nodes: Sequence[int] | IntArray,
        direction: Direction,
        relations: Collection[str] | None = None,
        min_confidence: float = RESOLVED,
    ) -> IntArray:
        """Return the positions of the edges of some nodes, node by node. Arguments are as of `edges`."""
        near_nodes = np.asarray(nodes, np.int64)
        offsets = self._out_offsets if direction == "out" else self._in_offsets
        lengths = offsets[near_nodes + 1] - offsets[near_nodes]
        positions = np.repeat(offsets[near_nodes] + lengths - np.cumsum(lengths), lengths) + np.arange(lengths.sum())
        if direction == "in":
            positions = self._positions_by_target[positions]
        return positions[self.match_edges(positions, relations, min_confidence)]

    def match_edges(
        self, positions: IntArray, relations: Collection[str] | None, min_confidence: float
    ) -> NDArray[np.bool_]:
        """Return for each edge whether it has one of the relations and is sure enough."""
        mask: NDArray[np.bool_] = self.confidences[positions] >= np.float32(min_confidence)
        if relations is None:
            return mask
        is_relation = np.array([word in relations for word in self.relations.values], bool)
        mask &= is_relation[self.relations.codes[positions]]
        return mask

    @cached_property
    def sources(self) -> IntArray:
        """int64 (n_edges,)."""
        return to_int_array(self._tables.edges["source"])

    @cached_property
    def targets(self) -> IntArray:
        """int64 (n_edges,)."""
        return to_int_array(self._tables.edges["target"])

    @cached_property
    def relations(self) -> DictionaryColumn:
        """The relation of each edge."""
        return to_dictionary_column(self._tables.edges["relation"])

    @cached_property
    def resolvers(self) -> DictionaryColumn:
        """Who resolved each edge."""
        return to_dictionary_column(self._tables.edges["resolver"])

    @cached_property
    def confidences(self) -> FloatArray:
        """float32 (n_edges,), 0 to 1."""
        return to_float_array(self._tables.edges["confidence"])

    @cached_property
    def _rounded_confidences(self) -> NDArray[np.float64]:
        return self.confidences.astype(np.float64).round(4)  # 0.9 is no float32

    @cached_property
    def lines(self) -> IntArray:
        """int64 (n_edges,): lines of evidence, in the files of the sources."""
        return to_int_array(self._tables.edges["line"])

    @cached_property
    def _out_offsets(self) -> IntArray:
        return np.searchsorted(self.sources, np.arange(self.n_nodes + 1))

    @cached_property
    def _in_offsets(self) -> IntArray:
        return np.searchsorted(self.targets[self._positions_by_target], np.arange(self.n_nodes + 1))

    @cached_property
    def _positions_by_target(self) -> IntArray:
        return np.argsort(self.targets, kind="stable")
