"""The code graph of one generation as compact arrays: nodes by number, edges by the node at either end.

Nothing is made before it is asked for; then numbers are NumPy arrays, and names stay in Arrow until one is read.
"""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.columns import FloatArray, IntArray, Words, floats_of, numbers_of, whole, words_of
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
        self._given = tables

    @cached_property
    def _tables(self) -> GraphTables:
        return self._given if isinstance(self._given, GraphTables) else self._given()

    @cached_property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self._tables.nodes.num_rows)

    @cached_property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(self._tables.edges.num_rows)

    # Nodes

    def node(self, id: int) -> GraphNode:  # noqa: A002 - what the field is called
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
    def kinds(self) -> Words:
        """The kind of each node."""
        return words_of(self._tables.nodes["kind"])

    @cached_property
    def paths(self) -> Words:
        """The file of each node."""
        return words_of(self._tables.nodes["path"])

    @cached_property
    def roles(self) -> Words:
        """The role of each node: its file's, but ``test`` for the tests among the source."""
        return words_of(self._tables.nodes["role"])

    @cached_property
    def languages(self) -> Words:
        """The language of each node's file."""
        return words_of(self._tables.nodes["language"])

    @cached_property
    def names(self) -> "pa.StringArray":
        """The name of each node."""
        return whole(self._tables.nodes["name"])

    @cached_property
    def qualified_names(self) -> "pa.StringArray":
        """The qualified name of each node."""
        return whole(self._tables.nodes["qualified_name"])

    @cached_property
    def qualified_names_by_code(self) -> Words:
        """The qualified name of each node, equal ones with one code."""
        return words_of(self._tables.nodes["qualified_name"].dictionary_encode())

    @cached_property
    def start_lines(self) -> IntArray:
        """int64 (n_nodes,)."""
        return numbers_of(self._tables.nodes["start_line"])

    @cached_property
    def end_lines(self) -> IntArray:
        """int64 (n_nodes,)."""
        return numbers_of(self._tables.nodes["end_line"])

    @cached_property
    def parents(self) -> IntArray:
        """int64 (n_nodes,): the declaration around each node, else its file; -1 for files and what is external."""
        return numbers_of(self._tables.nodes["parent"])

    @cached_property
    def type_parameters(self) -> IntArray:
        """int64 (n_nodes,): of each type, in languages that tell types of one name apart by their number; else 0."""
        if "type_parameters" not in self._tables.nodes.column_names:  # in an index that an earlier version made
            return np.zeros(self.n_nodes, np.int64)
        return numbers_of(self._tables.nodes["type_parameters"])

    @cached_property
    def has_type_parameters(self) -> bool:
        """Whether any type has some that count."""
        return bool(self.type_parameters.any())

    @cached_property
    def centralities(self) -> FloatArray:
        """float32 (n_nodes,), 0 to 1."""
        return floats_of(self._tables.nodes["centrality"])

    def children(self, node: int) -> list[int]:
        """Return the declarations right inside a node, in order."""
        file = self.file_of(node) if self._is_parent[node] else None
        if file is None:
            return []
        inside = self.nodes_of_file(file)
        found: list[int] = (np.flatnonzero(self.parents[inside.start : inside.stop] == node) + inside.start).tolist()
        return found

    def around(self, node: int) -> list[int]:
        """Return the declarations that a node is inside of, the innermost first, without its file."""
        found: list[int] = []
        while (node := int(self.parents[node])) >= 0 and self.parents[node] >= 0:
            found.append(node)
        return found

    def descendants(self, node: int) -> list[int]:
        """Return all declarations inside a node, in order."""
        file = self.file_of(node) if self._is_parent[node] else None
        if file is None:
            return []
        nodes = self.nodes_of_file(file)
        parents = self.parents[nodes.start : nodes.stop]
        inside = level = np.array([node])
        while len(level):
            level = np.flatnonzero(np.isin(parents, level)) + nodes.start
            inside = np.concatenate([inside, level])
        return sorted(inside[1:].tolist())

    @cached_property
    def _is_parent(self) -> NDArray[np.bool_]:
        found = np.zeros(self.n_nodes, bool)
        found[self.parents[self.parents >= 0]] = True
        return found

    # Files

    @cached_property
    def files(self) -> IntArray:
        """The nodes of the files, in the order of their paths."""
        return self.of_kind(FILE_KIND)

    def of_kind(self, kind: str) -> IntArray:
        """Return the nodes of a kind, in order."""
        words = self.kinds.words
        return np.flatnonzero(self.kinds.codes == words.index(kind)) if kind in words else np.zeros(0, np.int64)

    def file_node(self, path: str) -> int | None:
        """Return the node of a file."""
        return self._file_nodes.get(path)

    @cached_property
    def _file_nodes(self) -> dict[str, int]:
        return {self.paths[file]: file for file in self.files.tolist()}

    def file_of(self, node: int) -> int | None:
        """Return the node of the file that a node is in, a file's own for itself; None for what is external."""
        place = int(np.searchsorted(self.files, node, side="right")) - 1
        return int(self.files[place]) if place >= 0 and self.paths[node] else None

    def nodes_of_file(self, file: int) -> range:
        """Return a file's node and those of all that it declares."""
        place = int(np.searchsorted(self.files, file))
        if place + 1 < len(self.files):
            return range(file, int(self.files[place + 1]))
        external = self.of_kind(EXTERNAL_KIND)  # they come last
        return range(file, int(external[0]) if len(external) else self.n_nodes)

    def at(self, path: str, line: int) -> int | None:
        """Return the innermost declaration around a line of a file, else the file; None if the file is not known."""
        file = self.file_node(path)
        if file is None:
            return None
        inside = self.nodes_of_file(file)
        starts, ends = (lines[inside.start : inside.stop] for lines in (self.start_lines, self.end_lines))
        around = np.flatnonzero((starts <= line) & (line <= ends))
        around = around[around > 0]  # the file itself
        if not len(around):
            return file
        # Of two on the same lines, the later one is inside the other.
        return int(inside.start + around[np.lexsort((-around, (ends - starts)[around]))[0]])

    # Edges

    def edges(
        self,
        node: int,
        direction: Direction,
        relations: Collection[str] | None = None,
        least: float = RESOLVED,
    ) -> list[GraphEdge]:
        """Return a node's edges, in the order of (relation, other end, line).

        Args:
            node: At the near end.
            direction: ``out`` for the edges it is the source of, ``in`` for those that point to it.
            relations: Those wanted; None for all.
            least: Confidence below which an edge is left out.
        """
        return self.edges_at(self.positions([node], direction, relations, least))

    def edges_at(self, positions: IntArray) -> list[GraphEdge]:
        """Return the edges at some positions of the table."""
        relations, resolvers = self.relations, self.resolvers
        columns = (
            relations.codes[positions].tolist(),
            self.sources[positions].tolist(),
            self.targets[positions].tolist(),
            resolvers.codes[positions].tolist(),
            self._shown_confidences[positions].tolist(),
            self.lines[positions].tolist(),
        )
        return [
            GraphEdge(relations.words[relation], source, target, resolvers.words[resolver], confidence, line)
            for relation, source, target, resolver, confidence, line in zip(*columns, strict=True)
        ]

    def positions(
        self,
        nodes: Sequence[int] | IntArray,
        direction: Direction,
        relations: Collection[str] | None = None,
        least: float = RESOLVED,
    ) -> IntArray:
        """Return the positions of the edges of some nodes, node by node. Arguments are as of `edges`."""
        near = np.asarray(nodes, np.int64)
        offsets = self._out_offsets if direction == "out" else self._in_offsets
        lengths = offsets[near + 1] - offsets[near]
        found = np.repeat(offsets[near] + lengths - np.cumsum(lengths), lengths) + np.arange(lengths.sum())
        if direction == "in":
            found = self._by_target[found]
        return found[self.wanted(found, relations, least)]

    def wanted(self, positions: IntArray, relations: Collection[str] | None, least: float) -> NDArray[np.bool_]:
        """Return for each edge whether it has one of the relations and is sure enough."""
        sure: NDArray[np.bool_] = self.confidences[positions] >= np.float32(least)
        if relations is None:
            return sure
        asked = np.array([word in relations for word in self.relations.words], bool)
        sure &= asked[self.relations.codes[positions]]
        return sure

    @cached_property
    def sources(self) -> IntArray:
        """int64 (n_edges,)."""
        return numbers_of(self._tables.edges["source"])

    @cached_property
    def targets(self) -> IntArray:
        """int64 (n_edges,)."""
        return numbers_of(self._tables.edges["target"])

    @cached_property
    def relations(self) -> Words:
        """The relation of each edge."""
        return words_of(self._tables.edges["relation"])

    @cached_property
    def resolvers(self) -> Words:
        """Who resolved each edge."""
        return words_of(self._tables.edges["resolver"])

    @cached_property
    def confidences(self) -> FloatArray:
        """float32 (n_edges,), 0 to 1."""
        return floats_of(self._tables.edges["confidence"])

    @cached_property
    def _shown_confidences(self) -> NDArray[np.float64]:
        return self.confidences.astype(np.float64).round(4)  # 0.9 is no float32

    @cached_property
    def lines(self) -> IntArray:
        """int64 (n_edges,): lines of evidence, in the files of the sources."""
        return numbers_of(self._tables.edges["line"])

    @cached_property
    def _out_offsets(self) -> IntArray:
        return np.searchsorted(self.sources, np.arange(self.n_nodes + 1))

    @cached_property
    def _in_offsets(self) -> IntArray:
        return np.searchsorted(self.targets[self._by_target], np.arange(self.n_nodes + 1))

    @cached_property
    def _by_target(self) -> IntArray:
        return np.argsort(self.targets, kind="stable")
