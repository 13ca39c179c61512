"""Types by their names, and what they extend and implement."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from coderag.codegraph.linking.meanings import CALLABLE, DATA, SURENESS, TYPES, Meaning
from coderag.codegraph.linking.namesakes import as_type
from coderag.codegraph.linking.overloads import bare
from coderag.codegraph.linking.program import MODULE

if TYPE_CHECKING:
    from coderag.codegraph.linking.resolver import Resolver

_MOST_BASES: Final = 64
"""Types above a type."""

_MOST_BELOW: Final = 64
"""Types below a type that are looked at."""


class Hierarchy:
    """Finds types and those above them.

    Args:
        resolver: Answers all else.
    """

    def __init__(self, resolver: "Resolver") -> None:
        self._resolver = resolver
        self._program = resolver.program

    def own_type(self, file: int, scope: int) -> Meaning | None:
        """Return the type whose method a scope is in."""
        definitions = self._program.interface(file).definitions
        while scope != MODULE:
            definition = definitions[scope]
            if definition.kind in TYPES and definition.kind != "impl":
                return Meaning("definition", file, scope)
            for owner_file, owner in self._resolver.rules_of(file).owner_types(self._resolver, file, definition):
                return Meaning("definition", owner_file, owner)
            if definition.kind == "impl":
                return Meaning("definition", file, scope)
            scope = definition.parent
        return None

    def above(self, file: int, scope: int) -> Meaning | None:
        """Return an instance of the first type above the one whose method a scope is in."""
        own = self.own_type(file, scope)
        if own is None:
            return None
        parts = [
            (own.file, own.index),
            *self._resolver.rules_of(own.file).other_parts(self._resolver, own.file, own.index),
        ]
        for base, _, _ in (base for part in parts for base in self.bases(*part)):
            return base.of_kind("instance").by("inherited", SURENESS["self"]) if base.kind == "definition" else base
        return Meaning("external")

    def ancestors(self, file: int, index: int) -> Sequence[Meaning]:
        """Return a type and those that it inherits from, nearest first; external ones too, without theirs."""
        return self._program.remembered("ancestors", (file, index), lambda: self._ancestors(file, index))

    def _ancestors(self, file: int, index: int) -> Sequence[Meaning]:
        found: dict[tuple[int, int, str], Meaning] = {}
        waiting = [Meaning("definition", file, index)]
        while waiting and len(found) < _MOST_BASES:
            one = waiting.pop(0)
            key = (one.file, one.index, one.name)
            if key in found:
                continue
            found[key] = one
            if one.kind == "definition":
                parts = [
                    (one.file, one.index),
                    *self._resolver.rules_of(one.file).other_parts(self._resolver, one.file, one.index),
                ]
                waiting += [base for part in parts for base, _, _ in self.bases(*part)]
        return list(found.values())

    def descendants(self, file: int, index: int) -> Sequence[Meaning]:
        """Return the types that extend or implement a type, by its own name, and those below them, nearest first.

        If they are very many, none is given: nothing would follow from them.
        """
        return self._program.remembered("below", (file, index), lambda: self._descendants(file, index))

    def _descendants(self, file: int, index: int) -> Sequence[Meaning]:
        languages = self._resolver.rules_of(file).languages or (self._program.rows[file].language,)
        found: dict[Meaning, None] = {}
        waiting = [Meaning("definition", file, index)]
        while waiting:
            one = waiting.pop(0)
            for below in self._program.extending(languages, self._resolver.definition(one).name):
                bases = ((base.file, base.index) for base, _, _ in self.bases(*below))
                meant = Meaning("definition", *below)
                if meant not in found and (one.file, one.index) in bases:
                    if len(found) == _MOST_BELOW:
                        return ()
                    found[meant] = None
                    waiting.append(meant)
        return list(found)

    def bases(self, file: int, index: int) -> Sequence[tuple[Meaning, int, str]]:
        """Return what a type directly extends and implements, each with its line and relation as written."""
        return self._program.remembered("bases", (file, index), lambda: list(self._bases(file, index)))

    def _bases(self, file: int, index: int) -> Iterator[tuple[Meaning, int, str]]:
        interface = self._program.interface(file)
        parent = interface.definitions[index].parent
        for one in interface.bases.get(index, ()):
            found = self.named(file, parent, one.chain, one.line, inherited=False)
            if found is None and self._resolver.rules_of(file).types_are_declared:
                found = Meaning("external", name=one.chain)
            if found is not None and (found.kind == "external" or self._resolver.is_type(found)):
                yield found, one.line, one.relation
        yield from self._resolver.rules_of(file).outside_bases(self._resolver, file, index)

    def named(self, file: int, scope: int, chain: str, line: int, *, inherited: bool = True) -> Meaning | None:
        """Return what a dotted name means, without asking for values: safe where these depend on the answer.

        Args:
            inherited: Whether the types inside a type above may be asked, which is not so where those above are looked for.
        """
        first, *parts = chain.split(".")
        found = self._first_named(file, scope, first, line, inherited=inherited)
        for part in parts:
            found = found and self._named_inside(found, part, inherited=inherited)
        if found is not None and self._resolver.rules_of(file).values_apart:
            found = as_type(self._resolver, found)
        return self._through_alias(found)

    def _first_named(self, file: int, scope: int, name: str, line: int, *, inherited: bool) -> Meaning | None:
        own = self.own_type(file, scope) if name in self._resolver.rules_of(file).type_names else None
        if own is not None:
            return own.by("self", SURENESS["self"])
        return self._declared(file, scope, name, line, inherited=inherited)

    def _named_inside(self, owner: Meaning, name: str, *, inherited: bool) -> Meaning | None:
        """Return what a name means behind that of a type, a namespace or a module."""
        if owner.kind != "definition" or self._resolver.definition(owner).kind == "namespace":
            return self._resolver.member(owner, name)
        if inside := self._resolver.declared_in(owner.file, owner.index, name):
            return Meaning("definition", owner.file, inside[0])
        inherits = inherited and self._resolver.rules_of(owner.file).inherits_types
        return self._inherited_type(owner, name) if inherits else None

    def _through_alias(self, found: Meaning | None) -> Meaning | None:
        """Return the type that a name is another name of."""
        if found is None or found.kind != "definition" or self._resolver.definition(found).kind not in DATA:
            return found
        file, definition = found.file, self._resolver.definition(found)
        bound = self._program.interface(file).bindings.get((definition.parent, definition.name), [])
        names = [one for one in bound if one.value and not set(one.value) & set("([{|")]
        if len(names) != 1 or names[0].value.split(".")[0] == definition.name:
            return found
        [other] = names
        return self._resolver.once(
            ("alias", file, found.index), lambda: self.named(file, definition.parent, other.value, other.line)
        )

    def _declared(self, file: int, scope: int, name: str, line: int, *, inherited: bool) -> Meaning | None:
        interface = self._program.interface(file)
        rules = self._resolver.rules_of(file)
        has_parameters, inherits = rules.types_are_declared, inherited and rules.inherits_types
        while scope != MODULE:
            known = interface.known.get(scope, ())
            if name in known or bare(name) in known:
                found = (
                    self._resolver.in_scope(file, scope, name, line, values=False)
                    if self._opens_scope(file, scope)
                    else None
                )
                if found is not None and not self._is_typed_field(file, scope, found):
                    return found
                if has_parameters:
                    for parameter in (one for one in interface.bindings.get((scope, name), ()) if not one.type):
                        return self._resolver.bound(file, parameter) or Meaning("external", name=name)
            if inherits and (found := self._inherited_type(Meaning("definition", file, scope), name)) is not None:
                return found
            if scope in interface.star_scopes and (found := self._resolver.from_stars(file, name, scope)) is not None:
                return found
            scope = interface.definitions[scope].parent
        return self._resolver.global_name(file, name, line, values=False)

    def _opens_scope(self, file: int, scope: int) -> bool:
        """Return whether what a scope declares is known in it by its bare name."""
        if not self._resolver.rules_of(file).types_are_no_scopes:
            return True
        return self._program.interface(file).definitions[scope].kind not in TYPES

    def _is_typed_field(self, file: int, scope: int, found: Meaning) -> bool:
        """Return whether what a scope declares has a type, or is a method: then it is none, whatever its name."""
        if (found.file, found.kind) != (file, "definition"):
            return False
        definition = self._resolver.definition(found)
        if definition.kind in CALLABLE:
            return self._resolver.rules_of(file).types_are_declared
        bound = self._program.interface(file).bindings.get((scope, definition.name), ())
        return definition.kind in DATA and any(one.type for one in bound)

    def _inherited_type(self, owner: Meaning, name: str) -> Meaning | None:
        """Return the type of a name that a type has from one above."""
        if not self._resolver.is_type(owner):
            return None
        found = self._resolver.member_of_type(owner.file, owner.index, name)
        return found if found is not None and self._resolver.is_type(found) else None
