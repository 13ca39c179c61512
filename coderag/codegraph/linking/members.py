"""Member lookup in types, modules, packages and values."""

from coderag.codegraph.linking.overloads import select_primary, to_type_level
from coderag.codegraph.linking.referents import CALLABLE_KINDS, DATA_KINDS, RESOLVER_PRECISION, Referent
from coderag.codegraph.linking.resolution import Resolution
from coderag.codegraph.linking.type_expressions import split_tuple
from coderag.schema.facts import ANONYMOUS_MODIFIER, CONSTRUCTOR_NAME


class MemberLookup:
    """Finds members.

    Args:
        resolver: Answers all other queries.
    """

    def __init__(self, resolver: Resolution) -> None:
        self._resolver = resolver
        self._program = resolver.program

    def find_member(self, owner: Referent, name: str) -> Referent | None:
        """Return the referent of a member; None if it is unknown."""
        if (value_member := self._find_value_member(owner, name)) is not None:
            return value_member
        value = self._resolver.infer_value(owner)
        return None if value is None else self._find_member_by_kind(value, name)

    def _find_member_by_kind(self, owner: Referent, name: str) -> Referent | None:  # noqa: PLR0911  # one case a kind
        if owner.kind == "external":
            return Referent("external", name=f"{owner.name}.{name}" if owner.name else "")
        if owner.kind == "module":
            referent = self._resolver.resolve_export(owner.file, name)
            return referent and referent.replace_resolver("import", owner.confidence)
        if owner.kind == "package":
            rules = self._resolver.get_rules(owner.file) if owner.file >= 0 else None
            referent = rules.find_package_member(self._resolver, owner.name, name) if rules else None
            if referent is not None and owner.resolver == "string":
                return referent.replace_resolver("string", RESOLVER_PRECISION["string"])
            return referent
        if owner.kind == "elements":
            referent = (
                self._resolver.get_rules(owner.file).find_collection_member(owner, name) if owner.index >= 0 else None
            )
            return referent or Referent("external")
        if owner.kind == "tuple":
            return self._resolve_tuple_item(owner, name)
        kind = self._resolver.get_definition(owner).kind
        type_kinds = self._resolver.get_rules(owner.file).type_kinds
        if owner.kind == "definition" and kind == "namespace" and kind not in type_kinds:
            key = ("inside", owner.file, owner.index, name)  # memoised because it may import from itself
            return self._resolver.memoize(key, lambda: self._find_namespace_member(owner, name))
        return self._find_object_member(owner, name) if kind in type_kinds else self._find_value_member(owner, name)

    def _find_namespace_member(self, owner: Referent, name: str) -> Referent | None:
        referent = self._resolver.resolve_in_scope(owner.file, owner.index, name)
        return (
            referent
            or self._resolver.resolve_star_imports(owner.file, name, owner.index)
            or self._resolver.get_rules(owner.file).find_implicit_member(self._resolver, owner.file, owner.index, name)
        )

    def _find_object_member(self, owner: Referent, name: str) -> Referent | None:
        """Return a member of a type or of its instance."""
        is_type_level = owner.kind == "definition" and self._resolver.get_rules(owner.file).has_object_scope
        referent = self.find_type_member(owner.file, owner.index, to_type_level(name) if is_type_level else name)
        if referent is None:
            aliased_type = self._resolver.resolve_alias(owner, self._resolver.get_definition(owner))
            return (
                self.find_member(aliased_type.replace_kind(owner.kind), name)
                if aliased_type is not None and aliased_type.kind == "instance"
                else None
            )
        resolver_name = owner.resolver if referent.resolver == "scope" else referent.resolver
        return referent.replace_resolver(resolver_name, owner.confidence)

    def _find_value_member(self, owner: Referent, name: str) -> Referent | None:
        """Return a member that a variable or function has itself, in languages that allow it."""
        if owner.kind in ("definition", "instance") and self._resolver.get_rules(owner.file).has_members(
            definition := self._resolver.get_definition(owner)
        ):
            rules = self._resolver.get_rules(owner.file)
            if definition.kind not in CALLABLE_KINDS:
                referent = self.find_own_member(owner.file, owner.index, name)
            elif owner.kind == "instance":
                referent = self.find_type_member(owner.file, owner.index, name)
            elif out_of_line := rules.find_out_of_line_members(self._resolver, owner.file, owner.index, name):
                referent = Referent("definition", *out_of_line[0])
            else:
                referent = rules.find_implicit_member(self._resolver, owner.file, owner.index, name)
            return referent and referent.replace_resolver(owner.resolver, owner.confidence)
        return None

    def _resolve_tuple_item(self, tuple_referent: Referent, position: str) -> Referent | None:
        """Return one item of a tuple."""
        item_types = split_tuple(tuple_referent.name)
        if not position.isdigit() or int(position) >= len(item_types):
            return None
        item = self._resolver.resolve_type_text(tuple_referent.file, tuple_referent.index, item_types[int(position)], 0)
        return item and item.replace_resolver(tuple_referent.resolver, tuple_referent.confidence)

    def find_type_member(self, file: int, index: int, name: str) -> Referent | None:
        """Return an own or inherited member of a type; external if an external base may declare it."""
        return self._resolver.memoize(("member", file, index, name), lambda: self._find_type_member(file, index, name))

    def _find_type_member(self, file: int, index: int, name: str) -> Referent | None:
        has_external_base = False
        if name.startswith(CONSTRUCTOR_NAME):
            return self.find_own_member(file, index, name)
        is_anonymous = ANONYMOUS_MODIFIER in self._program.get_definition(file, index).modifiers  # as sure as its base
        for distance, base in enumerate(self._resolver.find_ancestors(file, index)):
            if base.kind == "external":
                has_external_base = True
                continue
            if (referent := self.find_own_member(base.file, base.index, name)) is not None:
                return (
                    referent.replace_resolver("inherited", RESOLVER_PRECISION["inherited"] * base.confidence)
                    if distance > is_anonymous
                    else referent
                )
        return Referent("external", name=name) if has_external_base else None

    def find_own_member(self, file: int, index: int, name: str) -> Referent | None:
        """Return a member that a type itself declares."""
        interface = self._program.read_interface(file)
        if name.startswith(CONSTRUCTOR_NAME):
            name = name.replace(CONSTRUCTOR_NAME, interface.definitions[index].name)
        rules = self._resolver.get_rules(file)
        indices = self._resolver.find_scope_declarations(file, index, name)
        primary = select_primary(interface.definitions, indices) if indices else -1
        is_called_value = "/" in name and bool(indices) and interface.definitions[primary].kind in DATA_KINDS
        if indices and not is_called_value:
            return Referent("definition", file, primary, "", "scope")
        members = rules.find_out_of_line_members(self._resolver, file, index, name)
        if is_called_value:  # a function of the name has precedence, wherever it is declared
            members = [member for member in members if self._program.get_definition(*member).kind in CALLABLE_KINDS]
        for member in members or ([(file, primary)] if indices else ()):
            return Referent("definition", *member, "", "scope")
        if bindings := interface.bindings.get((index, name)):
            return self._resolver.memoize(
                ("bound", file, index, name), lambda: self._resolver.infer_first_binding(file, bindings)
            )
        return rules.find_implicit_member(self._resolver, file, index, name)
