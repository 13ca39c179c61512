"""Resolution of bare names: enclosing scopes, their imports, and the file's package."""

from collections.abc import Iterator, Sequence

from coderag.codegraph.linking.local_names import NO_LIMIT
from coderag.codegraph.linking.overloads import (
    is_method_name,
    select_last_above,
    select_overloads,
    select_primary,
    strip_arity,
)
from coderag.codegraph.linking.program import MODULE
from coderag.codegraph.linking.receiver_names import resolve_receiver_name
from coderag.codegraph.linking.referents import (
    CALLABLE_KINDS,
    DATA_KINDS,
    RESOLVER_PRECISION,
    TYPE_KINDS,
    Referent,
    lower_shadowed_confidence,
)
from coderag.codegraph.linking.resolution import Resolution
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.schema.facts import RECEIVER_NAME, TEST_MODIFIER, Binding, Definition, Import


class ScopeLookup:
    """Resolves bare names.

    Args:
        resolver: Answers all other queries.
    """

    def __init__(self, resolver: Resolution) -> None:
        self._resolver = resolver
        self._program = resolver.program

    def resolve_name(self, file: int, scope: int, name: str, line: int) -> Referent | None:
        """Return the referent of a bare name in a scope.

        Args:
            line: Line of use; of several bindings the last one above it applies.
        """
        if self._resolver.get_rules(file).has_object_scope and is_method_name(name):
            return resolve_receiver_name(self._resolver, file, scope, name, line)
        return self._resolve_lexical_name(file, scope, name, line)

    def _resolve_lexical_name(self, file: int, scope: int, name: str, line: int) -> Referent | None:
        """Return the referent of a bare name that the enclosing scopes declare, import or bind."""
        rules = self._resolver.get_rules(file)
        interface = self._program.read_interface(file)
        external_member: Referent | None = None  # member that an external type may declare
        is_direct = True  # whether no function lies between
        while scope != MODULE:
            kind = interface.definitions[scope].kind
            if not _is_hidden(kind, rules, is_direct=is_direct):
                if (binding := self._select_local_binding(file, scope, name, line)) is not None:
                    return self._infer_local(file, binding)
                referent = self.resolve_in_scope(file, scope, name, line)
                if referent is None:
                    referent = self._resolve_implicitly(file, scope, name, line)
                    if referent is not None and referent.kind == "external":
                        external_member, referent = external_member or referent, None
                if referent is not None:
                    return lower_shadowed_confidence(external_member, referent)
            if (
                scope in interface.star_scopes
                and (referent := self.resolve_star_imports(file, name, scope)) is not None
            ):
                return referent
            is_direct = is_direct and kind not in CALLABLE_KINDS
            scope = interface.definitions[scope].parent
        referent = self._resolve_at_top(file, name, line)
        if referent is None or referent.kind == "external":
            return referent or external_member
        return lower_shadowed_confidence(external_member, referent)

    def _resolve_at_top(self, file: int, name: str, line: int) -> Referent | None:
        """Return the referent of a name in code outside of any declaration."""
        if (binding := self._select_local_binding(file, MODULE, name, line)) is not None:
            return self._infer_local(file, binding)
        rules = self._resolver.get_rules(file)
        referent = self._resolve_receiver_member(file, MODULE, name, line) if rules.has_receiver_functions else None
        if referent is None or referent.kind == "external":
            return self.resolve_global_name(file, name, line, values=True) or referent
        return referent

    def _resolve_implicitly(self, file: int, scope: int, name: str, line: int) -> Referent | None:
        """Return the member of a receiver, or of the type around a scope, that a bare name refers to."""
        rules = self._resolver.get_rules(file)
        referent = self._resolve_receiver_member(file, scope, name, line) if rules.has_receiver_functions else None
        if referent is None and rules.has_implicit_receiver:
            referent = self._resolve_implicit_member(file, scope, name)
        if referent is not None and referent.kind != "external":
            return referent
        if rules.has_receiver_functions and self._program.get_definition(file, scope).kind in TYPE_KINDS:
            own_instance = Referent("instance", file, scope)
            return rules.find_extension_method(self._resolver, file, own_instance, name) or referent
        return referent

    def _select_local_binding(self, file: int, scope: int, name: str, line: int) -> Binding | None:
        """Return the binding of a local name that a use at a line refers to; for a call, one that may be called."""
        rules = self._resolver.get_rules(file)
        can_call_values = rules.overloads_by_arity and not rules.separates_methods  # a delegate can be called
        value_name = strip_arity(name) if can_call_values else name
        binding = self._resolver.local_names.find_binding(file, scope, value_name, line)
        if binding is None or value_name == name or not rules.has_receiver_functions:
            return binding
        return None if self._is_uncallable(self._infer_local(file, binding)) else binding

    def find_receiver(self, file: int, scope: int, line: int) -> Referent | None:
        """Return the receiver of the innermost closure or extension function around a line; None if it is unknown."""
        definitions = self._program.read_interface(file).definitions
        while scope == MODULE or definitions[scope].kind not in TYPE_KINDS:
            for receiver in self._iterate_receivers(file, scope, line):
                return receiver
            if scope == MODULE:
                break
            scope = definitions[scope].parent
        return None

    def _iterate_receivers(self, file: int, scope: int, line: int) -> Iterator[Referent]:
        """Yield the receivers that a scope has at a line, innermost first."""
        local_names = self._resolver.local_names
        bindings = local_names.bindings.get((scope, RECEIVER_NAME), ()) if file == local_names.file else ()
        outer_limit = local_names.receiver_limit
        limit = outer_limit[1] if outer_limit[0] == scope else len(bindings)
        positions = [
            position
            for position, binding in enumerate(bindings[:limit])
            if not binding.last_line or binding.first_line <= line <= binding.last_line
        ]
        for position in reversed(positions):
            local_names.receiver_limit = scope, position
            try:
                receiver = self._resolver.infer_binding(file, bindings[position], is_local=True)
            finally:
                local_names.receiver_limit = outer_limit
            if receiver is not None:
                yield receiver

    def _infer_local(self, file: int, binding: Binding) -> Referent | None:
        """Return the value of a local name, which all closures around it may have part in."""
        local_names = self._resolver.local_names
        outer_limit, local_names.receiver_limit = local_names.receiver_limit, NO_LIMIT
        try:
            return self._resolver.infer_binding(file, binding, is_local=True)
        finally:
            local_names.receiver_limit = outer_limit

    def _resolve_receiver_member(self, file: int, scope: int, name: str, line: int) -> Referent | None:
        """Return the member or extension of a receiver that a bare name refers to."""
        for receiver in self._iterate_receivers(file, scope, line):
            member = self._resolver.find_member(receiver, name)
            if member is None or member.kind == "external":
                member = self._resolver.get_rules(file).find_extension_method(self._resolver, file, receiver, name)
            if member is not None:
                return member
        return None

    def _is_uncallable(self, value: Referent | None) -> bool:
        """Return whether a value cannot be called: then a call of its name is a call of a function of that name."""
        if value is None or value.kind not in ("instance", "elements"):
            return False
        if value.kind == "elements":
            return True
        call_method = self._resolver.get_rules(value.file).call_method
        return self._resolver.find_member(value, call_method) is None

    def resolve_global_name(self, file: int, name: str, line: int, *, values: bool) -> Referent | None:
        """Return the referent of a name at the top level of a file.

        Args:
            values: Whether the values of variables count, too.
        """
        has_order = self._resolver.get_rules(file).has_ordered_file_scope
        if has_order or name in self._program.read_interface(file).redeclared_names:
            return self._resolve_global_name(file, name, line, values=values)
        return self._resolver.memoize(
            ("global", file, name, values), lambda: self._resolve_global_name(file, name, line, values=values)
        )

    def _resolve_global_name(self, file: int, name: str, line: int, *, values: bool) -> Referent | None:
        return self.resolve_in_scope(file, MODULE, name, line, values=values) or self._resolve_outside_file(file, name)

    def _resolve_implicit_member(self, file: int, scope: int, name: str) -> Referent | None:
        """Return the member that a bare name refers to in a scope: of that type, or of the type of that method."""
        definition = self._program.read_interface(file).definitions[scope]
        if definition.kind in self._resolver.get_rules(file).type_kinds:
            return self._resolver.find_type_member(file, scope, name)
        if definition.kind not in CALLABLE_KINDS or not definition.owner:
            return None
        indices = self.find_scope_declarations(file, definition.parent, name, owner=definition.owner)
        definitions = self._program.read_interface(file).definitions
        indices = [index for index in indices if TEST_MODIFIER not in definitions[index].modifiers]  # of a C++ fixture
        if len(indices) == 1:
            return Referent("definition", file, indices[0], "", "scope", RESOLVER_PRECISION["scope"])
        for owner_file, owner in self._resolver.get_rules(file).find_owner_types(self._resolver, file, definition):
            return self._resolver.find_type_member(owner_file, owner, name)
        return None

    def _resolve_outside_file(self, file: int, name: str) -> Referent | None:
        """Return the referent of a name that the file does not declare."""
        return self._resolver.memoize(("around", file, name), lambda: self._compute_outside_file(file, name))

    def _compute_outside_file(self, file: int, name: str) -> Referent | None:
        rules = self._resolver.get_rules(file)
        if rules.prefers_package_to_stars:
            referent = rules.resolve_in_package(self._resolver, file, name) or self.resolve_star_imports(
                file, name, include_reexports=rules.reexports_bind_names
            )
        else:
            referent = self.resolve_star_imports(
                file, name, include_reexports=rules.reexports_bind_names
            ) or rules.resolve_in_package(self._resolver, file, name)
        return referent or (Referent("external", name=name) if name in rules.builtins else None)

    def find_scope_declarations(self, file: int, scope: int, name: str, owner: str = "") -> Sequence[int]:
        """Return the definitions of a name in a scope; of overloads, those that accept the arguments in the name.

        Args:
            owner: The type that they belong to, if they are declared out of line.
        """
        interface = self._program.read_interface(file)
        if owner:
            owned = interface.members_by_owner.get(owner, {}).get(strip_arity(name), ())
            indices = [index for index in owned if interface.definitions[index].parent == scope]
        else:
            indices = interface.children.get(scope, {}).get(strip_arity(name), [])
        if not indices:
            return indices
        rules = self._resolver.get_rules(file)
        if rules.overloads_by_arity:
            return select_overloads(interface.definitions, indices, name, rules)
        return rules.select_declarations(interface.definitions, indices, name)

    def resolve_in_scope(
        self, file: int, scope: int, name: str, line: int = 0, *, values: bool = True
    ) -> Referent | None:
        """Return the referent that a scope itself declares, imports or binds by a name.

        Args:
            line: Line of use; 0 if unknown.
            values: Whether the values of variables count, too.
        """
        interface = self._program.read_interface(file)
        scope_names = interface.names_by_scope.get(scope, ())
        if name not in scope_names and strip_arity(name) not in scope_names:
            return None
        rules = self._resolver.get_rules(file)
        imports: Sequence[Import] = interface.imports.get((scope, strip_arity(name)), ())
        if imports and not rules.reexports_bind_names:
            imports = [import_ for import_ in imports if not import_.exported]
        indices = self.find_scope_declarations(file, scope, name)
        if indices and (indices := _select_visible(indices, interface.definitions, imports, rules, line)):
            primary = select_primary(interface.definitions, indices)
            return self._prefer_function(file, scope, primary, name).replace_resolver(
                "scope", RESOLVER_PRECISION["scope"]
            )
        if imports:
            if (referent := self._resolve_imports(file, imports, name)) is not None:
                return referent.replace_resolver("import", RESOLVER_PRECISION["import"])
            return Referent("external", name=f"{imports[0].module}.{imports[0].name}".rstrip("."))
        bindings = interface.bindings.get((scope, name)) if values else None
        if bindings and line and rules.has_ordered_file_scope:
            bindings = [binding for binding in bindings if binding.line < line]
        if bindings:
            is_object_entry = scope != MODULE and interface.definitions[scope].kind in DATA_KINDS
            return None if is_object_entry else self._resolver.infer_binding(file, bindings[0])
        return None

    def _prefer_function(self, file: int, scope: int, index: int, name: str) -> Referent:
        """Return a definition of a scope; for a called field, the function of its name that is declared elsewhere."""
        definition = self._program.get_definition(file, index)
        if "/" in name and scope != MODULE and definition.kind in DATA_KINDS:
            member = self._resolver.find_own_member(file, scope, name)
            if member is not None and member.kind == "definition":
                return member
        return Referent("definition", file, index)

    def _resolve_imports(self, file: int, imports: Sequence[Import], name: str) -> Referent | None:
        """Return the first known referent of several imports of a name; a module comes last where it may share its name."""
        rules = self._resolver.get_rules(file)
        module: Referent | None = None
        arity = name[len(strip_arity(name)) :]
        for import_ in imports:
            referent = rules.resolve_import(
                self._resolver, file, import_._replace(name=f"{import_.name}{arity}") if arity else import_
            )
            if referent is None:
                continue
            if referent.kind != "module" or not rules.separates_modules:
                return referent
            module = module or referent
        return module

    def resolve_star_imports(
        self, file: int, name: str, scope: int = MODULE, *, include_reexports: bool = True
    ) -> Referent | None:
        """Return the referent of a name that star imports bring.

        Args:
            include_reexports: Whether imports count that the file only re-exports.
        """
        for import_ in self._program.read_interface(file).star_imports:
            if import_.scope != scope:
                continue
            if import_.exported and not include_reexports:
                continue
            module = self._resolver.get_rules(file).resolve_module(file, import_.module)
            if (
                module is not None
                and (referent := self._resolver.find_member(module, name)) is not None
                and referent.kind != "external"
            ):
                return referent.replace_resolver("import", RESOLVER_PRECISION["star"])
        return None

    def resolve_export(self, file: int, name: str) -> Referent | None:
        """Return the referent that a module declares, imports or re-exports by a name."""
        return self._resolver.memoize(("exported", file, name), lambda: self._compute_export(file, name))

    def _compute_export(self, file: int, name: str) -> Referent | None:
        interface = self._program.read_interface(file)
        rules = self._resolver.get_rules(file)
        if (reexport := interface.reexports.get(name)) is not None:
            if reexport.module:
                return rules.resolve_import(self._resolver, file, reexport)
            return self._resolver.evaluate(file, MODULE, reexport.name, reexport.line)
        if (
            rules.is_exported(file, interface, name)
            and (referent := self.resolve_in_scope(file, MODULE, name)) is not None
        ):
            return referent
        if (submodule := rules.find_submodule(file, name)) is not None:
            return submodule
        return self.resolve_star_imports(file, name)


def _select_visible(
    indices: Sequence[int],
    definitions: Sequence[Definition],
    imports: Sequence[Import],
    rules: "LanguageRules",
    line: int,
) -> Sequence[int]:
    """Return those definitions of a name in a scope that a bare name may refer to.

    Args:
        imports: Imports of the same name.
        line: See `ScopeLookup.resolve_in_scope`.
    """
    import_lines = {import_.line for import_ in imports}  # ``const a = require("a")`` declares what it imports
    visible = [
        index
        for index in indices
        if definitions[index].kind not in rules.hidden_kinds and definitions[index].start_line not in import_lines
    ]
    if line and rules.has_ordered_file_scope:
        visible = [index for index in visible if not _is_below(definitions[index], line)]
    if line and (imports or len(visible) > 1):  # ``exports.get = ...`` declares no variable ``get``
        visible = [index for index in visible if "exports" not in definitions[index].modifiers.split()] or (
            [] if imports else visible
        )
    if line and rules.has_block_scope and len(visible) > 1:
        return select_last_above(definitions, visible, line)
    return visible


def _is_below(definition: Definition, line: int) -> bool:
    """Return whether a definition is local to the text below a line."""
    # A variable is not visible in its value.
    first_line = definition.end_line + 1 if definition.kind in DATA_KINDS else definition.start_line
    return first_line > line and "local" in definition.modifiers.split()


def _is_hidden(kind: str, rules: "LanguageRules", *, is_direct: bool) -> bool:
    """Return whether the declarations in a scope of a kind are invisible to bare names.

    Args:
        is_direct: Whether no function lies between the names and the scope.
    """
    return kind in TYPE_KINDS and (rules.requires_qualified_members or (rules.hides_class_scope and not is_direct))
