"""Overload resolution by the number of arguments."""

import re
from collections.abc import Sequence
from typing import Final

from coderag.codegraph.linking.referents import DATA_KINDS
from coderag.codegraph.linking.rules.traits import LanguageTraits
from coderag.schema.facts import CALLBACK_MODIFIER, Definition

_FUNCTION_KINDS: Final = frozenset({"function", "method", "macro"})
TYPE_LEVEL_SUFFIX: Final = "/self"
"""End of the name of a member that belongs to the type itself, in languages with `LanguageTraits.has_object_scope`."""

_SECONDARY_MODIFIER = re.compile(r"overload|\bset(?:ter)?\b")
_ARITY = re.compile(r"(?:^|\s)/(\d+)(\+|-(\d+))?")

_TYPE_PARAMETER_COUNT = re.compile(r"`(\d+)")


def select_overloads(
    definitions: Sequence[Definition], indices: Sequence[int], name: str, rules: LanguageTraits
) -> Sequence[int]:
    """Return the definitions that a name may refer to: at most one method, the first that accepts the arguments.

    Args:
        definitions: All definitions of the file.
        indices: Definitions of the bare name in one scope.
        name: Followed by ``/`` and the number of arguments in a call, or by ``/`` alone in a method reference.
        rules: The rules of the file's language.
    """
    base_name, is_method, argument_count = name.partition("/")
    methods = [
        index
        for index in indices
        if definitions[index].kind in _FUNCTION_KINDS and CALLBACK_MODIFIER not in definitions[index].modifiers
    ]
    non_methods = [index for index in indices if definitions[index].kind not in _FUNCTION_KINDS]
    if rules.overloads_types_by_arity:
        type_argument_count = int(base_name.partition("`")[2] or 0)
        non_methods = [
            index for index in non_methods if count_type_parameters(definitions[index]) == type_argument_count
        ]
        if type_argument_count:
            return non_methods
    if is_method:
        accepting = [
            index
            for index in methods
            if not argument_count or can_take_arguments(definitions[index], int(argument_count))
        ]
        return accepting[:1] or ([] if rules.separates_methods else non_methods)
    return (
        non_methods
        if rules.separates_methods
        else non_methods or [index for index in methods if not _is_constructor(definitions, index)]
    )


def can_take_arguments(definition: Definition, argument_count: int) -> bool:
    """Return whether a function can be called with a number of arguments."""
    arity = _ARITY.search(definition.modifiers)
    if arity is None:
        return True
    min_count = int(arity[1])
    return argument_count >= min_count if arity[2] == "+" else min_count <= argument_count <= int(arity[3] or min_count)


def to_type_level(name: str) -> str:
    """Return the name by which a type's own method is looked up; constants have no such name."""
    return name if name[:1].isupper() or name.endswith(TYPE_LEVEL_SUFFIX) else name + TYPE_LEVEL_SUFFIX


def is_method_name(name: str) -> bool:
    """Return whether a name is neither that of a constant nor of an instance variable, in Ruby."""
    return name[0].islower() or name[0] == "_"


def strip_arity(name: str) -> str:
    """Return a name without its numbers of arguments and type arguments."""
    return name.partition("/")[0].partition("`")[0] if "/" in name or "`" in name else name


def count_type_parameters(definition: Definition) -> int:
    """Return the number of type parameters of a type."""
    match = _TYPE_PARAMETER_COUNT.search(definition.modifiers)
    return int(match[1]) if match else 0


def format_call_name(definition: Definition, rules: LanguageTraits) -> str:
    """Return a method's name as in a call: with its minimum number of parameters if that is known."""
    if rules.has_object_scope:
        return to_type_level(definition.name) if "static" in definition.modifiers.split() else definition.name
    arity = _ARITY.search(definition.modifiers)
    if arity is None:
        return f"{definition.name}/" if rules.separates_methods else definition.name
    return f"{definition.name}/{arity[1]}"


def _is_constructor(definitions: Sequence[Definition], index: int) -> bool:
    parent = definitions[index].parent
    return parent >= 0 and definitions[parent].name == definitions[index].name


def select_primary(definitions: Sequence[Definition], indices: Sequence[int]) -> int:
    """Return the most informative of several definitions of one name: not a variable; the last one among equals."""
    return max(
        indices,
        key=lambda index: (
            definitions[index].kind not in DATA_KINDS,
            -index if _is_overload(definitions[index]) else index,
        ),
    )


def select_last_above(definitions: Sequence[Definition], indices: Sequence[int], line: int) -> Sequence[int]:
    """Return the last definition above a line if all definitions are of one kind; each is in a block of its own."""
    preceding = [index for index in indices if definitions[index].start_line <= line]
    return preceding[-1:] if preceding and len({definitions[index].kind for index in indices}) == 1 else indices


def _is_overload(definition: Definition) -> bool:
    return _SECONDARY_MODIFIER.search(definition.modifiers) is not None
