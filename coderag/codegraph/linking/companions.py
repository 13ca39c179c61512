"""Companions: in Scala a type and the object of its name, which is a value."""

from typing import Final

from coderag.codegraph.linking.program import Program
from coderag.codegraph.linking.referents import CALLABLE_KINDS, DATA_KINDS, Referent
from coderag.schema.facts import Definition

OBJECT_MODIFIER: Final = "object"
"""Modifier of the only instance of its type, which is a value."""

_VALUE_KINDS: Final = CALLABLE_KINDS | DATA_KINDS


def is_object(definition: Definition) -> bool:
    """Return whether a definition is an object."""
    return OBJECT_MODIFIER in definition.modifiers.split()


def select_companion(program: Program, referent: Referent, *, is_value: bool) -> Referent:
    """Return the value, or the type, of a definition's name in its scope; the definition itself if there is no other.

    Args:
        is_value: Whether the value is wanted.
    """
    interface = program.read_interface(referent.file)
    definition = interface.definitions[referent.index]
    if _is_value(definition) == is_value:
        return referent
    for index in interface.children.get(definition.parent, {}).get(definition.name, ()):
        if _is_value(interface.definitions[index]) == is_value:
            return referent._replace(index=index)
    return referent


def _is_value(definition: Definition) -> bool:
    return definition.kind in _VALUE_KINDS or is_object(definition)
