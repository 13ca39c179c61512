"""What a bare name means where it stands: in the scopes around it, in what these import, in the file's package."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from coderag.codegraph.linking.meanings import CALLABLE, DATA, SURENESS, TYPES, Meaning
from coderag.codegraph.linking.overloads import bare, best, fitting, nearest_above
from coderag.codegraph.linking.program import MODULE
from coderag.facts import Binding, Import

if TYPE_CHECKING:
    from coderag.codegraph.linking.resolver import Resolver

_DESPITE_OUTSIDE: Final = 0.85
"""How surely a name is what an outer scope declares, where a type outside may have a member of it."""


class Scopes:
    """Finds what bare names mean.

    Args:
        resolver: Answers all else.
    """

    def __init__(self, resolver: "Resolver") -> None:
        self._resolver = resolver
        self._program = resolver.program

    def lookup(self, file: int, scope: int, name: str, line: int) -> Meaning | None:
        """Return what a bare name means in a scope.

        Args:
            line: Where it is used: of several bindings the last one above counts.
        """
        rules = self._resolver.rules_of(file)
        interface = self._program.interface(file)
        plain = bare(name)
        value_name = plain if rules.counts_arguments and not rules.methods_apart else name  # a delegate may be called
        bindings = self._resolver.locals.bindings if file == self._resolver.locals.file else {}
        inner = True
        maybe_outside: Meaning | None = None
        while scope != MODULE:
            kind = interface.definitions[scope].kind
            is_type = kind in TYPES
            if not (is_type and (rules.types_are_no_scopes or (rules.scope_hides_types and not inner))):
                if (scope, value_name) in bindings and (found := _known_at(bindings[scope, value_name], line)):
                    return self._resolver.bound(file, _last_above(found, line), is_local=True)
                known = interface.known.get(scope, ())
                found_here = self.in_scope(file, scope, name, line) if name in known or plain in known else None
                if found_here is None and rules.members_in_scope:
                    found_here = self._member_around(file, scope, name)
                    if found_here is not None and found_here.kind == "external":
                        maybe_outside, found_here = maybe_outside or found_here, None
                if found_here is not None:
                    return found_here.by(found_here.resolver, _DESPITE_OUTSIDE) if maybe_outside else found_here
            if scope in interface.star_scopes and (from_star := self.from_stars(file, name, scope)) is not None:
                return from_star
            inner = inner and kind not in CALLABLE
            scope = interface.definitions[scope].parent
        if (scope, value_name) in bindings and (found := _known_at(bindings[scope, value_name], line)):
            return self._resolver.bound(file, _last_above(found, line), is_local=True)
        around = self.global_name(file, name, line, values=True)
        if around is not None and maybe_outside is not None and around.kind != "external":
            return around.by(around.resolver, _DESPITE_OUTSIDE)
        return around or maybe_outside

    def global_name(self, file: int, name: str, line: int, *, values: bool) -> Meaning | None:
        """Return what a name means outside of all declarations of a file.

        Args:
            values: Whether what variables hold is meant, too.
        """
        if name in self._program.interface(file).repeated:
            return self._find_global(file, name, line, values=values)
        return self._resolver.once(
            ("global", file, name, values), lambda: self._find_global(file, name, line, values=values)
        )

    def _find_global(self, file: int, name: str, line: int, *, values: bool) -> Meaning | None:
        return self.in_scope(file, MODULE, name, line, values=values) or self._around_file(file, name)

    def _member_around(self, file: int, scope: int, name: str) -> Meaning | None:
        """Return the member that a bare name may be in a scope: of that type, or of the type that a method is of."""
        one = self._program.interface(file).definitions[scope]
        if one.kind in TYPES:
            return self._resolver.member_of_type(file, scope, name)
        if one.kind not in CALLABLE or not one.owner:
            return None
        beside = self.declared_in(file, one.parent, name, owner=one.owner)
        if len(beside) == 1:
            return Meaning("definition", file, beside[0], "", "scope", SURENESS["scope"])
        for owner_file, owner in self._resolver.rules_of(file).owner_types(self._resolver, file, one):
            return self._resolver.member_of_type(owner_file, owner, name)
        return None

    def _around_file(self, file: int, name: str) -> Meaning | None:
        """Return what a name means that nothing in a file declares."""
        return self._resolver.once(("around", file, name), lambda: self._find_around_file(file, name))

    def _find_around_file(self, file: int, name: str) -> Meaning | None:
        rules = self._resolver.rules_of(file)
        if rules.package_before_stars:
            found = rules.in_package_scope(self._resolver, file, name) or self.from_stars(
                file, name, passed_on=rules.passing_on_binds
            )
        else:
            found = self.from_stars(file, name, passed_on=rules.passing_on_binds) or rules.in_package_scope(
                self._resolver, file, name
            )
        return found or (Meaning("external", name=name) if name in rules.builtins else None)

    def declared_in(self, file: int, scope: int, name: str, owner: str = "") -> Sequence[int]:
        """Return the definitions of a name in a scope; of overloads, those that take as many arguments as the name says.

        Args:
            owner: Type that they belong to, if they stand outside of one.
        """
        interface = self._program.interface(file)
        if owner:
            owned = interface.owned.get(owner, {}).get(bare(name), ())
            declared = [index for index in owned if interface.definitions[index].parent == scope]
        else:
            declared = interface.children.get(scope, {}).get(bare(name), [])
        if not declared or not (rules := self._resolver.rules_of(file)).counts_arguments:
            return declared
        return fitting(interface.definitions, declared, name, rules)

    def in_scope(self, file: int, scope: int, name: str, line: int = 0, *, values: bool = True) -> Meaning | None:
        """Return what a scope itself declares, imports or binds by a name.

        Args:
            line: Where it is used; 0 if that is not known.
            values: Whether what variables hold is meant, too.
        """
        interface = self._program.interface(file)
        known = interface.known.get(scope, ())
        if name not in known and bare(name) not in known:
            return None
        rules = self._resolver.rules_of(file)
        imported: Sequence[Import] = interface.imports.get((scope, bare(name)), ())
        if imported and not rules.passing_on_binds:
            imported = [one for one in imported if not one.exported]
        if declared := self.declared_in(file, scope, name):
            lines = {one.line for one in imported}  # ``const a = require("a")`` declares what it imports
            declared = [
                index
                for index in declared
                if interface.definitions[index].kind not in rules.hidden_kinds
                and interface.definitions[index].start_line not in lines
            ]
        if declared:
            if line and rules.blocks_are_scopes and len(declared) > 1:
                declared = nearest_above(interface.definitions, declared, line)
            return Meaning("definition", file, best(interface.definitions, declared), "", "scope", SURENESS["scope"])
        if imported:
            if (found := self._imported(file, imported, name)) is not None:
                return found.by("import", SURENESS["import"])
            return Meaning("external", name=f"{imported[0].module}.{imported[0].name}".rstrip("."))
        if values and (bound := interface.bindings.get((scope, name))):
            is_entry = scope != MODULE and interface.definitions[scope].kind in DATA
            return None if is_entry else self._resolver.bound(file, bound[0])
        return None

    def _imported(self, file: int, imported: Sequence[Import], name: str) -> Meaning | None:
        """Return what the first import of a name brings that is known; a module last where it may share its name."""
        rules = self._resolver.rules_of(file)
        module: Meaning | None = None
        for one in imported:
            found = rules.imported(self._resolver, file, one._replace(name=name) if "/" in name else one)
            if found is None:
                continue
            if found.kind != "module" or not rules.modules_apart:
                return found
            module = module or found
        return module

    def from_stars(self, file: int, name: str, scope: int = MODULE, *, passed_on: bool = True) -> Meaning | None:
        """Return what a name means that comes with all that a module has.

        Args:
            passed_on: Whether what the file only passes on counts.
        """
        for one in self._program.interface(file).stars:
            if one.scope != scope:
                continue
            if one.exported and not passed_on:
                continue
            target = self._resolver.rules_of(file).module(file, one.module)
            if (
                target is not None
                and (found := self._resolver.member(target, name)) is not None
                and found.kind != "external"
            ):
                return found.by("import", SURENESS["star"])
        return None

    def exported(self, file: int, name: str) -> Meaning | None:
        """Return what a module has by a name: what it declares, imports or passes on."""
        return self._resolver.once(("exported", file, name), lambda: self._exported(file, name))

    def _exported(self, file: int, name: str) -> Meaning | None:
        interface = self._program.interface(file)
        rules = self._resolver.rules_of(file)
        if (passed_on := interface.exports.get(name)) is not None:
            if passed_on.module:
                return rules.imported(self._resolver, file, passed_on)
            return self._resolver.evaluate(file, MODULE, passed_on.name, passed_on.line)
        if rules.shows(file, interface, name) and (found := self.in_scope(file, MODULE, name)) is not None:
            return found
        if (inside := rules.submodule(file, name)) is not None:
            return inside
        return self.from_stars(file, name)


def _known_at(bindings: Sequence[Binding], line: int) -> Sequence[Binding]:
    """Return the bindings whose block a line is in."""
    return [one for one in bindings if not one.last or one.first <= line <= one.last]


def _last_above(bindings: Sequence[Binding], line: int) -> Binding:
    """Return the last binding above a line, or at it; the first if all are below."""
    above = [one for one in bindings if one.line <= line]
    return above[-1] if above else bindings[0]
