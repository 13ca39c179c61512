"""Types and values of one name: in TypeScript an interface and a constant, or a function, may share it."""

from collections.abc import Set
from typing import TYPE_CHECKING, Final

from coderag.codegraph.linking.meanings import CALLABLE, DATA, TYPES, Meaning

if TYPE_CHECKING:
    from coderag.codegraph.linking.resolver import Resolver

_NO_VALUES: Final = frozenset({"interface", "type_alias"})
_NO_TYPES: Final = CALLABLE | DATA


def as_value(resolver: "Resolver", found: Meaning) -> Meaning:
    """Return the value that is declared beside a type by its name, if the type is none itself."""
    return _namesake(resolver, found, _NO_VALUES, _NO_TYPES | {"class", "enum"})


def as_type(resolver: "Resolver", found: Meaning) -> Meaning:
    """Return the type that is declared beside a value by its name, if the value is none itself."""
    return _namesake(resolver, found, _NO_TYPES, TYPES)


def _namesake(resolver: "Resolver", found: Meaning, kinds: Set[str], wanted: Set[str]) -> Meaning:
    if found.kind != "definition" or (definition := resolver.definition(found)).kind not in kinds:
        return found
    interface = resolver.program.interface(found.file)
    hidden = resolver.rules_of(found.file).hidden_kinds
    for index in interface.children.get(definition.parent, {}).get(definition.name, ()):
        if (kind := interface.definitions[index].kind) in wanted and kind not in hidden:
            return found._replace(index=index)
    return found
