"""What a member of a type, a module, a package or a value is."""

from typing import TYPE_CHECKING

from coderag.codegraph.linking.meanings import CALLABLE, SURENESS, TYPES, Meaning
from coderag.codegraph.linking.overloads import best
from coderag.codegraph.linking.type_text import tuple_parts
from coderag.schema.facts import CONSTRUCTOR

if TYPE_CHECKING:
    from coderag.codegraph.linking.resolver import Resolver


class Members:
    """Finds members.

    Args:
        resolver: Answers all else.
    """

    def __init__(self, resolver: "Resolver") -> None:
        self._resolver = resolver
        self._program = resolver.program

    def member(self, owner: Meaning, name: str) -> Meaning | None:
        """Return what a member of something is; None if that is not known."""
        if (inside := self._member_of_value(owner, name)) is not None:
            return inside
        value = self._resolver.value(owner)
        return None if value is None else self._member_of(value, name)

    def _member_of(self, owner: Meaning, name: str) -> Meaning | None:  # noqa: PLR0911  # one case a kind
        if owner.kind == "external":
            return Meaning("external", name=f"{owner.name}.{name}" if owner.name else "")
        if owner.kind == "module":
            found = self._resolver.exported(owner.file, name)
            return found and found.by("import", owner.confidence)
        if owner.kind == "package":
            rules = self._resolver.rules_of(owner.file) if owner.file >= 0 else None
            return rules.member_of_package(self._resolver, owner.name, name) if rules else None
        if owner.kind == "elements":
            found = self._resolver.rules_of(owner.file).member_of_elements(owner, name) if owner.index >= 0 else None
            return found or Meaning("external")
        if owner.kind == "tuple":
            return self._part(owner, name)
        kind = self._resolver.definition(owner).kind
        if owner.kind == "definition" and kind == "namespace":
            inside = ("inside", owner.file, owner.index, name)  # which may import from itself
            return self._resolver.once(inside, lambda: self._in_namespace(owner, name))
        return self._member_of_object(owner, name) if kind in TYPES else self._member_of_value(owner, name)

    def _in_namespace(self, owner: Meaning, name: str) -> Meaning | None:
        found = self._resolver.in_scope(owner.file, owner.index, name)
        return found or self._resolver.from_stars(owner.file, name, owner.index)

    def _member_of_object(self, owner: Meaning, name: str) -> Meaning | None:
        """Return a member of a type or an instance of it."""
        found = self.member_of_type(owner.file, owner.index, name)
        if found is None:
            real = self._resolver.aliased(owner, self._resolver.definition(owner))
            return self.member(real.of_kind(owner.kind), name) if real is not None and real.kind == "instance" else None
        how = owner.resolver if found.resolver == "scope" else found.resolver
        return found.by(how, owner.confidence)

    def _member_of_value(self, owner: Meaning, name: str) -> Meaning | None:
        """Return a member that a variable or function has itself, in languages where they may."""
        if owner.kind in ("definition", "instance") and self._resolver.rules_of(owner.file).has_members(
            definition := self._resolver.definition(owner)
        ):
            if definition.kind not in CALLABLE or owner.kind == "instance":
                found = self.own_member(owner.file, owner.index, name)
            else:
                outside = self._resolver.rules_of(owner.file).outside_members(
                    self._resolver, owner.file, owner.index, name
                )
                found = Meaning("definition", *outside[0]) if outside else None
            return found and found.by(owner.resolver, owner.confidence)
        return None

    def _part(self, whole: Meaning, position: str) -> Meaning | None:
        """Return one of the values of a tuple."""
        parts = tuple_parts(whole.name)
        if not position.isdigit() or int(position) >= len(parts):
            return None
        found = self._resolver.instance(whole.file, whole.index, parts[int(position)], 0)
        return found and found.by(whole.resolver, whole.confidence)

    def member_of_type(self, file: int, index: int, name: str) -> Meaning | None:
        """Return a member of a type, its own or an inherited one; external if it may be that of a type outside."""
        return self._resolver.once(("member", file, index, name), lambda: self._member_of_type(file, index, name))

    def _member_of_type(self, file: int, index: int, name: str) -> Meaning | None:
        outside = False
        if name.startswith(CONSTRUCTOR):
            return self.own_member(file, index, name)
        for distance, base in enumerate(self._resolver.ancestors(file, index)):
            if base.kind == "external":
                outside = True
                continue
            if (found := self.own_member(base.file, base.index, name)) is not None:
                return found.by("inherited", SURENESS["inherited"] * base.confidence) if distance else found
        return Meaning("external", name=name) if outside else None

    def own_member(self, file: int, index: int, name: str) -> Meaning | None:
        """Return a member that a type declares itself."""
        interface = self._program.interface(file)
        if name.startswith(CONSTRUCTOR):
            name = name.replace(CONSTRUCTOR, interface.definitions[index].name)
        if declared := self._resolver.declared_in(file, index, name):
            return Meaning("definition", file, best(interface.definitions, declared), "", "scope")
        for other_file, other in self._resolver.rules_of(file).outside_members(self._resolver, file, index, name):
            return Meaning("definition", other_file, other, "", "scope")
        if bound := interface.bindings.get((index, name)):
            return self._resolver.once(("bound", file, index, name), lambda: self._resolver.first_known(file, bound))
        return self._resolver.rules_of(file).implicit_member(self._resolver, file, index, name)
