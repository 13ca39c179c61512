"""Declaration spaces: in TypeScript a type and a value may share one name, such as an interface and a constant."""

from collections.abc import Set
from typing import Final

from coderag.codegraph.linking.companions import select_companion
from coderag.codegraph.linking.referents import CALLABLE_KINDS, DATA_KINDS, TYPE_KINDS, Referent
from coderag.codegraph.linking.resolution import Resolution

_TYPE_ONLY_KINDS: Final = frozenset({"interface", "type_alias"})
_VALUE_ONLY_KINDS: Final = CALLABLE_KINDS | DATA_KINDS


def to_value_space(resolver: Resolution, referent: Referent) -> Referent:
    """Return the value of the same name if the referent is a type without a value; else the referent."""
    return _switch_space(resolver, referent, _TYPE_ONLY_KINDS, _VALUE_ONLY_KINDS | {"class", "enum"})


def to_type_space(resolver: Resolution, referent: Referent) -> Referent:
    """Return the type of the same name if the referent is a value without a type; else the referent."""
    return _switch_space(resolver, referent, _VALUE_ONLY_KINDS, TYPE_KINDS)


def _switch_space(
    resolver: Resolution, referent: Referent, replaced_kinds: Set[str], target_kinds: Set[str]
) -> Referent:
    if referent.kind != "definition":
        return referent
    if resolver.get_rules(referent.file).has_companions:
        return select_companion(resolver.program, referent, is_value=target_kinds is not TYPE_KINDS)
    if (definition := resolver.get_definition(referent)).kind not in replaced_kinds:
        return referent
    interface = resolver.program.read_interface(referent.file)
    hidden = resolver.get_rules(referent.file).hidden_kinds
    for index in interface.children.get(definition.parent, {}).get(definition.name, ()):
        if (kind := interface.definitions[index].kind) in target_kinds and kind not in hidden:
            return referent._replace(index=index)
    return referent
