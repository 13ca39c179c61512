"""Lookup of code graph nodes by name, path or line."""

import re
from collections import defaultdict
from difflib import get_close_matches
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.errors import UnknownNameError
from coderag.schema.chunks import get_module_name
from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND
from coderag.stores.symbol_table import SymbolTable, split_qualified
from coderag.text.composition import compose

_PATH_AND_LINE = re.compile(r"(.+):(\d+)")
_FOLDER_STEMS = frozenset({"__init__", "index", "mod"})
"""Stems of the files that stand for their folder in imports: Python, JavaScript, Rust."""


class NodeMatch(NamedTuple):
    """A node that a name matches. ``quality`` is 0 to 1, as in `coderag.stores.symbol_table.SymbolMatch`."""

    node: int
    quality: float


class NodeNames:
    """Index of the names of all nodes.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: SymbolGraph) -> None:
        self._graph = graph

    def find(self, name: str) -> list[NodeMatch]:
        """Return the nodes that a name matches, best first.

        Args:
            name: A plain name (``login``); a qualified name in any language's syntax (``Session.login``, ``net::Session``),
                or qualified by parts of its path (``sessions/login``); a path or the end of one; a module's dotted name;
                ``path:line``; ``path::name``. An exact spelling precedes other spellings of the same words.

        Raises:
            UnknownNameError: The file has no such line.
        """
        name = name.strip().removesuffix("()")
        if location := _PATH_AND_LINE.fullmatch(name):
            line, located_files = int(location[2]), self._find_files(location[1])
            files_with_line = [file for file in located_files if 1 <= line <= int(self._graph.end_lines[file])]
            if located_files and not files_with_line:
                first = self._graph.get_node(located_files[0])
                lines = f"{first.end_line:,} line{'s' * (first.end_line != 1)}"
                raise UnknownNameError(f"{first.path} has {lines}, no line {line:,}")
            nodes = (self._graph.find_innermost(self._graph.paths[file], line) for file in files_with_line)
            if matches := [NodeMatch(node, 1.0) for node in nodes if node is not None]:
                return matches
        path, _, inside = name.partition("::")
        if inside and (files := self._find_files(path)):
            paths = {self._graph.paths[file] for file in files}
            return [match for match in self._find_declarations(inside) if self._graph.paths[match.node] in paths]
        if files := self._find_files(name):
            return [NodeMatch(file, 1.0) for file in files]
        declarations = self._find_declarations(name)
        modules = [NodeMatch(file, 1.0) for file in self._files_by_module.get(tuple(split_qualified(name)), ())]
        return sorted([*declarations, *modules], key=lambda match: (-match.quality, match.node))

    def find_files_in(self, folder: str) -> list[int]:
        """Return the files directly in a folder."""
        parent = compose(folder).removeprefix("./").strip("/")
        files = self._graph.files.tolist()
        return [file for file in files if compose(self._graph.paths[file]).rpartition("/")[0] == parent]

    def find_similar(self, name: str, limit: int = 3) -> list[str]:
        """Return the names and paths that are closest in spelling to an unknown name."""
        files = [self._graph.paths[file] for file in self._graph.files.tolist()]
        return [*self._symbol_table.suggest_names(name, limit), *get_close_matches(name, files, n=limit)][:limit]

    def _find_declarations(self, name: str) -> list[NodeMatch]:
        return [NodeMatch(match.row, match.quality) for match in self._symbol_table.find(name)]

    def _find_files(self, path: str) -> list[int]:
        """Return the file at a path, or all files whose paths end with it."""
        path = path.removeprefix("./").replace("\\", "/").strip("/")
        if (file := self._graph.find_file(path)) is not None:
            return [file]
        path = compose(path)
        files = self._files_by_name.get(path.rpartition("/")[2], ())
        return [file for file in files if f"/{compose(self._graph.paths[file])}".endswith(f"/{path}")]

    @cached_property
    def _files_by_name(self) -> dict[str, list[int]]:
        files_by_name: dict[str, list[int]] = defaultdict(list)
        for file in self._graph.files.tolist():
            files_by_name[compose(self._graph.paths[file]).rpartition("/")[2]].append(file)
        return files_by_name

    @cached_property
    def _files_by_module(self) -> dict[tuple[str, ...], list[int]]:
        """Files by dotted module name: the path without its extension, and every suffix of it."""
        files_by_module: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for file in self._graph.files.tolist():
            parts = tuple(split_qualified(get_module_name(self._graph.paths[file])))
            if len(parts) > 1 and parts[-1] in _FOLDER_STEMS:
                parts = parts[:-1]
            for start in range(len(parts)):
                files_by_module[parts[start:]].append(file)
        return files_by_module

    @cached_property
    def _symbol_table(self) -> SymbolTable:
        """Symbol table of all nodes but files: one row per node, with one symbol."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        graph = self._graph
        is_file = np.zeros(graph.n_nodes, bool)
        is_file[graph.find_by_kind(FILE_KIND)] = True
        fields = {
            "name": graph.names,
            "qualified_name": graph.qualified_names,
            "kind": pa.array(graph.kinds.values, pa.string()).take(pa.array(graph.kinds.codes)),
            "start_line": pa.array(graph.start_lines),
            "end_line": pa.array(graph.end_lines),
        }
        symbols = pa.StructArray.from_arrays(list(fields.values()), list(fields)).filter(pa.array(~is_file))
        offsets = np.concatenate([[0], np.cumsum(~is_file)]).astype(np.int32)
        return SymbolTable(pa.ListArray.from_arrays(pa.array(offsets), symbols), partial(_split_path_scopes, graph))


def _split_path_scopes(graph: SymbolGraph, node: int) -> list[str]:
    """Return the words of a node's path, which may qualify its name besides its own scopes."""
    if graph.kinds[node] == EXTERNAL_KIND:
        return []
    return split_qualified(get_module_name(graph.paths[node]))
