"""The code graph of one generation as compact arrays: nodes by number, edges by the node at either end.

Every array is computed on first use. Numbers are NumPy arrays; names stay in Arrow until one is read.
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
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE
from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND, GraphTables

if TYPE_CHECKING:
    import pyarrow as pa

Direction = Literal["out", "in"]
"""``out`` follows the edges from a node, ``in`` the edges to it, backwards."""

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
    """An edge, read as "source … target"; ``line`` is the line of evidence in the source's file."""

    relation: str
    source: int
    target: int
    resolver: str
    confidence: float
    line: int


class SymbolGraph:
    """The nodes and edges of one generation.

    Args:
        tables: The tables, or a function that reads them, called once on first use.
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

    def get_node(self, id: int) -> GraphNode:  # noqa: A002 - name of the field
        """Return the record of a node."""
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
        """Kind of each node."""
        return to_dictionary_column(self._tables.nodes["kind"])

    @cached_property
    def paths(self) -> DictionaryColumn:
        """Path of each node's file."""
        return to_dictionary_column(self._tables.nodes["path"])

    @cached_property
    def roles(self) -> DictionaryColumn:
        """Role of each node: its file's role, but ``test`` for tests inside source files."""
        return to_dictionary_column(self._tables.nodes["role"])

    @cached_property
    def languages(self) -> DictionaryColumn:
        """Language of each node's file."""
        return to_dictionary_column(self._tables.nodes["language"])

    @cached_property
    def names(self) -> "pa.StringArray":
        """Name of each node."""
        return to_array(self._tables.nodes["name"])

    @cached_property
    def qualified_names(self) -> "pa.StringArray":
        """Qualified name of each node."""
        return to_array(self._tables.nodes["qualified_name"])

    @cached_property
    def qualified_names_by_code(self) -> DictionaryColumn:
        """Qualified name of each node, equal names sharing one code."""
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
        """int64 (n_nodes,): enclosing declaration of each node, else its file; -1 for files and external nodes."""
        return to_int_array(self._tables.nodes["parent"])

    @cached_property
    def type_parameters(self) -> IntArray:
        """int64 (n_nodes,): number of type parameters of each type, in languages that overload type names by it; else 0."""
        if "type_parameters" not in self._tables.nodes.column_names:  # absent in indexes of earlier versions
            return np.zeros(self.n_nodes, np.int64)
        return to_int_array(self._tables.nodes["type_parameters"])

    @cached_property
    def prototypes(self) -> NDArray[np.bool_]:
        """Array (n_nodes,): whether another declaration defines each node, such as a C function without its body."""
        if "is_prototype" not in self._tables.nodes.column_names:  # absent in indexes of earlier versions
            return np.zeros(self.n_nodes, bool)
        return to_int_array(self._tables.nodes["is_prototype"]).astype(bool)

    @cached_property
    def has_type_parameters(self) -> bool:
        """True if any type has a non-zero count."""
        return bool(self.type_parameters.any())

    @cached_property
    def centralities(self) -> FloatArray:
        """float32 (n_nodes,), 0 to 1."""
        return to_float_array(self._tables.nodes["centrality"])

    def find_children(self, node: int) -> list[int]:
        """Return the declarations directly inside a node, in order."""
        file = self.find_containing_file(node) if self._is_parent[node] else None
        if file is None:
            return []
        file_nodes = self.get_file_nodes(file)
        children: list[int] = (
            np.flatnonzero(self.parents[file_nodes.start : file_nodes.stop] == node) + file_nodes.start
        ).tolist()
        return children

    def find_ancestors(self, node: int) -> list[int]:
        """Return the enclosing declarations of a node, innermost first, without its file."""
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
        """Nodes of the files, ordered by path."""
        return self.find_by_kind(FILE_KIND)

    def find_by_kind(self, kind: str) -> IntArray:
        """Return the nodes of a kind, in order."""
        kind_names = self.kinds.values
        return (
            np.flatnonzero(self.kinds.codes == kind_names.index(kind)) if kind in kind_names else np.zeros(0, np.int64)
        )

    def find_file(self, path: str) -> int | None:
        """Return the node of a file; None if the path is not in the graph."""
        return self._file_nodes.get(path)

    @cached_property
    def _file_nodes(self) -> dict[str, int]:
        return {self.paths[file]: file for file in self.files.tolist()}

    def find_containing_file(self, node: int) -> int | None:
        """Return the file of a node, a file itself for a file; None for an external node."""
        position = int(np.searchsorted(self.files, node, side="right")) - 1
        return int(self.files[position]) if position >= 0 and self.paths[node] else None

    def get_file_nodes(self, file: int) -> range:
        """Return the range of nodes of a file: the file and all its declarations."""
        position = int(np.searchsorted(self.files, file))
        if position + 1 < len(self.files):
            return range(file, int(self.files[position + 1]))
        external_nodes = self.find_by_kind(EXTERNAL_KIND)  # external nodes come last
        return range(file, int(external_nodes[0]) if len(external_nodes) else self.n_nodes)

    def find_innermost(self, path: str, line: int) -> int | None:
        """Return the innermost declaration at a line of a file, else the file; None if the file is not in the graph."""
        file = self.find_file(path)
        if file is None:
            return None
        file_nodes = self.get_file_nodes(file)
        starts, ends = (lines[file_nodes.start : file_nodes.stop] for lines in (self.start_lines, self.end_lines))
        enclosing = np.flatnonzero((starts <= line) & (line <= ends))
        enclosing = enclosing[enclosing > 0]  # without the file itself
        if not len(enclosing):
            return file
        # Of two declarations with equal lines, the later one is the inner one.
        return int(file_nodes.start + enclosing[np.lexsort((-enclosing, (ends - starts)[enclosing]))[0]])

    # Edges

    def find_edges(
        self,
        node: int,
        direction: Direction,
        relations: Collection[str] | None = None,
        min_confidence: float = MIN_RESOLVED_CONFIDENCE,
    ) -> list[GraphEdge]:
        """Return the edges of a node, ordered by relation, other end and line.

        Args:
            node: Node at the near end.
            direction: ``out`` for edges from the node, ``in`` for edges to it.
            relations: Relations to include; None for all.
            min_confidence: Edges below this confidence are left out.
        """
        return self.read_edges(self.find_edge_positions([node], direction, relations, min_confidence))

    def read_edges(self, positions: IntArray) -> list[GraphEdge]:
        """Return the edges at some positions of the edge table."""
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
        min_confidence: float = MIN_RESOLVED_CONFIDENCE,
    ) -> IntArray:
        """Return the positions of the edges of some nodes, node by node; arguments as for `find_edges`."""
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
        """Return for each edge whether it has one of the relations and at least the confidence."""
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
        """Relation of each edge."""
        return to_dictionary_column(self._tables.edges["relation"])

    @cached_property
    def resolvers(self) -> DictionaryColumn:
        """Resolver of each edge."""
        return to_dictionary_column(self._tables.edges["resolver"])

    @cached_property
    def confidences(self) -> FloatArray:
        """float32 (n_edges,), 0 to 1."""
        return to_float_array(self._tables.edges["confidence"])

    @cached_property
    def _rounded_confidences(self) -> NDArray[np.float64]:
        return self.confidences.astype(np.float64).round(4)  # float32 cannot represent 0.9

    @cached_property
    def lines(self) -> IntArray:
        """int64 (n_edges,): line of evidence, in the source's file."""
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
