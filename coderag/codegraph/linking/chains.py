"""What a chain of names, calls and elements means, step by step: see `coderag.schema.facts`."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from coderag.codegraph.linking.meanings import CALLABLE, DATA, SURENESS, Meaning
from coderag.codegraph.linking.namesakes import as_type, as_value
from coderag.schema.facts import Reference

if TYPE_CHECKING:
    from coderag.codegraph.linking.resolver import Resolver
    from coderag.codegraph.linking.rules.base import Rules

_OF_TYPES: Final = frozenset({"new", "type"})
_HEAD: Final = re.compile(r"[^.(\[{]+")
_STEP: Final = re.compile(r"[^.(\[{]+|\(\)|\[\]|\{\}")


class Chains:
    """Finds what chains mean.

    Args:
        resolver: Answers all else.
    """

    def __init__(self, resolver: "Resolver") -> None:
        self._resolver = resolver
        self._program = resolver.program

    def referred(self, one: Reference) -> Meaning | None:
        """Return what a reference of the file that is being linked means.

        Where types are declared, a type's name means nothing else of that name.
        """
        local, chain = self._resolver.locals, one.chain
        file, scope = local.file, one.scope
        rules = self._resolver.rules_of(file)
        names_type = one.kind in _OF_TYPES and rules.types_are_declared
        names_value = rules.values_apart and one.kind != "type"
        find = self._resolver.named if names_type else self.evaluate
        head = _HEAD.match(chain)
        if head is None or head[0] in local.changing:
            return self._apart(find(file, scope, chain, one.line), one, rules)
        scope = local.seen_from(scope, head[0])
        key = scope, chain, names_type or names_value
        if key not in local.chains:
            local.chains[key] = self._apart(find(file, scope, chain, one.line), one, rules)
        return local.chains[key]

    def _apart(self, found: Meaning | None, one: Reference, rules: "Rules") -> Meaning | None:
        """Return what is meant where a type and a value may have one name."""
        if found is None or not rules.values_apart:
            return found
        return (as_type if one.kind == "type" else as_value)(self._resolver, found)

    def evaluate(self, file: int, scope: int, chain: str, line: int) -> Meaning | None:
        """Return what a chain means in a scope; None if that is not known."""
        steps = _STEP.findall(chain)
        if not steps or steps[0] == "?":
            return None
        rules = self._resolver.rules_of(file)
        if rules.base_is_constructor and len(steps) == 1 and steps[0] in rules.base_names:
            return self._constructor_above(file, scope)
        found, rest = self._first(file, scope, steps, line)
        if found is None or not rest:
            return found
        if rules.modules_apart:
            found = self._with_members(found, file, steps[0], rest[0])
        if self._resolver.is_asked:
            return self._follow(file, found, rest)
        if found.kind == "external" and not rules.has_extensions:
            return found  # whatever it is a member of
        known = self._resolver.locals.steps
        key = found, tuple(rest)
        if key not in known:
            known[key] = self._follow(file, found, rest)
        return known[key]

    def _follow(self, file: int, found: Meaning | None, steps: Sequence[str]) -> Meaning | None:
        """Return what steps lead to from something."""
        rules = self._resolver.rules_of(file)
        owner: Meaning | None = None  # what the last name is a member of
        name = ""
        for step in steps:
            if found is None:
                return None
            if rules.values_apart:
                found = as_value(self._resolver, found)
            if step == "()":
                found = self._call(found, owner)
            elif step == "{}":
                found = self._made(found)
            elif step == "[]":
                found = self._element(found)
            elif step in rules.instance_names and self._resolver.is_type(found):  # Outer.this
                found = found.of_kind("instance").by("self", SURENESS["self"])
            else:
                if rules.modules_apart and owner is not None and owner.kind == "module":
                    found = self._with_members(found, owner.file, name, step)
                owner, name, found = found, step, self._resolver.member(found, step)
                if rules.has_extensions and (found is None or found.kind == "external"):
                    found = rules.extension(self._resolver, file, owner, step) or found
        return found

    def _with_members(self, found: Meaning, file: int, name: str, step: str) -> Meaning:
        """Return what a name means in a file before a step: a function has no members, a module of its name may be meant."""
        is_function = found.kind == "definition" and self._resolver.definition(found).kind == "function"
        module = self._resolver.rules_of(file).module(file, name) if is_function and step.isidentifier() else None
        return module if module is not None and module.kind == "module" else found

    def _first(self, file: int, scope: int, steps: Sequence[str], line: int) -> tuple[Meaning | None, Sequence[str]]:
        """Return what the first steps of a chain mean together, and the steps behind them."""
        rules = self._resolver.rules_of(file)
        if steps[0] in rules.base_names and len(steps) > 1:
            return self._resolver.above(file, scope), steps[2 if steps[1] == "()" else 1 :]
        if rules.types_are_declared and "{}" in steps and "()" not in (made := steps[: steps.index("{}")]):
            return self._resolver.named(file, scope, ".".join(made), line), steps[len(made) :]
        return self._head(file, scope, steps[0], line), steps[1:]

    def _call(self, function: Meaning, owner: Meaning | None) -> Meaning | None:
        """Return what a call of a member gives.

        Args:
            owner: What it is a member of; None if of nothing.
        """
        resolver = self._resolver
        is_held = function.kind == "definition" and resolver.definition(function).kind in DATA
        value = resolver.value(function) if is_held else function
        if value is None:
            return None
        if owner is None or not self._returns_itself(value):
            return resolver.called(value)
        found = resolver.value(owner)
        return found.of_kind("instance") if found is not None and resolver.is_type(found) else found

    def _returns_itself(self, method: Meaning) -> bool:
        """Return whether a method gives the object that it is called on, of whatever type below its own that is."""
        if method.kind != "definition" or self._resolver.definition(method).kind != "method":
            return False
        rules = self._resolver.rules_of(method.file)
        returned = self._resolver.definition(method).returns
        if rules.has_extensions and returned == self._resolver.definition(method).parameters:  # ``T Foo<T>(this T it)``
            return bool(returned) and (method.index, returned) in self._program.interface(method.file).bindings
        return (
            returned.removeprefix("=") in rules.instance_names
            if returned.startswith("=")
            else returned in rules.type_names
        )

    def _head(self, file: int, scope: int, name: str, line: int) -> Meaning | None:
        rules = self._resolver.rules_of(file)
        if name in rules.instance_names and (own := self._resolver.own_type(file, scope)) is not None:
            return own.of_kind("instance").by("self", SURENESS["self"])
        if name in rules.type_names and (own := self._resolver.own_type(file, scope)) is not None:
            return own.by("self", SURENESS["self"])
        if self._resolver.is_asked or name in self._resolver.locals.changing:
            return self._resolver.lookup(file, scope, name, line)
        known = self._resolver.locals.names
        if (scope, name) not in known:
            known[scope, name] = self._resolver.lookup(file, scope, name, line)
        return known[scope, name]

    def _constructor_above(self, file: int, scope: int) -> Meaning | None:
        """Return the constructor that ``super(...)`` calls; None if no type above declares one."""
        above = self._resolver.above(file, scope)
        if above is None or above.kind != "instance":
            return above
        found = (self._resolver.member(above, name) for name in self._resolver.rules_of(file).constructors)
        return next((one for one in found if one is not None), None)

    def _made(self, found: Meaning) -> Meaning | None:
        if found.kind != "definition":
            return found if found.kind == "external" else None
        if self._resolver.rules_of(found.file).values_apart:
            found = as_type(self._resolver, found)  # a constant makes what has its name
        if self._resolver.is_type(found) or self._resolver.rules_of(found.file).makes_instances(
            self._resolver.definition(found)
        ):
            return found.of_kind("instance").by("constructor", SURENESS["constructor"])
        return None

    def _element(self, found: Meaning) -> Meaning | None:
        holder = self._resolver.value(found)
        if holder is None:
            return None
        if holder.kind == "elements":
            return holder.of_kind("instance") if holder.index >= 0 else Meaning("external")
        if holder.kind == "definition" and self._resolver.definition(holder).kind in CALLABLE:
            return holder  # type arguments of a generic function
        if holder.kind == "instance":
            real = self._resolver.aliased(holder, self._resolver.definition(holder))
            if real is not None and real.kind == "elements":
                return self._element(real)
            return self._resolver.called_method(holder, "__getitem__") or self._next(
                self._resolver.called_method(holder, "__iter__")
            )
        return holder if holder.kind == "external" else None

    def _next(self, iterator: Meaning | None) -> Meaning | None:
        if iterator is None:
            return None
        return (
            self._element(iterator)
            if iterator.kind == "elements"
            else self._resolver.called_method(iterator, "__next__")
        )
