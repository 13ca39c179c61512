"""Find the nodes of a code graph by name, path or place."""

import re
from collections import defaultdict
from difflib import get_close_matches
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.errors import UnknownNameError
from coderag.schema.chunks import module_of
from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND
from coderag.stores.symbol_table import SymbolTable, split_qualified

_PATH_AND_LINE = re.compile(r"(.+):(\d+)")
_FOLDER_STEMS = frozenset({"__init__", "index", "mod"})
"""A folder is imported by its file of that name: Python, JavaScript, Rust."""


class NodeMatch(NamedTuple):
    """A node that has a name. ``quality`` is 0 to 1, as of `coderag.stores.symbol_table.SymbolMatch`."""

    node: int
    quality: float


class NodeNames:
    """The names of all nodes.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: SymbolGraph) -> None:
        self._graph = graph

    def find(self, name: str) -> list[NodeMatch]:
        """Return the nodes of a name, best first.

        Args:
            name: Of a declaration or package: plain, or qualified in any language's way, also by parts of its path
                (``Session.login``, ``net::Session``, ``sessions/login``), in its own spelling or, if nothing has that,
                in any other of the same words; a file's path, or the end of one; a module's dotted name;
                ``path:line`` for the declaration there; ``path::name``.

        Raises:
            UnknownNameError: A file has no such line.
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
            return [named for named in self._find_declarations(inside) if self._graph.paths[named.node] in paths]
        if files := self._find_files(name):
            return [NodeMatch(file, 1.0) for file in files]
        named = self._find_declarations(name)
        modules = [NodeMatch(file, 1.0) for file in self._files_by_module.get(tuple(split_qualified(name)), ())]
        return sorted([*named, *modules], key=lambda match: (-match.quality, match.node))

    def find_files_in(self, folder: str) -> list[int]:
        """Return the files right in a folder."""
        parent = folder.removeprefix("./").strip("/")
        return [file for file in self._graph.files.tolist() if self._graph.paths[file].rpartition("/")[0] == parent]

    def find_similar(self, name: str, limit: int = 3) -> list[str]:
        """Return names and paths that are nearest in spelling, for a misspelt one."""
        files = [self._graph.paths[file] for file in self._graph.files.tolist()]
        return [*self._symbol_table.suggest_names(name, limit), *get_close_matches(name, files, n=limit)][:limit]

    def _find_declarations(self, name: str) -> list[NodeMatch]:
        return [NodeMatch(match.row, match.quality) for match in self._symbol_table.find(name)]

    def _find_files(self, path: str) -> list[int]:
        """Return the file of a path, or the files whose paths end so."""
        path = path.removeprefix("./").replace("\\", "/").strip("/")
        if (file := self._graph.find_file(path)) is not None:
            return [file]
        files = self._files_by_name.get(path.rpartition("/")[2], ())
        return [file for file in files if self._graph.paths[file].endswith(f"/{path}")]

    @cached_property
    def _files_by_name(self) -> dict[str, list[int]]:
        files_by_name: dict[str, list[int]] = defaultdict(list)
        for file in self._graph.files.tolist():
            files_by_name[self._graph.paths[file].rpartition("/")[2]].append(file)
        return files_by_name

    @cached_property
    def _files_by_module(self) -> dict[tuple[str, ...], list[int]]:
        """The files of each dotted name that means one: its path without the extension, or an end of it."""
        files_by_module: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for file in self._graph.files.tolist():
            parts = tuple(split_qualified(module_of(self._graph.paths[file])))
            if len(parts) > 1 and parts[-1] in _FOLDER_STEMS:
                parts = parts[:-1]
            for start in range(len(parts)):
                files_by_module[parts[start:]].append(file)
        return files_by_module

    @cached_property
    def _symbol_table(self) -> SymbolTable:
        """The names of all nodes but files: each node is a row with one symbol."""
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
    """Return the words that may qualify a node's name beside its own scopes."""
    if graph.kinds[node] == EXTERNAL_KIND:
        return []
    return split_qualified(module_of(graph.paths[node]))
