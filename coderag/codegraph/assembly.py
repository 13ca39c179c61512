"""Tables of a graph from linked files and, of files that were not linked again, from the last generation's tables.

Nodes are numbered anew each time. What stays is moved as columns, never one by one: a change of one file in thousands must
cost little.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, get_args

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.columns import whole
from coderag.codegraph.linking.linker import Link, LinkedFile
from coderag.codegraph.linking.overloads import count_type_parameters
from coderag.codegraph.linking.program import MODULE, FactsRow, Program
from coderag.codegraph.linking.referents import TYPE_KINDS
from coderag.codegraph.walks import centrality
from coderag.schema.facts import Definition
from coderag.schema.vocabulary import RESOLVED, EdgeRelation, Kind, Role
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
_ROLES: Final = ("", *get_args(Role))  # none is that of what is external
_ROLE_CODES: Final = {name: code for code, name in enumerate(_ROLES)}
_RELATIONS: Final[tuple[str, ...]] = get_args(EdgeRelation)
_RELATION_CODES: Final = {name: code for code, name in enumerate(_RELATIONS)}
_TEXTS: Final = ("name", "qualified_name")
_OWN_COLUMNS: Final = ("kind", "role", *_TEXTS, "start_line", "end_line", "parent", "type_parameters")
"""Columns of nodes that those of one file do not share."""
_CENTRAL: Final = ("calls", "imports", "instantiates", "inherits", "implements")
"""Relations that make what they point to more central."""


class Assembly:
    """Puts a graph together.

    Args:
        program: All files as they are now.
        linked: The edges of the files that were linked, by file.
        last: The graph of the last generation; None if there is none.
        moved: For files that declare something else than before, by their number in `last`, the new position of each
            definition; -1 if it is gone.
    """

    def __init__(
        self,
        program: Program,
        linked: Mapping[int, LinkedFile],
        last: GraphTables | None,
        moved: Mapping[int, IntArray],
    ) -> None:
        self._program = program
        self._moved = moved
        self._linked = linked
        self._last = build_empty_graph() if last is None else last
        self._old_paths: list[str] = self._last.facts["path"].to_pylist()
        old_files = {path: number for number, path in enumerate(self._old_paths)}
        rows = program.rows
        # For each file its old number if it was not linked again, else -1.
        self._old_of = np.fromiter(
            (-1 if file in linked else old_files.get(row.path, -1) for file, row in enumerate(rows)),
            np.int64,
            len(rows),
        )
        self._resolvers: dict[str, int] = {}

    def tables(self) -> GraphTables:
        """Return the tables, all nodes without centrality yet: see `ranked`."""
        edges = self._edge_table(self._edges())
        return GraphTables(self._node_table(), edges, self._facts_table())

    # Numbers

    @cached_property
    def _sizes(self) -> IntArray:
        """The number of nodes of each file: itself and what it declares."""
        peek = self._program.peek
        return np.fromiter(
            (
                self._old_starts[old + 1] - self._old_starts[old] if old >= 0 else 1 + len(peek(file).definitions)
                for file, old in enumerate(self._old_of.tolist())
            ),
            np.int64,
            len(self._old_of),
        )

    @cached_property
    def _starts(self) -> IntArray:
        """Where each file's nodes begin; the last entry is where external ones do."""
        return np.concatenate([[0], np.cumsum(self._sizes)])

    @cached_property
    def _old_starts(self) -> IntArray:
        """The same of the last generation."""
        kinds = whole(self._last.nodes["kind"])
        words = kinds.dictionary.to_pylist()
        codes = kinds.indices.to_numpy(zero_copy_only=False)
        files = np.flatnonzero(codes == words.index(FILE_KIND)) if FILE_KIND in words else np.zeros(0, np.int64)
        externals = int((codes == words.index(EXTERNAL_KIND)).sum()) if EXTERNAL_KIND in words else 0
        return np.concatenate([files, [len(codes) - externals]])

    @cached_property
    def _renumbered(self) -> IntArray:
        """The new number of each old node of a file that was not linked again or that nothing outside saw change; else -1."""
        sizes, new = np.diff(self._old_starts), self._new_of
        are_equal = (new >= 0) & (self._sizes[new] == sizes) if len(self._sizes) else new >= 0
        further = np.repeat(self._starts[new] - self._old_starts[:-1], sizes)
        numbers: IntArray = np.where(np.repeat(are_equal, sizes), np.arange(len(further)) + further, -1)
        for old, positions in self._moved.items():
            start, first = self._old_starts[old], self._starts[self._new_of[old]]
            numbers[start] = first
            numbers[start + 1 : self._old_starts[old + 1]] = np.where(positions < 0, -1, first + 1 + positions)
        return numbers

    @cached_property
    def _new_of(self) -> IntArray:
        """For each old file its new number; -1 if it is gone."""
        file_of = self._program.file_by_path
        return np.fromiter((file_of.get(path, -1) for path in self._old_paths), np.int64, len(self._old_paths))

    # Edges

    def _edges(self) -> dict[str, NDArray[Any]]:
        """Return the columns of all edges, in order, over new numbers."""
        kept: Mapping[str, NDArray[Any]]
        kept, kept_externals = self._kept_edges()
        links = [(file, link) for file, linked in sorted(self._linked.items()) for link in linked.links]
        names = sorted({*kept_externals, *(link.name for _, link in links if link.file < 0)})
        self._externals = {name: int(self._starts[-1]) + place for place, name in enumerate(names)}
        numbers = np.array([self._externals[name] for name in kept_externals], np.int64)
        outside = kept["target"] < 0
        kept["target"][outside] = numbers[-1 - kept["target"][outside]]
        fresh = self._ordered(self._fresh_edges(links))
        if any((np.diff(positions[positions >= 0]) < 0).any() for positions in self._moved.values()):
            kept = self._ordered(kept)  # of two targets in one file the second may be the first now
        columns = {name: np.concatenate([kept[name], fresh[name]]) for name in fresh}
        merged = np.argsort(columns["source"], kind="stable")  # no source has both: two runs to merge
        return {name: column[merged] for name, column in columns.items()}

    def _ordered(self, edges: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        # By word: in what order resolvers got their codes depends on what was linked before.
        by_word = np.argsort(np.argsort(list(self._resolvers)))[edges["resolver"]]
        least = [edges[name] for name in ("confidence", "line")]
        order = np.lexsort([*least, by_word, *(edges[name] for name in ("target", "relation", "source"))])
        return {name: column[order] for name, column in edges.items()}

    def _fresh_edges(self, links: Sequence[tuple[int, Link]]) -> dict[str, NDArray[Any]]:
        columns = list(zip(*(link for _, link in links), strict=True)) or [()] * len(Link._fields)
        relations, scopes, files, indices, names, resolvers, confidences, lines = columns
        starts, into = self._starts, np.array(files, np.int64)
        targets = starts[into] + 1 + np.array(indices, np.int64)
        targets[into < 0] = [self._externals[name] for name, file in zip(names, files, strict=True) if file < 0]
        code_of = {name: self._resolver(name) for name in dict.fromkeys(resolvers)}
        return {
            "relation": np.array([_RELATION_CODES[name] for name in relations], np.int32),
            "source": starts[np.array([file for file, _ in links], np.int64)] + 1 + np.array(scopes, np.int64),
            "target": targets,
            "resolver": np.array([code_of[name] for name in resolvers], np.int32),
            "confidence": np.array(confidences, np.float32),
            "line": np.array(lines, np.int32),
        }

    def _kept_edges(self) -> tuple[dict[str, NDArray[Any]], list[str]]:
        """Return the edges that stay, and the names of their external targets, which are numbered -1, -2 ... in them.

        One that leads to a declaration which is gone does not stay: it is an imported one, or its file was linked again.
        """
        edges = self._last.edges
        source, target = (edges[name].to_numpy().astype(np.int64) for name in ("source", "target"))
        stays = np.zeros(len(self._old_starts) - 1, bool)
        stays[self._old_of[self._old_of >= 0]] = True
        first = len(self._renumbered)
        is_gone = np.zeros(len(target), bool)
        is_gone[target < first] = self._renumbered[target[target < first]] < 0
        kept = np.repeat(stays, np.diff(self._old_starts))[source] & ~is_gone
        target = target[kept]
        outside, places = np.unique(target[target >= first], return_inverse=True)
        names = self._last.nodes["name"].take(outside).to_pylist()
        numbers = np.empty(len(target), np.int64)
        numbers[target >= first] = -1 - places
        numbers[target < first] = self._renumbered[target[target < first]]
        columns: dict[str, NDArray[Any]] = {"source": self._renumbered[source[kept]], "target": numbers}
        columns["relation"] = _recoded(edges["relation"], _RELATION_CODES.__getitem__)[kept]
        columns["resolver"] = _recoded(edges["resolver"], self._resolver)[kept]
        for name in ("confidence", "line"):
            columns[name] = edges[name].to_numpy()[kept]
        return columns, names

    def _resolver(self, word: str) -> int:
        return self._resolvers.setdefault(word, len(self._resolvers))

    def _edge_table(self, edges: Mapping[str, NDArray[Any]]) -> "pa.Table":
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        columns = {name: pa.array(values) for name, values in edges.items()}
        columns["relation"] = _words(edges["relation"], _RELATIONS)
        columns["resolver"] = _words(edges["resolver"], list(self._resolvers))
        schema = build_edge_schema()
        return pa.table([columns[field.name].cast(field.type) for field in schema], schema=schema)

    # Nodes

    def _node_table(self) -> "pa.Table":
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        rows, sizes, n_externals = self._program.rows, self._sizes, len(self._externals)
        files = np.concatenate([np.repeat(np.arange(len(rows)), sizes), np.full(n_externals, len(rows))])
        columns = self._own_columns()
        for name in ("path", "language"):
            values = [*(getattr(row, name) for row in rows), ""]
            words = list(dict.fromkeys(values))
            code_of = {word: code for code, word in enumerate(words)}
            columns[name] = _words(np.array([code_of[value] for value in values], np.int32)[files], words)
        columns["centrality"] = pa.array(np.zeros(len(files), np.float32))
        schema = build_node_schema()
        return pa.table([columns[field.name] for field in schema], schema=schema)

    def _own_columns(self) -> "dict[str, pa.Array]":
        """Return what each node does not share with its file: slices of the last table, and what was read anew."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        old = {name: self._last.nodes[name].combine_chunks() for name in _OWN_COLUMNS[2:]}
        old["kind"] = pa.array(_recoded(self._last.nodes["kind"], _KINDS.index), pa.int32())
        old["role"] = pa.array(_recoded(self._last.nodes["role"], _ROLES.index), pa.int32())
        parts: dict[str, list[pa.Array]] = {name: [] for name in _OWN_COLUMNS}
        for file, end in self._runs():
            if self._old_of[file] >= 0:
                first, last = self._old_starts[self._old_of[file]], self._old_starts[self._old_of[end - 1] + 1]
                for name in _OWN_COLUMNS:
                    parts[name].append(old[name].slice(first, last - first))
                moved = parts["parent"][-1].to_numpy() + (self._starts[file] - first)
                parts["parent"][-1] = pa.array(np.where(parts["parent"][-1].to_numpy() < 0, -1, moved), pa.int32())
            else:
                for name, values in self._read_columns(range(file, end)).items():
                    parts[name].append(pa.array(values, pa.string() if name in _TEXTS else pa.int32()))
        externals = list(self._externals)
        zeros = pa.array([0] * len(externals), pa.int32())
        outside = {"kind": [_KINDS.index(EXTERNAL_KIND)] * len(externals), "parent": [-1] * len(externals)}
        for name in _OWN_COLUMNS:
            is_text = name in _TEXTS
            last_part = pa.array(externals, pa.string()) if is_text else pa.array(outside.get(name, zeros), pa.int32())
            parts[name].append(last_part)
        columns = {name: pa.concat_arrays(arrays) for name, arrays in parts.items()}
        columns["kind"] = _words(columns["kind"].to_numpy(), _KINDS)
        columns["role"] = _words(columns["role"].to_numpy(), _ROLES)
        return columns

    def _runs(self) -> Iterator[tuple[int, int]]:
        """Yield the first and the end of each run of files: that were linked, or that stood behind one another before, too."""
        old = self._old_of
        follows = np.where(old[:-1] >= 0, np.diff(old) == 1, old[1:] < 0)
        breaks = np.flatnonzero(~follows) + 1
        return pairwise([0, *breaks.tolist(), len(self._old_of)] if len(self._old_of) else [])

    def _read_columns(self, files: range) -> dict[str, list[Any]]:
        """Return the same of the nodes of files that were linked, all at once: an Arrow array costs more than a file."""
        role = self._program.get_role
        columns: dict[str, list[Any]] = {name: [] for name in _OWN_COLUMNS}
        for file in files:
            row, definitions = self._program.rows[file], self._program.peek(file).definitions
            inside = int(self._starts[file]) + 1
            columns["kind"] += [0, *(_KIND_CODES[one.kind] for one in definitions)]
            columns["role"] += [_ROLE_CODES[role(file, index)] for index in range(MODULE, len(definitions))]
            columns["name"] += [row.path.rpartition("/")[2], *(one.name for one in definitions)]
            columns["qualified_name"] += [row.path, *(one.qualified_name for one in definitions)]
            columns["start_line"] += [1, *(one.start_line for one in definitions)]
            columns["end_line"] += [max(1, row.lines), *(one.end_line for one in definitions)]
            columns["parent"] += [-1, *(inside + one.parent for one in definitions)]
            columns["type_parameters"] += [0, *map(_n_type_parameters, definitions)]
        return columns

    # Facts

    def _facts_table(self) -> "pa.Table":
        """Return the facts with what the edges depend on: rows of the last table, and those of the files linked again."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        files = np.flatnonzero(self._old_of < 0)
        rows = [self._program.rows[file] for file in files.tolist()]
        consulted = [self._linked[file].dependencies for file in files.tolist()]
        columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in rows] for name in FactsRow._fields}
        columns["consulted"] = [sorted(one.files) for one in consulted]
        columns["names"] = [sorted(one.keys) for one in consulted]
        fresh = pa.table(columns, schema=build_facts_schema())
        if len(rows) == len(self._old_of):
            return fresh
        kept, n_fresh, parts = self._kept_facts(), 0, []
        for file, end in self._runs():
            if self._old_of[file] >= 0:
                parts.append(kept.slice(self._old_of[file], end - file))
            else:
                parts.append(fresh.slice(n_fresh, end - file))
                n_fresh += end - file
        return pa.concat_tables(parts).combine_chunks()

    def _kept_facts(self) -> "pa.Table":
        """Return the last table, over the files' new numbers; those that are gone are left out."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        last = self._last.facts
        if np.array_equal(self._new_of, np.arange(len(self._new_of))):
            return last
        place = last.schema.get_field_index("consulted")
        lists = last["consulted"].combine_chunks()
        files = self._new_of[lists.flatten().to_numpy()]
        sizes = np.bincount(lists.value_parent_indices().to_numpy()[files >= 0], minlength=len(last))
        starts = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
        column = pa.ListArray.from_arrays(starts, pa.array(files[files >= 0], pa.int32()))
        return last.set_column(place, last.schema.field(place), column)


def ranked(tables: GraphTables, last: GraphTables | None = None) -> GraphTables:
    """Return a graph with the centrality of its nodes.

    Args:
        last: A graph with it; as long as the same nodes point to the same ones, it stays.
    """
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    n_nodes, edges = len(tables.nodes), _central_edges(tables)
    place = tables.nodes.schema.get_field_index("centrality")
    field = tables.nodes.schema.field(place)
    if last is not None and len(last.nodes) == n_nodes and _are_equal(edges, _central_edges(last)):
        column = last.nodes["centrality"].combine_chunks()
    else:
        column = pa.array(centrality(n_nodes, *edges), field.type)
    return tables._replace(nodes=tables.nodes.set_column(place, field, column))


def _n_type_parameters(definition: Definition) -> int:
    return count_type_parameters(definition) if definition.kind in TYPE_KINDS else 0


def _central_edges(tables: GraphTables) -> tuple[IntArray, IntArray, NDArray[np.float32]]:
    """Return sources, targets and confidences of the edges that make something central."""
    edges = tables.edges
    confidence = edges["confidence"].to_numpy()
    counts = _recoded(edges["relation"], _CENTRAL.__contains__).astype(bool) & (confidence >= RESOLVED)
    source, target = (edges[name].to_numpy().astype(np.int64)[counts] for name in ("source", "target"))
    return source, target, confidence[counts]


def _are_equal(arrays: Sequence[NDArray[Any]], others: Sequence[NDArray[Any]]) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(arrays, others, strict=True))


def _recoded(column: "pa.ChunkedArray", code_of: Any) -> NDArray[np.int32]:  # noqa: ANN401  # a function of words
    """Return a column of words as codes."""
    words = whole(column)
    codes = np.array([code_of(word) for word in words.dictionary.to_pylist()], np.int32)
    recoded: NDArray[np.int32] = codes[words.indices.to_numpy(zero_copy_only=False)] if len(words) else codes[:0]
    return recoded


def _words(codes: NDArray[Any], words: Sequence[str]) -> "pa.DictionaryArray":
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(words, pa.string()))
