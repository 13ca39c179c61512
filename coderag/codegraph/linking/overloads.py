"""Overloads: which of several methods of one name a call with so many arguments may mean."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from coderag.codegraph.linking.meanings import DATA
from coderag.schema.facts import Definition

if TYPE_CHECKING:
    from coderag.codegraph.linking.rules.base import Rules

_CALLABLE: Final = frozenset({"function", "method"})
_SAYS_LESS = re.compile(r"overload|\bset(?:ter)?\b")
_ARITY = re.compile(r"(?:^|\s)/(\d+)(\+|-(\d+))?")

_TYPE_PARAMETERS = re.compile(r"`(\d+)")


def fitting(definitions: Sequence[Definition], declared: Sequence[int], name: str, rules: "Rules") -> Sequence[int]:
    """Return which definitions of a name may be meant: one method at most, the first that takes as many arguments.

    Args:
        declared: Definitions of the name, without its number of arguments, in one scope.
        name: With ``/`` and the number of arguments if it is called; with ``/`` alone if it is that of a method.
    """
    before, is_method, count = name.partition("/")
    methods = [one for one in declared if definitions[one].kind in _CALLABLE]
    others = [one for one in declared if definitions[one].kind not in _CALLABLE]
    if rules.counts_type_arguments:
        n_arguments = int(before.partition("`")[2] or 0)
        others = [one for one in others if n_type_parameters(definitions[one]) == n_arguments]
        if n_arguments:
            return others
    if is_method:
        taking = [one for one in methods if not count or takes(definitions[one], int(count))]
        return taking[:1] or ([] if rules.methods_apart else others)
    return (
        others if rules.methods_apart else others or [one for one in methods if not _is_constructor(definitions, one)]
    )


def takes(definition: Definition, count: int) -> bool:
    """Return whether a function may be called with so many arguments."""
    found = _ARITY.search(definition.modifiers)
    if found is None:
        return True
    least = int(found[1])
    return count >= least if found[2] == "+" else least <= count <= int(found[3] or least)


def bare(name: str) -> str:
    """Return a name without what it says of arguments."""
    return name.partition("/")[0].partition("`")[0] if "/" in name or "`" in name else name


def n_type_parameters(definition: Definition) -> int:
    """Return how many type parameters a type has."""
    found = _TYPE_PARAMETERS.search(definition.modifiers)
    return int(found[1]) if found else 0


def called_name(definition: Definition) -> str:
    """Return a method's name with its least number of parameters, as a call of it has; the bare name if that is not told."""
    found = _ARITY.search(definition.modifiers)
    return f"{definition.name}/{found[1]}" if found else definition.name


def _is_constructor(definitions: Sequence[Definition], index: int) -> bool:
    parent = definitions[index].parent
    return parent >= 0 and definitions[parent].name == definitions[index].name


def best(definitions: Sequence[Definition], found: Sequence[int]) -> int:
    """Return of several definitions of one name that which says most: not a variable, and the last of equals."""
    return max(
        found,
        key=lambda index: (definitions[index].kind not in DATA, -index if _is_overload(definitions[index]) else index),
    )


def nearest_above(definitions: Sequence[Definition], found: Sequence[int], line: int) -> Sequence[int]:
    """Return of several definitions of one kind, each in a block of its own, the last one above a line."""
    above = [index for index in found if definitions[index].start_line <= line]
    return above[-1:] if above and len({definitions[index].kind for index in found}) == 1 else found


def _is_overload(definition: Definition) -> bool:
    return _SAYS_LESS.search(definition.modifiers) is not None
