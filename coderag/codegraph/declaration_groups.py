"""What counts as one declaration in a code graph, and which declarations stand for another."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

import numpy as np

from coderag.codegraph.columns import IntArray
from coderag.codegraph.constructors import is_constructor
from coderag.codegraph.symbol_graph import Direction, SymbolGraph
from coderag.codegraph.traversal import walk_breadth_first
from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND

TYPE_KINDS = frozenset({"class", "interface", "struct", "trait", "enum", "union", "type_alias", "impl"})
FUNCTION_KINDS = frozenset({"function", "method", "macro"})

DISPATCH_CONFIDENCE = 0.6
"""Confidence with which a call of a method may run one that overrides it."""

_FOLDER_LANGUAGES = frozenset({"go", "c_sharp"})
"""In one folder, files of these declare the same name again only for another platform, or as another part of it."""

_STUB_EXTENSIONS: Final = MappingProxyType(
    {".pyi": (".py",), ".d.ts": (".js", ".jsx"), ".d.mts": (".mjs",), ".d.cts": (".cjs",)}
)
"""What a stub may stand beside, by extension."""

_C_LANGUAGES = frozenset({"c", "cpp", "objective_c"})
_HEADER_SUFFIXES = frozenset({".h", ".hh", ".hpp", ".hxx", ".h++", ".inl"})
_MAX_OVERRIDE_DEPTH = 20  # overrides of overrides


class DeclarationGroups:
    """The relations between the declarations of a graph that are no edges.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: SymbolGraph) -> None:
        self._graph = graph

    def find_group(self, node: int) -> list[int]:
        """Return the declarations that count as one with a node, itself included.

        They have its qualified name: overloads in its file, the header or stub that declares what it implements, an
        ``impl`` of its type, its other parts or the same for another platform.
        """
        namesakes = self.find_namesakes(node)
        return (
            namesakes
            if len(namesakes) == 1
            else [other for other in namesakes if self._is_same_declaration(node, other)]
        )

    def group_nodes(self, nodes: Iterable[int]) -> list[list[int]]:
        """Return the nodes in groups that count as one, each with all that belong to it."""
        groups: list[list[int]] = []
        grouped_nodes: set[int] = set()
        for node in nodes:
            if node not in grouped_nodes:
                group = sorted({node, *self.find_group(node)})
                groups.append(group)
                grouped_nodes.update(group)
        return groups

    def find_members(self, nodes: Sequence[int]) -> list[int]:
        """Return all that is declared inside some nodes, also what is written elsewhere (a Go type's methods)."""
        members: set[int] = set()
        for node in nodes:
            members.update(self._graph.find_descendants(node))
            if self._graph.kinds[node] in TYPE_KINDS:
                members.update(self._find_external_members(node))
        return sorted({member for node in members for member in self.find_group(node)} - set(nodes))

    def find_constructors(self, node: int) -> list[int]:
        """Return the constructors of a type; none for what is no type."""
        if self._graph.kinds[node] not in TYPE_KINDS:
            return []
        return [child for child in self._graph.find_children(node) if self._find_constructed_type(child) == node]

    def find_use_targets(self, node: int) -> Iterator[tuple[int, float]]:
        """Yield what the users of a node refer to: itself in another place, a method it overrides, the type it constructs."""
        for other in self.find_group(node):
            if other != node:
                yield other, 1.0
        constructed_type = self._find_constructed_type(node)
        if constructed_type is None:
            yield from self._find_dispatched_methods(node, "out")
        else:
            yield constructed_type, 1.0

    def find_use_sources(self, node: int) -> Iterator[tuple[int, float]]:
        """Yield what uses things on behalf of a node: itself in another place, a type's constructors, inner functions."""
        counterparts = [other for other in self.find_group(node) if other != node]
        inner_nodes = (
            self._graph.find_descendants(node)
            if self._graph.kinds[node] in FUNCTION_KINDS
            else self.find_constructors(node)
        )
        for other in (*counterparts, *inner_nodes):
            yield other, 1.0

    def find_dispatch_targets(self, node: int) -> Iterator[tuple[int, float]]:
        """Yield what may run when a node is called: as `find_use_sources`, and the methods that override it."""
        yield from self.find_use_sources(node)
        if self._find_constructed_type(node) is None:
            yield from self._find_dispatched_methods(node, "in")

    def find_file_nodes(self, node: int) -> Iterator[tuple[int, float]]:
        """Yield everything in a node's file."""
        file = self._graph.find_containing_file(node)
        if file is not None:
            for other in self._graph.get_file_nodes(file):
                yield other, 1.0

    def _find_dispatched_methods(self, node: int, direction: Direction) -> Iterator[tuple[int, float]]:
        """Yield the methods that a method overrides, or that override it."""
        if self._graph.kinds[node] == "method":
            for step in walk_breadth_first(self._graph, [node], {direction: ("overrides",)}, _MAX_OVERRIDE_DEPTH):
                for other in self.find_group(step.far_node):
                    yield other, DISPATCH_CONFIDENCE

    def _find_constructed_type(self, node: int) -> int | None:
        """Return the type that a node is a constructor of."""
        parent = int(self._graph.parents[node])
        if self._graph.kinds[node] != "method" or parent < 0 or self._graph.kinds[parent] not in TYPE_KINDS:
            return None
        names = (self._graph.names[symbol].as_py() for symbol in (node, parent))
        return parent if is_constructor(self._graph.languages[node], *names) else None

    def _is_same_declaration(self, node: int, other: int) -> bool:
        """Whether two nodes of one qualified name are the same declaration."""
        graph = self._graph
        if {graph.kinds[node], graph.kinds[other]} & {FILE_KIND, EXTERNAL_KIND}:
            return node == other
        if self._count_enclosing_type_parameters(node) != self._count_enclosing_type_parameters(other):
            return False
        path, other_path = graph.paths[node], graph.paths[other]
        if path == other_path or path in _list_stub_targets(other_path) or other_path in _list_stub_targets(path):
            return True
        languages = {graph.languages[node], graph.languages[other]}
        if languages <= _C_LANGUAGES:
            return self._is_header_pair(node, other)
        if len(languages) > 1 or _get_folder(path) != _get_folder(other_path):
            return False
        is_impl = "impl" in (graph.kinds[node], graph.kinds[other])
        return bool(languages & _FOLDER_LANGUAGES) or (
            is_impl and not (self._has_local_type(node) and self._has_local_type(other))
        )

    def count_type_parameters(self, node: int) -> int:
        """Return how many type parameters a type has, or that around a member, where types are told apart by them; else 0."""
        enclosing_types = (
            symbol for symbol in (node, *self._graph.find_ancestors(node)) if self._graph.kinds[symbol] in TYPE_KINDS
        )
        return int(self._graph.type_parameters[next(enclosing_types, node)]) if self._graph.has_type_parameters else 0

    def _count_enclosing_type_parameters(self, node: int) -> list[int]:
        """Return the numbers of type parameters of a declaration and of those around it, where they count."""
        if not self._graph.has_type_parameters:
            return []
        counts: list[int] = self._graph.type_parameters[[node, *self._graph.find_ancestors(node)]].tolist()
        return counts

    def _has_local_type(self, node: int) -> bool:
        """Whether what an ``impl`` of a node's name is of stands in its file: then it is of no other one beside it."""
        graph = self._graph
        local_namesakes = (other for other in self.find_namesakes(node) if graph.paths[other] == graph.paths[node])
        return any(graph.kinds[other] != "impl" for other in local_namesakes)

    def _is_header_pair(self, node: int, other: int) -> bool:
        """Whether one of two nodes is in a header and the other is what it declares: no third has the name, or the files'."""
        path, other_path = (PurePosixPath(self._graph.paths[symbol]) for symbol in (node, other))
        if (path.suffix in _HEADER_SUFFIXES) == (other_path.suffix in _HEADER_SUFFIXES):
            return False
        return (
            path.stem == other_path.stem
            or len({self._graph.paths[symbol] for symbol in self.find_namesakes(node)}) == 2
        )

    def _find_external_members(self, node: int) -> list[int]:
        """Return what is declared beside a type as its member: its qualified name begins with that of the type."""
        graph = self._graph
        owned_codes = self._codes_by_owner.get(graph.qualified_names[node].as_py(), ())
        folder = _get_folder(graph.paths[node])
        return [
            member
            for code in owned_codes
            for member in self._find_by_code(code)
            if graph.languages[member] in _FOLDER_LANGUAGES
            and _get_folder(graph.paths[member]) == folder
            and self.count_type_parameters(int(graph.parents[member])) == self.count_type_parameters(node)
        ]

    # Nodes by qualified name

    def find_namesakes(self, node: int) -> list[int]:
        """Return the nodes of a node's qualified name, itself included."""
        return self._find_by_code(int(self._codes[node]))

    def _find_by_code(self, code: int) -> list[int]:
        nodes: list[int] = self._nodes_by_code[self._offsets[code] : self._offsets[code + 1]].tolist()
        return nodes

    @cached_property
    def _codes(self) -> IntArray:
        """int64 (n_nodes,): equal for equal qualified names."""
        return self._graph.qualified_names_by_code.codes

    @cached_property
    def _nodes_by_code(self) -> IntArray:
        return np.argsort(self._codes, kind="stable")

    @cached_property
    def _offsets(self) -> IntArray:
        n_codes = len(self._graph.qualified_names_by_code.values)
        return np.searchsorted(self._codes[self._nodes_by_code], np.arange(n_codes + 1))

    @cached_property
    def _codes_by_owner(self) -> dict[str, list[int]]:
        """The qualified names right inside each."""
        codes_by_owner: dict[str, list[int]] = defaultdict(list)
        for code, name in enumerate(self._graph.qualified_names_by_code.values):
            codes_by_owner[name.rpartition(".")[0]].append(code)
        return codes_by_owner


def _get_folder(path: str) -> str:
    return path.rpartition("/")[0]


def _list_stub_targets(stub: str) -> list[str]:
    """Return the paths of what a stub may declare; none for what is no stub."""
    return [
        stub.removesuffix(suffix) + extension
        for suffix, extensions in _STUB_EXTENSIONS.items()
        if stub.endswith(suffix)
        for extension in extensions
    ]
