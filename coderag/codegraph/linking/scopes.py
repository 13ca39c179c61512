"""Resolution of bare names: enclosing scopes, their imports, and the file's package."""

from collections.abc import Sequence

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
from coderag.schema.facts import Definition, Import


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
        can_call_values = rules.overloads_by_arity and not rules.separates_methods  # a delegate can be called
        value_name = strip_arity(name) if can_call_values else name
        external_member: Referent | None = None  # member that an external type may declare
        is_direct = True  # whether no function lies between
        while scope != MODULE:
            kind = interface.definitions[scope].kind
            if not _is_hidden(kind, rules, is_direct=is_direct):
                if (binding := self._resolver.local_names.find_binding(file, scope, value_name, line)) is not None:
                    return self._resolver.infer_binding(file, binding, is_local=True)
                referent = self.resolve_in_scope(file, scope, name, line)
                if referent is None and rules.has_implicit_receiver:
                    referent = self._resolve_implicit_member(file, scope, name)
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
        if (binding := self._resolver.local_names.find_binding(file, scope, value_name, line)) is not None:
            return self._resolver.infer_binding(file, binding, is_local=True)
        referent = self.resolve_global_name(file, name, line, values=True)
        if referent is None or referent.kind == "external":
            return referent or external_member
        return lower_shadowed_confidence(external_member, referent)

    def resolve_global_name(self, file: int, name: str, line: int, *, values: bool) -> Referent | None:
        """Return the referent of a name at the top level of a file.

        Args:
            values: Whether the values of variables count, too.
        """
        if name in self._program.read_interface(file).redeclared_names:
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
            return Referent(
                "definition",
                file,
                select_primary(interface.definitions, indices),
                "",
                "scope",
                RESOLVER_PRECISION["scope"],
            )
        if imports:
            if (referent := self._resolve_imports(file, imports, name)) is not None:
                return referent.replace_resolver("import", RESOLVER_PRECISION["import"])
            return Referent("external", name=f"{imports[0].module}.{imports[0].name}".rstrip("."))
        if values and (bindings := interface.bindings.get((scope, name))):
            is_object_entry = scope != MODULE and interface.definitions[scope].kind in DATA_KINDS
            return None if is_object_entry else self._resolver.infer_binding(file, bindings[0])
        return None

    def _resolve_imports(self, file: int, imports: Sequence[Import], name: str) -> Referent | None:
        """Return the first known referent of several imports of a name; a module comes last where it may share its name."""
        rules = self._resolver.get_rules(file)
        module: Referent | None = None
        for import_ in imports:
            referent = rules.resolve_import(
                self._resolver, file, import_._replace(name=name) if "/" in name else import_
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
    if line and rules.has_block_scope and len(visible) > 1:
        return select_last_above(definitions, visible, line)
    return visible


def _is_hidden(kind: str, rules: "LanguageRules", *, is_direct: bool) -> bool:
    """Return whether the declarations in a scope of a kind are invisible to bare names.

    Args:
        is_direct: Whether no function lies between the names and the scope.
    """
    return kind in TYPE_KINDS and (rules.requires_qualified_members or (rules.hides_class_scope and not is_direct))
