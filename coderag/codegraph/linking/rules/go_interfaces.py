"""Structural implementation of Go interfaces by method sets."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from coderag.codegraph.linking.program import MODULE, Program
from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import RESOLVER_PRECISION, Referent

_QUALIFIER = re.compile(r"\b\w+\.(?=\w)")
_LANGUAGES: Final = ("go",)
_EMPTY_INTERFACES: Final = frozenset({"any", "comparable"})
MethodSet = Mapping[str, tuple[int, int]]
"""Declaration of each method by name, as (file, index)."""


class GoInterfaces:
    """Finds the interfaces of a program's Go files that types implement.

    Args:
        program: All files.
        find_methods: Returns the methods declared for a type.
    """

    def __init__(self, program: Program, find_methods: Callable[[int, int], MethodSet]) -> None:
        self._program = program
        self._find_methods = find_methods

    def find_implemented_types(self, resolver: ResolutionQueries, file: int, index: int) -> Sequence[Referent]:
        """Return the interfaces that a type implements, in the order of their files, without empty ones."""
        return self._program.memoize(
            "go implemented", (file, index), lambda: self._compute_implemented_types(resolver, file, index)
        )

    def _compute_implemented_types(self, resolver: ResolutionQueries, file: int, index: int) -> Sequence[Referent]:
        if self._program.get_definition(file, index).kind == "interface":
            return ()
        own_methods = self._build_method_set(resolver, file, index)
        for name in own_methods:
            self._program.record_key(f"name:go:{name}")
        implemented: dict[tuple[int, int], None] = {}
        pending = sorted({declaration for name in own_methods for declaration in self._iterate_by_first_method(name)})
        while pending:
            interface = pending.pop()
            if interface not in implemented and self._has_all_methods(resolver, own_methods, interface):
                implemented[interface] = None
                pending += self._iterate_embedding_interfaces(self._program.get_definition(*interface).name)
        return [
            Referent("definition", *declaration, resolver="methods", confidence=RESOLVER_PRECISION["methods"])
            for declaration in sorted(implemented)
        ]

    def _has_all_methods(self, resolver: ResolutionQueries, own_methods: MethodSet, interface: tuple[int, int]) -> bool:
        """Return whether a method set contains that of an interface, by name and signature."""
        required = self._build_method_set(resolver, *interface)
        if not required or not required.keys() <= own_methods.keys():
            return False
        for name, method in required.items():
            if not name[0].isupper() and self._get_folder(method[0]) != self._get_folder(own_methods[name][0]):
                return False
            if self._normalize_signature(*method) != self._normalize_signature(*own_methods[name]):
                return False
        return all(self._is_complete(resolver, ancestor) for ancestor in resolver.find_ancestors(*interface))

    def _is_complete(self, resolver: ResolutionQueries, interface: Referent) -> bool:
        """Return whether all embedded interfaces are known, so that no method is missing."""
        if interface.kind != "definition":
            return interface.name in _EMPTY_INTERFACES
        written_bases = self._program.read_interface(interface.file).bases.get(interface.index, ())
        return len(written_bases) == len(resolver.resolve_bases(interface.file, interface.index))

    def _build_method_set(self, resolver: ResolutionQueries, file: int, index: int) -> MethodSet:
        """Return the methods of a type and of its embedded types."""
        methods: dict[str, tuple[int, int]] = {}
        for ancestor in resolver.find_ancestors(file, index):
            if ancestor.kind != "definition":
                continue
            for name, method in self._find_methods(ancestor.file, ancestor.index).items():
                methods.setdefault(name, method)
            interface = self._program.read_interface(ancestor.file)
            for name, indices in interface.children.get(ancestor.index, {}).items():
                if interface.definitions[indices[0]].kind == "method":
                    methods.setdefault(name, (ancestor.file, indices[0]))
        return methods

    def _normalize_signature(self, file: int, index: int) -> tuple[str, str]:
        definition = self._program.get_definition(file, index)
        return _normalize_types(definition.parameters), _normalize_types(definition.returns)

    def _get_folder(self, file: int) -> str:
        return self._program.rows[file].path.rpartition("/")[0]

    def _iterate_by_first_method(self, name: str) -> Iterator[tuple[int, int]]:
        """Yield the interfaces whose first own method has a name."""
        for file, index in self._program.find_declarations(name, _LANGUAGES):
            interface = self._program.peek(file)
            parent = interface.definitions[index].parent
            is_inside = parent != MODULE and interface.definitions[parent].kind == "interface"
            if is_inside and next(iter(interface.children.get(parent, ())), "") == name:
                yield file, parent

    def _iterate_embedding_interfaces(self, name: str) -> Iterator[tuple[int, int]]:
        """Yield the interfaces without methods of their own that embed an interface of a name."""
        for file, index in self._program.find_extending_types(_LANGUAGES, name):
            interface = self._program.peek(file)
            if interface.definitions[index].kind == "interface" and index not in interface.children:
                yield file, index


def _normalize_types(types: str) -> str:
    """Return types without package qualifiers and in one notation."""
    text = _QUALIFIER.sub("", types).replace("interface{}", "any").replace(" ", "")
    return text[1:-1] if text.startswith("(") and text.endswith(")") and "," not in text else text
