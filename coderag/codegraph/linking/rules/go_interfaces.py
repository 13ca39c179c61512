"""Which Go types have the methods of which interfaces: nothing in the text says that one implements the other."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from coderag.codegraph.linking.meanings import SURENESS, Meaning
from coderag.codegraph.linking.program import MODULE, Program

if TYPE_CHECKING:
    from coderag.codegraph.linking.resolver import Resolver

_QUALIFIER = re.compile(r"\b\w+\.(?=\w)")
_LANGUAGES: Final = ("go",)
_WITHOUT_METHODS: Final = frozenset({"any", "comparable"})
Methods = Mapping[str, tuple[int, int]]
"""Where each method of a name is declared, as (file, index)."""


class Interfaces:
    """The interfaces of a program's Go files.

    Args:
        program: All files.
        methods_of: Returns the methods that are declared for a type.
    """

    def __init__(self, program: Program, methods_of: Callable[[int, int], Methods]) -> None:
        self._program = program
        self._methods_of = methods_of

    def implemented(self, resolver: "Resolver", file: int, index: int) -> Sequence[Meaning]:
        """Return the interfaces that a type implements, in order of their files; those without methods are not counted."""
        return self._program.remembered(
            "go implemented", (file, index), lambda: self._implemented(resolver, file, index)
        )

    def _implemented(self, resolver: "Resolver", file: int, index: int) -> Sequence[Meaning]:
        if self._program.definition(file, index).kind == "interface":
            return ()
        own = self._method_set(resolver, file, index)
        for name in own:
            self._program.note(f"name:go:{name}")
        found: dict[tuple[int, int], None] = {}
        waiting = sorted({one for name in own for one in self._with_first_method(name)})
        while waiting:
            interface = waiting.pop()
            if interface not in found and self._has_all(resolver, own, interface):
                found[interface] = None
                waiting += self._embedding(self._program.definition(*interface).name)
        return [
            Meaning("definition", *one, resolver="methods", confidence=SURENESS["methods"]) for one in sorted(found)
        ]

    def _has_all(self, resolver: "Resolver", own: Methods, interface: tuple[int, int]) -> bool:
        """Return whether a type's methods are those of an interface, by name and signature."""
        asked = self._method_set(resolver, *interface)
        if not asked or not asked.keys() <= own.keys():
            return False
        for name, method in asked.items():
            if not name[0].isupper() and self._folder(method[0]) != self._folder(own[name][0]):
                return False
            if self._signature(*method) != self._signature(*own[name]):
                return False
        return all(self._is_known(resolver, one) for one in resolver.ancestors(*interface))

    def _is_known(self, resolver: "Resolver", interface: Meaning) -> bool:
        """Return whether all that an interface embeds is known, so that no method of it is missed."""
        if interface.kind != "definition":
            return interface.name in _WITHOUT_METHODS
        written = self._program.interface(interface.file).bases.get(interface.index, ())
        return len(written) == len(resolver.bases(interface.file, interface.index))

    def _method_set(self, resolver: "Resolver", file: int, index: int) -> Methods:
        """Return the methods of a type, its own and those of what it embeds."""
        found: dict[str, tuple[int, int]] = {}
        for one in resolver.ancestors(file, index):
            if one.kind != "definition":
                continue
            for name, method in self._methods_of(one.file, one.index).items():
                found.setdefault(name, method)
            interface = self._program.interface(one.file)
            for name, declared in interface.children.get(one.index, {}).items():
                if interface.definitions[declared[0]].kind == "method":
                    found.setdefault(name, (one.file, declared[0]))
        return found

    def _signature(self, file: int, index: int) -> tuple[str, str]:
        definition = self._program.definition(file, index)
        return _plain(definition.parameters), _plain(definition.returns)

    def _folder(self, file: int) -> str:
        return self._program.rows[file].path.rpartition("/")[0]

    def _with_first_method(self, name: str) -> Iterator[tuple[int, int]]:
        """Yield the interfaces whose first own method has a name."""
        for file, index in self._program.named(name, _LANGUAGES):
            interface = self._program.peek(file)
            parent = interface.definitions[index].parent
            is_inside = parent != MODULE and interface.definitions[parent].kind == "interface"
            if is_inside and next(iter(interface.children.get(parent, ())), "") == name:
                yield file, parent

    def _embedding(self, name: str) -> Iterator[tuple[int, int]]:
        """Yield the interfaces without methods of their own that embed one of a name."""
        for file, index in self._program.extending(_LANGUAGES, name):
            interface = self._program.peek(file)
            if interface.definitions[index].kind == "interface" and index not in interface.children:
                yield file, index


def _plain(types: str) -> str:
    """Return types without packages and without what may be written in two ways."""
    text = _QUALIFIER.sub("", types).replace("interface{}", "any").replace(" ", "")
    return text[1:-1] if text.startswith("(") and text.endswith(")") and "," not in text else text
