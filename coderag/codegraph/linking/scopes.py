"""What a bare name means where it stands: in the scopes around it, in what these import, in the file's package."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from coderag.codegraph.linking.meanings import CALLABLE, DATA, SURENESS, TYPES, Meaning
from coderag.codegraph.linking.overloads import bare, best, fitting, nearest_above
from coderag.codegraph.linking.program import MODULE
from coderag.schema.facts import Binding, Definition, Import

if TYPE_CHECKING:
    from coderag.codegraph.linking.resolver import Resolver
    from coderag.codegraph.linking.rules.base import Rules

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
        called_too = rules.counts_arguments and not rules.methods_apart  # a delegate may be called
        value_name = bare(name) if called_too else name
        outside: Meaning | None = None  # the member that a type outside may have
        inner = True  # whether no function lies between
        while scope != MODULE:
            kind = interface.definitions[scope].kind
            if not _is_hidden(kind, rules, inner=inner):
                if (local := self._local(file, scope, value_name, line)) is not None:
                    return self._resolver.bound(file, local, is_local=True)
                found = self.in_scope(file, scope, name, line)
                if found is None and rules.members_in_scope:
                    found = self._member_around(file, scope, name)
                    if found is not None and found.kind == "external":
                        outside, found = outside or found, None
                if found is not None:
                    return _despite(outside, found)
            if scope in interface.star_scopes and (found := self.from_stars(file, name, scope)) is not None:
                return found
            inner = inner and kind not in CALLABLE
            scope = interface.definitions[scope].parent
        if (local := self._local(file, scope, value_name, line)) is not None:
            return self._resolver.bound(file, local, is_local=True)
        found = self.global_name(file, name, line, values=True)
        if found is None or found.kind == "external":
            return found or outside
        return _despite(outside, found)

    def _local(self, file: int, scope: int, name: str, line: int) -> Binding | None:
        """Return the binding of a local name that counts at a line: the last one above it; else the first."""
        local = self._resolver.locals
        bound = local.bindings.get((scope, name)) if file == local.file else None
        if not bound:
            return None
        known = [one for one in bound if not one.last or one.first <= line <= one.last]
        above = [one for one in known if one.line <= line]
        return above[-1] if above else next(iter(known), None)

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
        declared = self.declared_in(file, scope, name)
        if declared and (declared := _meant(declared, interface.definitions, imported, rules, line)):
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


def _meant(
    declared: Sequence[int], definitions: Sequence[Definition], imported: Sequence[Import], rules: "Rules", line: int
) -> Sequence[int]:
    """Return those of the definitions of a name in a scope that a bare name may mean.

    Args:
        imported: What brings the same name.
        line: As for `Scopes.in_scope`.
    """
    lines = {one.line for one in imported}  # ``const a = require("a")`` declares what it imports
    shown = [
        index
        for index in declared
        if definitions[index].kind not in rules.hidden_kinds and definitions[index].start_line not in lines
    ]
    if line and rules.blocks_are_scopes and len(shown) > 1:
        return nearest_above(definitions, shown, line)
    return shown


def _is_hidden(kind: str, rules: "Rules", *, inner: bool) -> bool:
    """Return whether bare names do not mean what is in a scope of some kind.

    Args:
        inner: Whether the names stand in no function inside it.
    """
    return kind in TYPES and (rules.types_are_no_scopes or (rules.scope_hides_types and not inner))


def _despite(outside: Meaning | None, found: Meaning) -> Meaning:
    """Return what is meant, less surely if a type outside may have a member of the name."""
    return found.by(found.resolver, _DESPITE_OUTSIDE) if outside else found
