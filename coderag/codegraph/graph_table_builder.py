"""Builder of graph tables from linked files and, for files that were not linked again, the last generation's tables.

Nodes are renumbered each time. Unchanged rows move as whole columns: changing one file in thousands must be cheap.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.centrality import compute_pagerank
from coderag.codegraph.columns import to_array
from coderag.codegraph.linking.linked_files import LinkedFiles
from coderag.codegraph.linking.overloads import count_type_parameters
from coderag.codegraph.linking.program import MODULE, FactsRow, Program
from coderag.codegraph.linking.referents import TYPE_KINDS
from coderag.schema.facts import PROTOTYPE_MODIFIER, Definition
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE, EdgeRelation, Kind, Role
from coderag.stores.graph_tables import (
    EXTERNAL_KIND,
    FILE_KIND,
    GraphTables,
    build_edge_schema,
    build_empty_graph,
    build_facts_schema,
    build_node_schema,
)

if TYPE_CHECKING:
    import pyarrow as pa

IntArray = NDArray[np.int64]

_KINDS: Final = (FILE_KIND, EXTERNAL_KIND, *get_args(Kind))
_KIND_CODES: Final = {name: code for code, name in enumerate(_KINDS)}
_ROLES: Final = ("", *get_args(Role))  # the empty role is that of external nodes
_ROLE_CODES: Final = {name: code for code, name in enumerate(_ROLES)}
_RELATIONS: Final[tuple[str, ...]] = get_args(EdgeRelation)
_RELATION_CODES: Final = {name: code for code, name in enumerate(_RELATIONS)}
_TEXT_COLUMNS: Final = ("name", "qualified_name")
_OWN_COLUMNS: Final = (
    "kind",
    "role",
    *_TEXT_COLUMNS,
    "start_line",
    "end_line",
    "parent",
    "type_parameters",
    "is_prototype",
)
"""Columns that differ between the nodes of one file."""
_MAX_FILES_AT_ONCE: Final = 256
"""Files whose nodes are Python objects at a time."""
_CENTRAL_RELATIONS: Final = ("calls", "imports", "instantiates", "inherits", "implements")
"""Relations that count for centrality."""


class _LinkedNodes(NamedTuple):
    """Nodes of consecutive files that were linked.

    Attributes:
        counts: int64 (n_files,), number of nodes of each file.
        columns: The columns of `_OWN_COLUMNS`; a parent is numbered within its file, the file itself as 0.
    """

    files: range
    counts: IntArray
    columns: "Mapping[str, pa.Array]"


class GraphTableBuilder:
    """Builds the tables of a graph.

    Args:
        program: All current files.
        linked: Edges of the linked files.
        last: The graph of the last generation; None if there is none.
        new_positions: For files whose interface changed, by number in `last`: the new position of each old
            definition; -1 if it is gone.
    """

    def __init__(
        self,
        program: Program,
        linked: LinkedFiles,
        last: GraphTables | None,
        new_positions: Mapping[int, IntArray],
    ) -> None:
        self._program = program
        self._new_positions = new_positions
        self._linked = linked
        self._last = build_empty_graph() if last is None else last
        self._old_paths: list[str] = self._last.facts["path"].to_pylist()
        old_files = {path: number for number, path in enumerate(self._old_paths)}
        rows, linked_files = program.rows, linked.files
        # Old number of each file; -1 if it was linked again.
        self._old_numbers = np.fromiter(
            (-1 if file in linked_files else old_files.get(row.path, -1) for file, row in enumerate(rows)),
            np.int64,
            len(rows),
        )
        self._resolver_codes: dict[str, int] = {}

    def build_tables(self) -> GraphTables:
        """Return the tables with a centrality of 0 for every node; `add_centrality` computes it."""
        edges = self._build_edge_table(self._merge_edges())
        return GraphTables(self._build_node_table(), edges, self._build_facts_table())

    # Numbers

    @cached_property
    def _node_counts(self) -> IntArray:
        """Number of nodes of each file: the file and its declarations."""
        old_numbers = self._old_numbers
        counts = np.zeros(len(old_numbers), np.int64)
        is_kept = old_numbers >= 0
        counts[is_kept] = np.diff(self._old_node_starts)[old_numbers[is_kept]]
        for run in self._linked_nodes.values():
            for nodes in run:
                counts[nodes.files.start : nodes.files.stop] = nodes.counts
        return counts

    @cached_property
    def _node_starts(self) -> IntArray:
        """First node of each file; the last entry is the first external node."""
        return np.concatenate([[0], np.cumsum(self._node_counts)])

    @cached_property
    def _old_node_starts(self) -> IntArray:
        """The same as `_node_starts` for the last generation."""
        kinds = to_array(self._last.nodes["kind"])
        kind_names = kinds.dictionary.to_pylist()
        codes = kinds.indices.to_numpy(zero_copy_only=False)
        files = (
            np.flatnonzero(codes == kind_names.index(FILE_KIND)) if FILE_KIND in kind_names else np.zeros(0, np.int64)
        )
        n_externals = int((codes == kind_names.index(EXTERNAL_KIND)).sum()) if EXTERNAL_KIND in kind_names else 0
        return np.concatenate([files, [len(codes) - n_externals]])

    @cached_property
    def _new_node_numbers(self) -> IntArray:
        """New number of each old node, -1 if it has none.

        A node has one if its file was not linked again, or if the file's interface did not change.
        """
        sizes, new_numbers = np.diff(self._old_node_starts), self._new_numbers
        is_unchanged = (
            (new_numbers >= 0) & (self._node_counts[new_numbers] == sizes)
            if len(self._node_counts)
            else new_numbers >= 0
        )
        offsets = np.repeat(self._node_starts[new_numbers] - self._old_node_starts[:-1], sizes)
        numbers: IntArray = np.where(np.repeat(is_unchanged, sizes), np.arange(len(offsets)) + offsets, -1)
        for old, positions in self._new_positions.items():
            start, first = self._old_node_starts[old], self._node_starts[self._new_numbers[old]]
            numbers[start] = first
            numbers[start + 1 : self._old_node_starts[old + 1]] = np.where(positions < 0, -1, first + 1 + positions)
        return numbers

    @cached_property
    def _new_numbers(self) -> IntArray:
        """New number of each old file; -1 if it is gone."""
        file_numbers = self._program.file_by_path
        return np.fromiter((file_numbers.get(path, -1) for path in self._old_paths), np.int64, len(self._old_paths))

    # Edges

    def _merge_edges(self) -> dict[str, NDArray[Any]]:
        """Return the columns of all edges, in order, over new numbers."""
        retained: Mapping[str, NDArray[Any]]
        retained, retained_externals = self._retain_edges()
        links = self._linked.build_link_columns()
        words = self._linked.list_words("name")
        names = sorted({*retained_externals, *(words[code] for code in set(links["name"][links["file"] < 0].tolist()))})
        self._external_nodes = {name: int(self._node_starts[-1]) + index for index, name in enumerate(names)}
        numbers = np.array([self._external_nodes[name] for name in retained_externals], np.int64)
        is_external = retained["target"] < 0
        retained["target"][is_external] = numbers[-1 - retained["target"][is_external]]
        new_edges = self._sort_edges(self._build_new_edges(links))
        if any((np.diff(positions[positions >= 0]) < 0).any() for positions in self._new_positions.values()):
            retained = self._sort_edges(retained)  # targets may have changed their order within a file
        columns = {name: np.concatenate([retained[name], new_edges[name]]) for name in new_edges}
        order = np.argsort(columns["source"], kind="stable")  # stable sort merges two sorted runs; no source is in both
        return {name: column[order] for name, column in columns.items()}

    def _sort_edges(self, edges: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        # By name: resolver codes depend on the order of earlier linking.
        resolver_order = np.argsort(np.argsort(list(self._resolver_codes)))[edges["resolver"]]
        minor_keys = [edges[name] for name in ("confidence", "line")]
        order = np.lexsort([*minor_keys, resolver_order, *(edges[name] for name in ("target", "relation", "source"))])
        return {name: column[order] for name, column in edges.items()}

    def _build_new_edges(self, links: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        external_nodes = np.array([self._external_nodes.get(name, -1) for name in self._linked.list_words("name")])
        targets = self._node_starts[links["file"]] + 1 + links["index"]
        is_external = links["file"] < 0
        targets[is_external] = external_nodes[links["name"][is_external]]
        relations = np.array([_RELATION_CODES[name] for name in self._linked.list_words("relation")], np.int32)
        resolver_names = self._linked.list_words("resolver")
        for name in sorted(resolver_names):  # their order must not depend on the workers
            self._intern_resolver(name)
        resolvers = np.array([self._resolver_codes[name] for name in resolver_names], np.int32)
        return {
            "relation": relations[links["relation"]],
            "source": self._node_starts[links["from"]] + 1 + links["scope"],
            "target": targets,
            "resolver": resolvers[links["resolver"]],
            "confidence": links["confidence"],
            "line": links["line"].astype(np.int32),
        }

    def _retain_edges(self) -> tuple[dict[str, NDArray[Any]], list[str]]:
        """Return the edges to keep, and the names of their external targets.

        The edges number external targets -1, -2, … in the order of the names. Edges to a declaration that is gone are
        dropped: they are imported, or their file was linked again.
        """
        edges = self._last.edges
        source, target = (edges[name].to_numpy().astype(np.int64) for name in ("source", "target"))
        is_retained_file = np.zeros(len(self._old_node_starts) - 1, bool)
        is_retained_file[self._old_numbers[self._old_numbers >= 0]] = True
        first_external = len(self._new_node_numbers)
        is_gone = np.zeros(len(target), bool)
        is_gone[target < first_external] = self._new_node_numbers[target[target < first_external]] < 0
        is_retained = np.repeat(is_retained_file, np.diff(self._old_node_starts))[source] & ~is_gone
        target = target[is_retained]
        external_nodes, external_indices = np.unique(target[target >= first_external], return_inverse=True)
        names = self._last.nodes["name"].take(external_nodes).to_pylist()
        numbers = np.empty(len(target), np.int64)
        numbers[target >= first_external] = -1 - external_indices
        numbers[target < first_external] = self._new_node_numbers[target[target < first_external]]
        columns: dict[str, NDArray[Any]] = {"source": self._new_node_numbers[source[is_retained]], "target": numbers}
        columns["relation"] = _encode_column(edges["relation"], _RELATION_CODES.__getitem__)[is_retained]
        columns["resolver"] = _encode_column(edges["resolver"], self._intern_resolver)[is_retained]
        for name in ("confidence", "line"):
            columns[name] = edges[name].to_numpy()[is_retained]
        return columns, names

    def _intern_resolver(self, word: str) -> int:
        return self._resolver_codes.setdefault(word, len(self._resolver_codes))

    def _build_edge_table(self, edges: Mapping[str, NDArray[Any]]) -> "pa.Table":
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        columns = {name: pa.array(values) for name, values in edges.items()}
        columns["relation"] = _build_dictionary_array(edges["relation"], _RELATIONS)
        columns["resolver"] = _build_dictionary_array(edges["resolver"], list(self._resolver_codes))
        schema = build_edge_schema()
        return pa.table([columns[field.name].cast(field.type) for field in schema], schema=schema)

    # Nodes

    def _build_node_table(self) -> "pa.Table":
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        rows, sizes, n_externals = self._program.rows, self._node_counts, len(self._external_nodes)
        files = np.concatenate([np.repeat(np.arange(len(rows)), sizes), np.full(n_externals, len(rows))])
        columns = self._build_own_columns()
        for name in ("path", "language"):
            values = [*(getattr(row, name) for row in rows), ""]
            distinct_values = list(dict.fromkeys(values))
            codes = {distinct_value: code for code, distinct_value in enumerate(distinct_values)}
            columns[name] = _build_dictionary_array(
                np.array([codes[value] for value in values], np.int32)[files], distinct_values
            )
        columns["centrality"] = pa.array(np.zeros(len(files), np.float32))
        schema = build_node_schema()
        return pa.table([columns[field.name] for field in schema], schema=schema)

    def _build_own_columns(self) -> "dict[str, pa.Array]":
        """Return the columns that nodes of one file do not share: slices of the last table and new values."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        zeros = pa.array(np.zeros(len(self._last.nodes), np.int32))  # of a column that earlier versions lack
        old_columns = {
            name: self._last.nodes[name].combine_chunks() if name in self._last.nodes.column_names else zeros
            for name in _OWN_COLUMNS[2:]
        }
        old_columns["kind"] = pa.array(_encode_column(self._last.nodes["kind"], _KINDS.index), pa.int32())
        old_columns["role"] = pa.array(_encode_column(self._last.nodes["role"], _ROLES.index), pa.int32())
        parts: dict[str, list[pa.Array]] = {name: [] for name in _OWN_COLUMNS}
        for file, end in self._find_runs():
            if self._old_numbers[file] >= 0:
                first, last = (
                    self._old_node_starts[self._old_numbers[file]],
                    self._old_node_starts[self._old_numbers[end - 1] + 1],
                )
                for name in _OWN_COLUMNS:
                    parts[name].append(old_columns[name].slice(first, last - first))
                shifted_parents = parts["parent"][-1].to_numpy() + (self._node_starts[file] - first)
                parts["parent"][-1] = pa.array(
                    np.where(parts["parent"][-1].to_numpy() < 0, -1, shifted_parents), pa.int32()
                )
            else:
                for nodes in self._linked_nodes[file]:
                    for name in _OWN_COLUMNS:
                        parts[name].append(nodes.columns[name])
                    starts = np.repeat(self._node_starts[nodes.files.start : nodes.files.stop], nodes.counts)
                    parents = nodes.columns["parent"].to_numpy()
                    parts["parent"][-1] = pa.array(np.where(parents < 0, -1, parents + starts), pa.int32())
        externals = list(self._external_nodes)
        external_zeros = pa.array([0] * len(externals), pa.int32())
        external_values = {"kind": [_KINDS.index(EXTERNAL_KIND)] * len(externals), "parent": [-1] * len(externals)}
        for name in _OWN_COLUMNS:
            is_text = name in _TEXT_COLUMNS
            last_part = (
                pa.array(externals, pa.string())
                if is_text
                else pa.array(external_values.get(name, external_zeros), pa.int32())
            )
            parts[name].append(last_part)
        columns = {name: pa.concat_arrays(arrays) for name, arrays in parts.items()}
        columns["kind"] = _build_dictionary_array(columns["kind"].to_numpy(), _KINDS)
        columns["role"] = _build_dictionary_array(columns["role"].to_numpy(), _ROLES)
        return columns

    def _find_runs(self) -> Iterator[tuple[int, int]]:
        """Yield start and end of each run of files: all linked again, or consecutive in the last generation."""
        old_numbers = self._old_numbers
        is_continuation = np.where(old_numbers[:-1] >= 0, np.diff(old_numbers) == 1, old_numbers[1:] < 0)
        breaks = np.flatnonzero(~is_continuation) + 1
        return pairwise([0, *breaks.tolist(), len(self._old_numbers)] if len(self._old_numbers) else [])

    @cached_property
    def _linked_nodes(self) -> "dict[int, list[_LinkedNodes]]":
        """Nodes of the files that were linked, by the first file of each run of them."""
        return {
            file: [
                self._build_linked_nodes(range(first, min(first + _MAX_FILES_AT_ONCE, end)))
                for first in range(file, end, _MAX_FILES_AT_ONCE)
            ]
            for file, end in self._find_runs()
            if self._old_numbers[file] < 0
        }

    def _build_linked_nodes(self, files: range) -> "_LinkedNodes":
        """Build the nodes of some files, all at once: building an Arrow array costs more than a file."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        counts: list[int] = []
        columns: dict[str, list[Any]] = {name: [] for name in _OWN_COLUMNS}
        for file in files:
            row, interface = self._program.rows[file], self._program.peek(file)
            definitions = interface.definitions
            counts.append(1 + len(definitions))
            columns["kind"] += [0, *(_KIND_CODES[definition.kind] for definition in definitions)]
            roles = (interface.get_role(index, row.role) for index in range(MODULE, len(definitions)))
            columns["role"] += [_ROLE_CODES[role] for role in roles]
            columns["name"] += [row.path.rpartition("/")[2], *(definition.name for definition in definitions)]
            columns["qualified_name"] += [row.path, *(definition.qualified_name for definition in definitions)]
            columns["start_line"] += [1, *(definition.start_line for definition in definitions)]
            columns["end_line"] += [max(1, row.lines), *(definition.end_line for definition in definitions)]
            columns["parent"] += [-1, *(1 + definition.parent for definition in definitions)]
            columns["type_parameters"] += [0, *map(_count_type_parameters, definitions)]
            columns["is_prototype"] += [0, *(int(PROTOTYPE_MODIFIER in entry.modifiers) for entry in definitions)]
        self._program.trim()
        types = {name: pa.string() if name in _TEXT_COLUMNS else pa.int32() for name in _OWN_COLUMNS}
        arrays = {name: pa.array(values, types[name]) for name, values in columns.items()}
        return _LinkedNodes(files, np.array(counts, np.int64), arrays)

    # Facts

    def _build_facts_table(self) -> "pa.Table":
        """Return the facts with the dependencies of edges: rows of the last table and of files that were linked again."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        files = np.flatnonzero(self._old_numbers < 0)
        rows = [self._program.rows[file] for file in files.tolist()]
        columns: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in FactsRow._fields}
        columns["consulted"], columns["names"] = self._linked.build_consulted(), self._linked.build_keys()
        new_rows = pa.table(columns, schema=build_facts_schema())
        if len(rows) == len(self._old_numbers):
            return new_rows
        retained, n_new, parts = self._retain_facts(), 0, []
        for file, end in self._find_runs():
            if self._old_numbers[file] >= 0:
                parts.append(retained.slice(self._old_numbers[file], end - file))
            else:
                parts.append(new_rows.slice(n_new, end - file))
                n_new += end - file
        return pa.concat_tables(parts).combine_chunks()

    def _retain_facts(self) -> "pa.Table":
        """Return the last facts table with new file numbers; removed files are dropped."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        last = self._last.facts
        if np.array_equal(self._new_numbers, np.arange(len(self._new_numbers))):
            return last
        column_index = last.schema.get_field_index("consulted")
        lists = last["consulted"].combine_chunks()
        files = self._new_numbers[lists.flatten().to_numpy()]
        sizes = np.bincount(lists.value_parent_indices().to_numpy()[files >= 0], minlength=len(last))
        starts = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
        column = pa.ListArray.from_arrays(starts, pa.array(files[files >= 0], pa.int32()))
        return last.set_column(column_index, last.schema.field(column_index), column)


def add_centrality(tables: GraphTables, last: GraphTables | None = None) -> GraphTables:
    """Return a graph with the centrality of its nodes.

    Args:
        last: A graph with centrality, which is reused while the central edges are the same.
    """
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    n_nodes, edges = len(tables.nodes), _select_central_edges(tables)
    column_index = tables.nodes.schema.get_field_index("centrality")
    field = tables.nodes.schema.field(column_index)
    if last is not None and len(last.nodes) == n_nodes and _are_equal(edges, _select_central_edges(last)):
        column = last.nodes["centrality"].combine_chunks()
    else:
        column = pa.array(compute_pagerank(n_nodes, *edges), field.type)
    return tables._replace(nodes=tables.nodes.set_column(column_index, field, column))


def _count_type_parameters(definition: Definition) -> int:
    return count_type_parameters(definition) if definition.kind in TYPE_KINDS else 0


def _select_central_edges(tables: GraphTables) -> tuple[IntArray, IntArray, NDArray[np.float32]]:
    """Return sources, targets and confidences of the edges that count for centrality."""
    edges = tables.edges
    confidence = edges["confidence"].to_numpy()
    counts = _encode_column(edges["relation"], _CENTRAL_RELATIONS.__contains__).astype(bool) & (
        confidence >= MIN_RESOLVED_CONFIDENCE
    )
    source, target = (edges[name].to_numpy().astype(np.int64)[counts] for name in ("source", "target"))
    return source, target, confidence[counts]


def _are_equal(arrays: Sequence[NDArray[Any]], other_arrays: Sequence[NDArray[Any]]) -> bool:
    return all(np.array_equal(array, other_array) for array, other_array in zip(arrays, other_arrays, strict=True))


def _encode_column(column: "pa.ChunkedArray", to_code: Any) -> NDArray[np.int32]:  # noqa: ANN401  # a function from values to numbers
    """Return a dictionary-encoded column with its values replaced by codes."""
    encoded = to_array(column)
    codes = np.array([to_code(word) for word in encoded.dictionary.to_pylist()], np.int32)
    recoded: NDArray[np.int32] = codes[encoded.indices.to_numpy(zero_copy_only=False)] if len(encoded) else codes[:0]
    return recoded


def _build_dictionary_array(codes: NDArray[Any], values: Sequence[str]) -> "pa.DictionaryArray":
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(values, pa.string()))
