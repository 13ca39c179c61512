"""Groups of declarations that are one symbol: overloads, partial types, headers and stubs, platform variants."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
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
"""Confidence that a call of a method dispatches to an override."""

_FOLDER_LANGUAGES = frozenset({"go", "c_sharp"})
"""Languages whose files in one folder repeat a name only for another platform or as another part of a type."""

_STUB_EXTENSIONS: Final = MappingProxyType(
    {".pyi": (".py",), ".d.ts": (".js", ".jsx"), ".d.mts": (".mjs",), ".d.cts": (".cjs",)}
)
"""Extensions of the files that a stub describes, by the stub's extension."""

_C_LANGUAGES = frozenset({"c", "cpp", "objective_c"})
_HEADER_SUFFIXES = frozenset({".h", ".hh", ".hpp", ".hxx", ".h++", ".inl"})
_MAX_OVERRIDE_DEPTH = 20


class DeclarationGroups:
    """Relations between declarations that are not edges: grouping, membership, construction, dispatch.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: SymbolGraph) -> None:
        self._graph = graph
        self._groups: dict[int, list[int]] = {}

    def find_group(self, node: int) -> list[int]:
        """Return the declarations of the same symbol as a node, itself included.

        All have its qualified name. They are overloads in its file, the header or stub that declares it, ``impl`` blocks of
        its type, parts of a partial type, or variants for other platforms.
        """
        if node not in self._groups:
            namesakes = self.find_namesakes(node)
            if len(namesakes) > 1 and self._graph.languages[node] not in _C_LANGUAGES:
                # Only headers are in other folders; of a common name most namesakes are.
                folder = _get_folder(self._graph.paths[node])
                namesakes = [other for other in namesakes if _get_folder(self._graph.paths[other]) == folder]
            self._groups[node] = [
                other for other in namesakes if len(namesakes) == 1 or self._is_same_declaration(node, other)
            ]
        return self._groups[node]

    def group_nodes(self, nodes: Iterable[int]) -> list[list[int]]:
        """Return the nodes in groups of one symbol each, completed by all declarations of that symbol.

        A prototype comes after its definition.
        """
        groups: list[list[int]] = []
        grouped_nodes: set[int] = set()
        for node in nodes:
            if node not in grouped_nodes:
                group = sorted({node, *self.find_group(node)}, key=lambda other: (self._graph.prototypes[other], other))
                groups.append(group)
                grouped_nodes.update(group)
        return groups

    def find_definition(self, node: int) -> int:
        """Return the definition of a prototype; the node itself if it is none, or if there is no definition."""
        if not self._graph.prototypes[node]:
            return node
        return next((other for other in self.find_group(node) if not self._graph.prototypes[other]), node)

    def find_members(self, nodes: Sequence[int]) -> list[int]:
        """Return all declarations inside some nodes, including members declared elsewhere (methods of a Go type)."""
        members: set[int] = set()
        for node in nodes:
            members.update(self._graph.find_descendants(node))
            if self._graph.kinds[node] in TYPE_KINDS:
                members.update(self._find_external_members(node))
        return sorted({member for node in members for member in self.find_group(node)} - set(nodes))

    def find_constructors(self, node: int) -> list[int]:
        """Return the constructors of a type; empty if the node is not a type."""
        if self._graph.kinds[node] not in TYPE_KINDS:
            return []
        return [child for child in self._graph.find_children(node) if self._find_constructed_type(child) == node]

    def find_use_targets(self, node: int) -> Iterator[tuple[int, float]]:
        """Yield the nodes that a use of this node may refer to instead.

        These are its other declarations, the methods that it overrides, and the type that it constructs.
        """
        for other in self.find_group(node):
            if other != node:
                yield other, 1.0
        constructed_type = self._find_constructed_type(node)
        if constructed_type is None:
            yield from self._find_dispatched_methods(node, "out")
        else:
            yield constructed_type, 1.0

    def find_use_sources(self, node: int) -> Iterator[tuple[int, float]]:
        """Yield the nodes whose uses belong to a node: its other declarations, constructors of a type, inner functions."""
        counterparts = [other for other in self.find_group(node) if other != node]
        inner_nodes = (
            self._graph.find_descendants(node)
            if self._graph.kinds[node] in FUNCTION_KINDS
            else self.find_constructors(node)
        )
        for other in (*counterparts, *inner_nodes):
            yield other, 1.0

    def find_dispatch_targets(self, node: int) -> Iterator[tuple[int, float]]:
        """Yield the nodes that a call of a node may run: as `find_use_sources`, and the methods that override it."""
        yield from self.find_use_sources(node)
        if self._find_constructed_type(node) is None:
            yield from self._find_dispatched_methods(node, "in")

    def find_file_nodes(self, node: int) -> Iterator[tuple[int, float]]:
        """Yield all nodes of the file that contains a node."""
        file = self._graph.find_containing_file(node)
        if file is not None:
            for other in self._graph.get_file_nodes(file):
                yield other, 1.0

    def _find_dispatched_methods(self, node: int, direction: Direction) -> Iterator[tuple[int, float]]:
        """Yield the methods that a method overrides (``out``) or that override it (``in``)."""
        if self._graph.kinds[node] == "method":
            for step in walk_breadth_first(self._graph, [node], {direction: ("overrides",)}, _MAX_OVERRIDE_DEPTH):
                for other in self.find_group(step.far_node):
                    yield other, DISPATCH_CONFIDENCE

    def _find_constructed_type(self, node: int) -> int | None:
        """Return the type that a constructor constructs; None for any other node."""
        parent = int(self._graph.parents[node])
        if self._graph.kinds[node] != "method" or parent < 0 or self._graph.kinds[parent] not in TYPE_KINDS:
            return None
        names = (self._graph.names[symbol].as_py() for symbol in (node, parent))
        return parent if is_constructor(self._graph.languages[node], *names) else None

    def _is_same_declaration(self, node: int, other: int) -> bool:
        """Return whether two nodes of one qualified name declare the same symbol."""
        graph = self._graph
        path, other_path = graph.paths[node], graph.paths[other]
        is_paired = (
            path == other_path or path in _list_stub_targets(other_path) or other_path in _list_stub_targets(path)
        )
        if not is_paired and not self._is_declared_apart(node, other):  # first: of a common name most are unrelated
            return False
        if {graph.kinds[node], graph.kinds[other]} & {FILE_KIND, EXTERNAL_KIND}:
            return node == other
        return self._count_enclosing_type_parameters(node) == self._count_enclosing_type_parameters(other)

    def _is_declared_apart(self, node: int, other: int) -> bool:
        """Return whether a language lets two nodes in different files declare the same symbol."""
        graph = self._graph
        languages = {graph.languages[node], graph.languages[other]}
        if languages <= _C_LANGUAGES:
            return self._is_header_pair(node, other) or self._is_prototype_pair(node, other)
        if len(languages) > 1 or _get_folder(graph.paths[node]) != _get_folder(graph.paths[other]):
            return False
        is_impl = "impl" in (graph.kinds[node], graph.kinds[other])
        return bool(languages & _FOLDER_LANGUAGES) or (
            is_impl and not (self._has_local_type(node) and self._has_local_type(other))
        )

    def count_type_parameters(self, node: int) -> int:
        """Return the number of type parameters of a type, or of the type around a member.

        Returns:
            0 in languages that do not tell types of one name apart by the number.
        """
        enclosing_types = (
            symbol for symbol in (node, *self._graph.find_ancestors(node)) if self._graph.kinds[symbol] in TYPE_KINDS
        )
        return int(self._graph.type_parameters[next(enclosing_types, node)]) if self._graph.has_type_parameters else 0

    def _count_enclosing_type_parameters(self, node: int) -> list[int]:
        """Return the numbers of type parameters of a declaration and its ancestors; empty if no type has any."""
        if not self._graph.has_type_parameters:
            return []
        counts: list[int] = self._graph.type_parameters[[node, *self._graph.find_ancestors(node)]].tolist()
        return counts

    def _has_local_type(self, node: int) -> bool:
        """Return whether the file of an ``impl`` declares its type: then it belongs to no type of that name elsewhere."""
        graph = self._graph
        local_namesakes = (other for other in self.find_namesakes(node) if graph.paths[other] == graph.paths[node])
        return any(graph.kinds[other] != "impl" for other in local_namesakes)

    def _is_header_pair(self, node: int, other: int) -> bool:
        """Return whether one node is in a header that declares the other.

        The files share a stem, or no third file declares the name.
        """
        path, other_path = (PurePosixPath(self._graph.paths[symbol]) for symbol in (node, other))
        if (path.suffix in _HEADER_SUFFIXES) == (other_path.suffix in _HEADER_SUFFIXES):
            return False
        return (
            path.stem == other_path.stem
            or len({self._graph.paths[symbol] for symbol in self.find_namesakes(node)}) == 2
        )

    def _is_prototype_pair(self, node: int, other: int) -> bool:
        """Return whether one of two nodes is a prototype, and a single file, if any, has a definition."""
        prototypes = self._graph.prototypes
        if not (prototypes[node] or prototypes[other]):
            return False
        definitions = (symbol for symbol in self.find_namesakes(node) if not prototypes[symbol])
        return len({self._graph.paths[symbol] for symbol in definitions}) <= 1

    def _find_external_members(self, node: int) -> list[int]:
        """Return the members of a type that are declared outside of it, by the prefix of their qualified names."""
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
        """Return all nodes with the qualified name of a node, itself included."""
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
        """Codes of qualified names by the qualified name directly around them."""
        codes_by_owner: dict[str, list[int]] = defaultdict(list)
        for code, name in enumerate(self._graph.qualified_names_by_code.values):
            codes_by_owner[name.rpartition(".")[0]].append(code)
        return codes_by_owner


def _get_folder(path: str) -> str:
    return path.rpartition("/")[0]


@lru_cache(maxsize=65_536)
def _list_stub_targets(stub: str) -> Sequence[str]:
    """Return the paths that a stub may declare; empty if the path is not a stub."""
    return tuple(
        stub.removesuffix(suffix) + extension
        for suffix, extensions in _STUB_EXTENSIONS.items()
        if stub.endswith(suffix)
        for extension in extensions
    )
