"""Type names, and the types that a type extends and implements."""

from collections.abc import Iterator, Sequence
from typing import Final

from coderag.codegraph.linking.declaration_spaces import to_type_space, to_value_space
from coderag.codegraph.linking.overloads import strip_arity
from coderag.codegraph.linking.program import MODULE
from coderag.codegraph.linking.referents import CALLABLE_KINDS, DATA_KINDS, RESOLVER_PRECISION, TYPE_KINDS, Referent
from coderag.codegraph.linking.resolution import Resolution
from coderag.schema.facts import ANONYMOUS_MODIFIER

_MAX_ANCESTORS: Final = 64
"""Maximum number of ancestors of a type."""

_MAX_DESCENDANTS: Final = 64
"""Maximum number of descendants of a type that are used."""


class Hierarchy:
    """Resolves type names and type hierarchies.

    Args:
        resolver: Answers all other queries.
    """

    def __init__(self, resolver: Resolution) -> None:
        self._resolver = resolver
        self._program = resolver.program

    def find_enclosing_type(self, file: int, scope: int) -> Referent | None:
        """Return the type whose method encloses a scope."""
        definitions = self._program.read_interface(file).definitions
        type_kinds = self._resolver.get_rules(file).type_kinds
        while scope != MODULE:
            definition = definitions[scope]
            rules = self._resolver.get_rules(file)
            if (definition.kind in type_kinds and definition.kind != "impl") or rules.is_type_like(definition):
                return Referent("definition", file, scope)
            for owner_file, owner in rules.find_owner_types(self._resolver, file, definition):
                return Referent("definition", owner_file, owner)
            if definition.owner and definition.kind in CALLABLE_KINDS:
                return None  # of a type outside the repository
            if definition.kind == "impl":
                return Referent("definition", file, scope)
            scope = definition.parent
        return None

    def resolve_super(self, file: int, scope: int) -> Referent | None:
        """Return an instance of the first base of the type whose method encloses a scope."""
        own_type = self.find_enclosing_type(file, scope)
        if own_type is None:
            return None
        declarations = [
            (own_type.file, own_type.index),
            *self._resolver.get_rules(own_type.file).find_other_parts(self._resolver, own_type.file, own_type.index),
        ]
        for base, _, _ in (base for declaration in declarations for base in self.resolve_bases(*declaration)):
            return (
                base.replace_kind("instance").replace_resolver("inherited", RESOLVER_PRECISION["self"])
                if base.kind == "definition"
                else base
            )
        return Referent("external")

    def find_ancestors(self, file: int, index: int) -> Sequence[Referent]:
        """Return a type and its ancestors, nearest first; external ones are included, but not theirs."""
        return self._program.memoize("ancestors", (file, index), lambda: self._compute_ancestors(file, index))

    def _compute_ancestors(self, file: int, index: int) -> Sequence[Referent]:
        ancestors: dict[tuple[int, int, str], Referent] = {}
        pending = [Referent("definition", file, index)]
        while pending and len(ancestors) < _MAX_ANCESTORS:
            current = pending.pop(0)
            key = (current.file, current.index, current.name)
            if key in ancestors:
                continue
            ancestors[key] = current
            if current.kind == "definition":
                declarations = [
                    (current.file, current.index),
                    *self._resolver.get_rules(current.file).find_other_parts(
                        self._resolver, current.file, current.index
                    ),
                ]
                bases = [base for declaration in declarations for base, _, _ in self.resolve_bases(*declaration)]
                pending += self._resolver.get_rules(current.file).order_bases(bases)
        return list(ancestors.values())

    def find_descendants(self, file: int, index: int) -> Sequence[Referent]:
        """Return the subtypes of a type that name it as their base, and theirs, nearest first.

        Empty if there are more than `_MAX_DESCENDANTS`: no conclusion could be drawn from them.
        """
        return self._program.memoize("below", (file, index), lambda: self._compute_descendants(file, index))

    def _compute_descendants(self, file: int, index: int) -> Sequence[Referent]:
        languages = self._resolver.get_rules(file).languages or (self._program.rows[file].language,)
        descendants: dict[Referent, None] = {}
        pending = [Referent("definition", file, index)]
        while pending:
            current = pending.pop(0)
            for subtype in self._program.find_extending_types(languages, self._resolver.get_definition(current).name):
                bases = ((base.file, base.index) for base, _, _ in self.resolve_bases(*subtype))
                referent = Referent("definition", *subtype)
                if referent not in descendants and (current.file, current.index) in bases:
                    if len(descendants) == _MAX_DESCENDANTS:
                        return ()
                    descendants[referent] = None
                    pending.append(referent)
        return list(descendants)

    def resolve_bases(self, file: int, index: int) -> Sequence[tuple[Referent, int, str]]:
        """Return the direct bases of a type, each with its line and its relation as written."""
        return self._program.memoize("bases", (file, index), lambda: list(self._resolve_bases(file, index)))

    def _resolve_bases(self, file: int, index: int) -> Iterator[tuple[Referent, int, str]]:
        interface = self._program.read_interface(file)
        parent = interface.definitions[index].parent
        is_anonymous = ANONYMOUS_MODIFIER in interface.definitions[index].modifiers  # no base depends on its bases
        for base in interface.bases.get(index, ()):
            referent = self.resolve_dotted_name(file, parent, base.chain, base.line, allow_inherited=is_anonymous)
            if referent is None and self._resolver.get_rules(file).requires_declared_types:
                referent = Referent("external", name=base.chain)
            if referent is not None and self._resolver.get_rules(file).has_companions:
                referent = self._expand_alias(referent)
            if referent is not None and (referent.kind == "external" or self._can_be_base(file, index, referent)):
                yield referent, base.line, base.relation
        yield from self._resolver.get_rules(file).find_out_of_line_bases(self._resolver, file, index)

    def _expand_alias(self, referent: Referent) -> Referent:
        """Return the type that an alias stands for: a type that extends the alias extends that."""
        if referent.kind != "definition":
            return referent
        aliased = self._resolver.resolve_alias(referent, self._resolver.get_definition(referent))
        is_known = aliased is not None and aliased.kind == "instance"
        return aliased.replace_kind("definition") if aliased is not None and is_known else referent

    def _can_be_base(self, file: int, index: int, base: Referent) -> bool:
        if base.kind != "definition" or self._resolver.is_type(base):
            return base.kind == "definition"
        owner = self._program.get_definition(file, index)
        return self._resolver.get_rules(file).can_be_base(owner, self._resolver.get_definition(base))

    def resolve_dotted_name(
        self, file: int, scope: int, chain: str, line: int, *, allow_inherited: bool = True
    ) -> Referent | None:
        """Return the referent of a dotted name without inferring values: safe where values depend on the result.

        Args:
            allow_inherited: Whether nested types of base types are visible; false while bases are being resolved.
        """
        first_name, *nested_names = chain.split(".")
        referent = self._resolve_first_name(file, scope, first_name, line, allow_inherited=allow_inherited)
        for nested_name in nested_names:
            if referent is not None and self._resolver.get_rules(file).has_companions:
                referent = to_value_space(self._resolver, referent)
            referent = referent and self._resolve_nested_name(referent, nested_name, allow_inherited=allow_inherited)
        if referent is not None and self._resolver.get_rules(file).separates_values:
            referent = to_type_space(self._resolver, referent)
        return self._follow_alias(referent)

    def _resolve_first_name(
        self, file: int, scope: int, name: str, line: int, *, allow_inherited: bool
    ) -> Referent | None:
        own_type = (
            self.find_enclosing_type(file, scope) if name in self._resolver.get_rules(file).self_type_names else None
        )
        if own_type is not None:
            return own_type.replace_resolver("self", RESOLVER_PRECISION["self"])
        return self._resolve_in_scopes(file, scope, name, line, allow_inherited=allow_inherited)

    def _resolve_nested_name(self, owner: Referent, name: str, *, allow_inherited: bool) -> Referent | None:
        """Return the referent of a name inside a type, a namespace or a module."""
        if owner.kind == "definition" and (definition := self._resolver.get_definition(owner)).kind == "type_alias":
            aliased_type = self._resolver.resolve_alias(owner, definition)
            if aliased_type is not None and aliased_type.kind == "instance":
                owner = aliased_type.replace_kind("definition")
        is_namespace = owner.kind == "definition" and self._resolver.get_definition(owner).kind == "namespace"
        if owner.kind != "definition" or (
            is_namespace and "namespace" not in self._resolver.get_rules(owner.file).type_kinds
        ):
            return self._resolver.find_member(owner, name)
        if nested_indices := self._resolver.find_scope_declarations(owner.file, owner.index, name):
            return Referent("definition", owner.file, nested_indices[0])
        rules = self._resolver.get_rules(owner.file)
        if (referent := rules.find_scope_member(self._resolver, owner.file, owner.index, name)) is not None:
            return referent
        inherits = allow_inherited and rules.inherits_nested_types
        return self._find_inherited_type(owner, name) if inherits else None

    def _follow_alias(self, referent: Referent | None) -> Referent | None:
        """Return the type that a name is an alias of."""
        if (
            referent is None
            or referent.kind != "definition"
            or self._resolver.get_definition(referent).kind not in DATA_KINDS
        ):
            return referent
        file, definition = referent.file, self._resolver.get_definition(referent)
        bindings = self._program.read_interface(file).bindings.get((definition.parent, definition.name), [])
        alias_bindings = [binding for binding in bindings if binding.value and not set(binding.value) & set("([{|")]
        if len(alias_bindings) != 1 or alias_bindings[0].value.split(".")[0] == definition.name:
            return referent
        [alias] = alias_bindings
        return self._resolver.memoize(
            ("alias", file, referent.index),
            lambda: self.resolve_dotted_name(file, definition.parent, alias.value, alias.line),
        )

    def _resolve_in_scopes(
        self, file: int, scope: int, name: str, line: int, *, allow_inherited: bool
    ) -> Referent | None:
        interface = self._program.read_interface(file)
        rules = self._resolver.get_rules(file)
        has_parameters, inherits = rules.requires_declared_types, allow_inherited and rules.inherits_nested_types
        while scope != MODULE:
            scope_names = interface.names_by_scope.get(scope, ())
            if name in scope_names or strip_arity(name) in scope_names:
                referent = (
                    self._resolver.resolve_in_scope(file, scope, name, line, values=False)
                    if self._is_lexical_scope(file, scope)
                    else None
                )
                if referent is not None and not self._is_typed_field(file, scope, referent):
                    return referent
                if has_parameters:
                    for parameter in (
                        binding for binding in interface.bindings.get((scope, name), ()) if not binding.type
                    ):
                        return self._resolver.infer_binding(file, parameter) or Referent("external", name=name)
            if (referent := rules.find_scope_member(self._resolver, file, scope, name)) is not None:
                return referent
            if inherits and (referent := self._find_type_around(file, scope, name)) is not None:
                return referent
            if (
                scope in interface.star_scopes
                and (referent := self._resolver.resolve_star_imports(file, name, scope)) is not None
            ):
                return referent
            scope = interface.definitions[scope].parent
        return self._resolver.resolve_global_name(file, name, line, values=False)

    def _find_type_around(self, file: int, scope: int, name: str) -> Referent | None:
        """Return the nested type that a type, or the type of an out-of-line method, has or inherits by a name."""
        definition = self._program.read_interface(file).definitions[scope]
        if not definition.owner or definition.kind not in CALLABLE_KINDS:
            return self._find_inherited_type(Referent("definition", file, scope), name)
        owners = self._resolver.get_rules(file).find_owner_types(self._resolver, file, definition)
        inherited = (self._find_inherited_type(Referent("definition", *owner), name) for owner in owners)
        return next((referent for referent in inherited if referent is not None), None)

    def _is_lexical_scope(self, file: int, scope: int) -> bool:
        """Return whether the declarations of a scope are visible in it by their bare names."""
        if not self._resolver.get_rules(file).requires_qualified_members:
            return True
        return self._program.read_interface(file).definitions[scope].kind not in TYPE_KINDS

    def _is_typed_field(self, file: int, scope: int, referent: Referent) -> bool:
        """Return whether a scope's declaration has a type or is a method: then it is not a type, whatever its name."""
        if (referent.file, referent.kind) != (file, "definition"):
            return False
        definition = self._resolver.get_definition(referent)
        if definition.kind in CALLABLE_KINDS:
            return self._resolver.get_rules(file).requires_declared_types
        bindings = self._program.read_interface(file).bindings.get((scope, definition.name), ())
        return definition.kind in DATA_KINDS and any(binding.type for binding in bindings)

    def _find_inherited_type(self, owner: Referent, name: str) -> Referent | None:
        """Return the nested type that a type inherits by a name."""
        if not self._resolver.is_type(owner):
            return None
        referent = self._resolver.find_type_member(owner.file, owner.index, name)
        return referent if referent is not None and self._resolver.is_type(referent) else None
