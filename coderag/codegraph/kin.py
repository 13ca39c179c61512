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
from coderag.codegraph.walks import breadth_first
from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND

TYPE_KINDS = frozenset({"class", "interface", "struct", "trait", "enum", "union", "type_alias", "impl"})
FUNCTION_KINDS = frozenset({"function", "method", "macro"})

DISPATCHED = 0.6
"""Confidence with which a call of a method may run one that overrides it."""

_FOLDER_LANGUAGES = frozenset({"go", "c_sharp"})
"""In one folder, files of these declare the same name again only for another platform, or as another part of it."""

_STUBS: Final = MappingProxyType({".pyi": (".py",), ".d.ts": (".js", ".jsx"), ".d.mts": (".mjs",), ".d.cts": (".cjs",)})
"""What a stub may stand beside, by extension."""

_C_LANGUAGES = frozenset({"c", "cpp", "objective_c"})
_HEADER_SUFFIXES = frozenset({".h", ".hh", ".hpp", ".hxx", ".h++", ".inl"})
_DEEPEST = 20  # overrides of overrides


class Kin:
    """The relations between the declarations of a graph that are no edges.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: SymbolGraph) -> None:
        self._graph = graph

    def same(self, node: int) -> list[int]:
        """Return the declarations that count as one with a node, itself included.

        They have its qualified name: overloads in its file, the header or stub that declares what it implements, an
        ``impl`` of its type, its other parts or the same for another platform.
        """
        namesakes = self.namesakes(node)
        return namesakes if len(namesakes) == 1 else [other for other in namesakes if self._is_one(node, other)]

    def grouped(self, nodes: Iterable[int]) -> list[list[int]]:
        """Return the nodes in groups that count as one, each with all that belong to it."""
        groups: list[list[int]] = []
        taken: set[int] = set()
        for node in nodes:
            if node not in taken:
                group = sorted({node, *self.same(node)})
                groups.append(group)
                taken.update(group)
        return groups

    def members(self, nodes: Sequence[int]) -> list[int]:
        """Return all that is declared inside some nodes, also what is written elsewhere (a Go type's methods)."""
        found: set[int] = set()
        for node in nodes:
            found.update(self._graph.descendants(node))
            if self._graph.kinds[node] in TYPE_KINDS:
                found.update(self._methods_elsewhere(node))
        return sorted({same for node in found for same in self.same(node)} - set(nodes))

    def constructors(self, node: int) -> list[int]:
        """Return the constructors of a type; none for what is no type."""
        if self._graph.kinds[node] not in TYPE_KINDS:
            return []
        return [child for child in self._graph.children(node) if self._constructed(child) == node]

    def users_of(self, node: int) -> Iterator[tuple[int, float]]:
        """Yield what the users of a node refer to: itself in another place, a method it overrides, the type it constructs."""
        for other in self.same(node):
            if other != node:
                yield other, 1.0
        constructed = self._constructed(node)
        if constructed is None:
            yield from self._dispatched(node, "out")
        else:
            yield constructed, 1.0

    def used_by(self, node: int) -> Iterator[tuple[int, float]]:
        """Yield what uses things on behalf of a node: itself in another place, a type's constructors, inner functions."""
        others = [other for other in self.same(node) if other != node]
        inner = self._graph.descendants(node) if self._graph.kinds[node] in FUNCTION_KINDS else self.constructors(node)
        for other in (*others, *inner):
            yield other, 1.0

    def run_by(self, node: int) -> Iterator[tuple[int, float]]:
        """Yield what may run when a node is called: as `used_by`, and the methods that override it."""
        yield from self.used_by(node)
        if self._constructed(node) is None:
            yield from self._dispatched(node, "in")

    def whole_file(self, node: int) -> Iterator[tuple[int, float]]:
        """Yield everything in a node's file."""
        file = self._graph.file_of(node)
        if file is not None:
            for other in self._graph.nodes_of_file(file):
                yield other, 1.0

    def _dispatched(self, node: int, direction: Direction) -> Iterator[tuple[int, float]]:
        """Yield the methods that a method overrides, or that override it."""
        if self._graph.kinds[node] == "method":
            for step in breadth_first(self._graph, [node], {direction: ("overrides",)}, _DEEPEST):
                for other in self.same(step.far):
                    yield other, DISPATCHED

    def _constructed(self, node: int) -> int | None:
        """Return the type that a node is a constructor of."""
        parent = int(self._graph.parents[node])
        if self._graph.kinds[node] != "method" or parent < 0 or self._graph.kinds[parent] not in TYPE_KINDS:
            return None
        names = (self._graph.names[one].as_py() for one in (node, parent))
        return parent if is_constructor(self._graph.languages[node], *names) else None

    def _is_one(self, node: int, other: int) -> bool:
        """Whether two nodes of one qualified name are the same declaration."""
        graph = self._graph
        if {graph.kinds[node], graph.kinds[other]} & {FILE_KIND, EXTERNAL_KIND}:
            return node == other
        if self._generic_in(node) != self._generic_in(other):
            return False
        mine, others = graph.paths[node], graph.paths[other]
        if mine == others or mine in _implementations(others) or others in _implementations(mine):
            return True
        languages = {graph.languages[node], graph.languages[other]}
        if languages <= _C_LANGUAGES:
            return self._is_header_of(node, other)
        if len(languages) > 1 or _folder(mine) != _folder(others):
            return False
        is_impl = "impl" in (graph.kinds[node], graph.kinds[other])
        return bool(languages & _FOLDER_LANGUAGES) or (is_impl and not (self._has_type(node) and self._has_type(other)))

    def n_type_parameters(self, node: int) -> int:
        """Return how many type parameters a type has, or that around a member, where types are told apart by them; else 0."""
        around = (one for one in (node, *self._graph.around(node)) if self._graph.kinds[one] in TYPE_KINDS)
        return int(self._graph.type_parameters[next(around, node)]) if self._graph.has_type_parameters else 0

    def _generic_in(self, node: int) -> list[int]:
        """Return the numbers of type parameters of a declaration and of those around it, where they count."""
        if not self._graph.has_type_parameters:
            return []
        found: list[int] = self._graph.type_parameters[[node, *self._graph.around(node)]].tolist()
        return found

    def _has_type(self, node: int) -> bool:
        """Whether what an ``impl`` of a node's name is of stands in its file: then it is of no other one beside it."""
        graph = self._graph
        here = (other for other in self.namesakes(node) if graph.paths[other] == graph.paths[node])
        return any(graph.kinds[other] != "impl" for other in here)

    def _is_header_of(self, node: int, other: int) -> bool:
        """Whether one of two nodes is in a header and the other is what it declares: no third has the name, or the files'."""
        mine, others = (PurePosixPath(self._graph.paths[one]) for one in (node, other))
        if (mine.suffix in _HEADER_SUFFIXES) == (others.suffix in _HEADER_SUFFIXES):
            return False
        return mine.stem == others.stem or len({self._graph.paths[one] for one in self.namesakes(node)}) == 2

    def _methods_elsewhere(self, node: int) -> list[int]:
        """Return what is declared beside a type as its member: its qualified name begins with that of the type."""
        graph = self._graph
        owned = self._by_owner.get(graph.qualified_names[node].as_py(), ())
        folder = _folder(graph.paths[node])
        return [
            member
            for code in owned
            for member in self._with_code(code)
            if graph.languages[member] in _FOLDER_LANGUAGES
            and _folder(graph.paths[member]) == folder
            and self.n_type_parameters(int(graph.parents[member])) == self.n_type_parameters(node)
        ]

    # Nodes by qualified name

    def namesakes(self, node: int) -> list[int]:
        """Return the nodes of a node's qualified name, itself included."""
        return self._with_code(int(self._codes[node]))

    def _with_code(self, code: int) -> list[int]:
        found: list[int] = self._by_code[self._offsets[code] : self._offsets[code + 1]].tolist()
        return found

    @cached_property
    def _codes(self) -> IntArray:
        """int64 (n_nodes,): equal for equal qualified names."""
        return self._graph.qualified_names_by_code.codes

    @cached_property
    def _by_code(self) -> IntArray:
        return np.argsort(self._codes, kind="stable")

    @cached_property
    def _offsets(self) -> IntArray:
        n_codes = len(self._graph.qualified_names_by_code.words)
        return np.searchsorted(self._codes[self._by_code], np.arange(n_codes + 1))

    @cached_property
    def _by_owner(self) -> dict[str, list[int]]:
        """The qualified names right inside each."""
        found: dict[str, list[int]] = defaultdict(list)
        for code, name in enumerate(self._graph.qualified_names_by_code.words):
            found[name.rpartition(".")[0]].append(code)
        return found


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _implementations(stub: str) -> list[str]:
    """Return the paths of what a stub may declare; none for what is no stub."""
    return [
        stub.removesuffix(suffix) + extension
        for suffix, extensions in _STUBS.items()
        if stub.endswith(suffix)
        for extension in extensions
    ]
