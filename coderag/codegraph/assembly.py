"""Tables of a graph from linked files and, of files that were not linked again, from the last generation's tables.

Nodes are numbered anew each time. What stays is moved as columns, never one by one: a change of one file in thousands must
cost little.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, get_args

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.linking.linker import Link, LinkedFile
from coderag.codegraph.linking.program import FactsRow, Program
from coderag.codegraph.walks import centrality
from coderag.schema import RESOLVED, EdgeRelation, Kind
from coderag.stores.graph_tables import (
    EXTERNAL_KIND,
    FILE_KIND,
    GraphTables,
    edge_schema,
    empty_graph,
    facts_schema,
    node_schema,
)

if TYPE_CHECKING:
    import pyarrow as pa

IntArray = NDArray[np.int64]

_KINDS: Final = (FILE_KIND, EXTERNAL_KIND, *get_args(Kind))
_RELATIONS: Final[tuple[str, ...]] = get_args(EdgeRelation)
_CENTRAL: Final = ("calls", "imports", "instantiates", "inherits", "implements")
"""Relations that make what they point to more central."""


class Assembly:
    """Puts a graph together.

    Args:
        program: All files as they are now.
        linked: The edges of the files that were linked, by file.
        last: The graph of the last generation; None if there is none.
    """

    def __init__(self, program: Program, linked: Mapping[int, LinkedFile], last: GraphTables | None) -> None:
        self._program = program
        self._linked = linked
        self._last = empty_graph() if last is None else last
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
        kinds = self._last.nodes["kind"].combine_chunks()
        words = kinds.dictionary.to_pylist()
        codes = kinds.indices.to_numpy(zero_copy_only=False)
        files = np.flatnonzero(codes == words.index(FILE_KIND)) if FILE_KIND in words else np.zeros(0, np.int64)
        externals = int((codes == words.index(EXTERNAL_KIND)).sum()) if EXTERNAL_KIND in words else 0
        return np.concatenate([files, [len(codes) - externals]])

    @cached_property
    def _renumbered(self) -> IntArray:
        """The new number of each old node of a file that was not linked again or that nothing outside saw change; else -1."""
        numbers = np.full(int(self._old_starts[-1]), -1, np.int64)
        for old, path in enumerate(self._old_paths):
            first, last = int(self._old_starts[old]), int(self._old_starts[old + 1])
            file = self._program.file_of.get(path, -1)
            if file >= 0 and self._sizes[file] == last - first:
                numbers[first:last] = np.arange(last - first) + self._starts[file]
        return numbers

    # Edges

    def _edges(self) -> dict[str, NDArray[Any]]:
        """Return the columns of all edges, in order, over new numbers."""
        kept, kept_externals = self._kept_edges()
        links = [(file, link) for file, linked in sorted(self._linked.items()) for link in linked.links]
        names = sorted({*kept_externals, *(link.name for _, link in links if link.file < 0)})
        self._externals = {name: int(self._starts[-1]) + place for place, name in enumerate(names)}
        numbers = np.array([self._externals[name] for name in kept_externals], np.int64)
        outside = kept["target"] < 0
        kept["target"][outside] = numbers[-1 - kept["target"][outside]]
        fresh = self._fresh_edges(links)
        columns = {name: np.concatenate([kept[name], fresh[name]]) for name in fresh}
        order = np.lexsort([columns[name] for name in ("line", "resolver", "target", "relation", "source")])
        return {name: column[order] for name, column in columns.items()}

    def _fresh_edges(self, links: Sequence[tuple[int, Link]]) -> dict[str, NDArray[Any]]:
        starts, n_links = self._starts, len(links)
        targets = (
            self._externals[link.name] if link.file < 0 else starts[link.file] + 1 + link.index for _, link in links
        )
        return {
            "relation": np.fromiter((_RELATIONS.index(link.relation) for _, link in links), np.int32, n_links),
            "source": np.fromiter((starts[file] + 1 + link.scope for file, link in links), np.int64, n_links),
            "target": np.fromiter(targets, np.int64, n_links),
            "resolver": np.fromiter((self._resolver(link.resolver) for _, link in links), np.int32, n_links),
            "confidence": np.fromiter((link.confidence for _, link in links), np.float32, n_links),
            "line": np.fromiter((link.line for _, link in links), np.int32, n_links),
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
        columns["relation"] = _recoded(edges["relation"], _RELATIONS.index)[kept]
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
        schema = edge_schema()
        return pa.table([columns[field.name].cast(field.type) for field in schema], schema=schema)

    # Nodes

    def _node_table(self) -> "pa.Table":
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        rows, sizes, n_externals = self._program.rows, self._sizes, len(self._externals)
        files = np.concatenate([np.repeat(np.arange(len(rows)), sizes), np.full(n_externals, len(rows))])
        columns = self._own_columns()
        for name in ("path", "language", "role"):
            values = [*(getattr(row, name) for row in rows), ""]
            words = list(dict.fromkeys(values))
            code_of = {word: code for code, word in enumerate(words)}
            columns[name] = _words(np.array([code_of[value] for value in values], np.int32)[files], words)
        columns["centrality"] = pa.array(np.zeros(len(files), np.float32))
        schema = node_schema()
        return pa.table([columns[field.name] for field in schema], schema=schema)

    def _own_columns(self) -> "dict[str, pa.Array]":
        """Return what each node does not share with its file: slices of the last table, and what was read anew."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        names = ("kind", "name", "qualified_name", "start_line", "end_line", "parent")
        old = {name: self._last.nodes[name].combine_chunks() for name in names[1:]}
        old["kind"] = pa.array(_recoded(self._last.nodes["kind"], _KINDS.index), pa.int32())
        parts: dict[str, list[pa.Array]] = {name: [] for name in names}
        file = 0
        while file < len(self._old_of):
            end = self._end_of_run(file)
            if self._old_of[file] >= 0:
                first, last = self._old_starts[self._old_of[file]], self._old_starts[self._old_of[end - 1] + 1]
                for name in names:
                    parts[name].append(old[name].slice(first, last - first))
                moved = parts["parent"][-1].to_numpy() + (self._starts[file] - first)
                parts["parent"][-1] = pa.array(np.where(parts["parent"][-1].to_numpy() < 0, -1, moved), pa.int32())
            else:
                for name, column in self._read_columns(file).items():
                    parts[name].append(column)
            file = end
        externals = list(self._externals)
        zeros = pa.array([0] * len(externals), pa.int32())
        outside = {"kind": [_KINDS.index(EXTERNAL_KIND)] * len(externals), "parent": [-1] * len(externals)}
        for name in names:
            is_text = name in ("name", "qualified_name")
            last_part = pa.array(externals, pa.string()) if is_text else pa.array(outside.get(name, zeros), pa.int32())
            parts[name].append(last_part)
        columns = {name: pa.concat_arrays(arrays) for name, arrays in parts.items()}
        columns["kind"] = _words(columns["kind"].to_numpy(), _KINDS)
        return columns

    def _end_of_run(self, file: int) -> int:
        """Return behind which file a run ends whose nodes stood behind one another before, too."""
        end = file + 1
        if self._old_of[file] >= 0:
            while end < len(self._old_of) and self._old_of[end] == self._old_of[end - 1] + 1:
                end += 1
        return end

    def _read_columns(self, file: int) -> "dict[str, pa.Array]":
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        row, definitions = self._program.rows[file], self._program.peek(file).definitions
        inside = int(self._starts[file]) + 1
        return {
            "kind": pa.array([0, *(_KINDS.index(one.kind) for one in definitions)], pa.int32()),
            "name": pa.array([row.path.rpartition("/")[2], *(one.name for one in definitions)], pa.string()),
            "qualified_name": pa.array([row.path, *(one.qualified_name for one in definitions)], pa.string()),
            "start_line": pa.array([1, *(one.start_line for one in definitions)], pa.int32()),
            "end_line": pa.array([max(1, row.lines), *(one.end_line for one in definitions)], pa.int32()),
            "parent": pa.array([-1, *(inside + one.parent for one in definitions)], pa.int32()),
        }

    # Facts

    def _facts_table(self) -> "pa.Table":
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        rows = self._program.rows
        columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in rows] for name in FactsRow._fields}
        new_of = [self._program.file_of.get(path, -1) for path in self._old_paths]
        old_consulted, old_names = (self._last.facts[name].to_pylist() for name in ("consulted", "names"))
        columns["consulted"], columns["names"] = [], []
        for file, old in enumerate(self._old_of.tolist()):
            if old < 0:
                consulted = self._linked[file].consulted
                columns["consulted"].append(sorted(consulted.files))
                columns["names"].append(sorted(consulted.keys))
            else:
                columns["consulted"].append(sorted(new_of[one] for one in old_consulted[old] if new_of[one] >= 0))
                columns["names"].append(old_names[old])
        return pa.table(columns, schema=facts_schema())


def ranked(tables: GraphTables) -> GraphTables:
    """Return a graph with the centrality of its nodes."""
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    edges = tables.edges
    confidence = edges["confidence"].to_numpy()
    is_central = np.isin(_recoded(edges["relation"], _RELATIONS.index), [_RELATIONS.index(name) for name in _CENTRAL])
    counts = is_central & (confidence >= RESOLVED)
    source, target = (edges[name].to_numpy().astype(np.int64)[counts] for name in ("source", "target"))
    ranks = centrality(len(tables.nodes), source, target, confidence[counts])
    place = tables.nodes.schema.get_field_index("centrality")
    column = pa.array(ranks, pa.float32())
    return tables._replace(nodes=tables.nodes.set_column(place, tables.nodes.schema.field(place), column))


def _recoded(column: "pa.ChunkedArray", code_of: Any) -> NDArray[np.int32]:  # noqa: ANN401  # a function of words
    """Return a column of words as codes."""
    words = column.combine_chunks()
    codes = np.array([code_of(word) for word in words.dictionary.to_pylist()], np.int32)
    recoded: NDArray[np.int32] = codes[words.indices.to_numpy(zero_copy_only=False)] if len(words) else codes[:0]
    return recoded


def _words(codes: NDArray[Any], words: Sequence[str]) -> "pa.DictionaryArray":
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s

    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(words, pa.string()))
