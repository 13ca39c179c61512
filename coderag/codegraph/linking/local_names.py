"""Local names of the file that is being linked, and the memo of their referents."""

from collections.abc import Sequence

from coderag.codegraph.linking.overloads import is_method_name, strip_arity
from coderag.codegraph.linking.program import MODULE, FileInterface, group_bindings
from coderag.codegraph.linking.query_memo import MemoTable
from coderag.codegraph.linking.referents import CALLABLE_KINDS, TYPE_KINDS, Referent
from coderag.codegraph.linking.rules.traits import LanguageTraits
from coderag.schema.facts import Binding


class LocalNames:
    """Local names of one file.

    Args:
        file: Number of the file; -1 for none.
        bindings: Its local bindings.
        interface: Its interface.
        rules: The rules of its language.

    Attributes:
        bindings: By scope and name.
        line_dependent_names: Names whose referent depends on the line of use.
        memo: Inferred values of local names.
        name_memo: Referents of first names of chains, by scope.
        step_memo: Referents of the further steps of chains, by the referent that they start at.
        chain_memo: Referents of chains, by scope, and whether the reference is limited to types or values.
    """

    def __init__(self, file: int, bindings: Sequence[Binding], interface: FileInterface, rules: LanguageTraits) -> None:
        self.file = file
        self.bindings = group_bindings(bindings)
        redeclared = {
            name for (_, name), same_name in self.bindings.items() if len(same_name) > 1 or same_name[0].last_line
        }
        self.line_dependent_names = interface.redeclared_names | redeclared
        self.memo: MemoTable = {}
        self.name_memo: dict[tuple[int, str], Referent | None] = {}
        self.step_memo: dict[tuple[Referent, tuple[str, ...]], Referent | None] = {}
        self.chain_memo: dict[tuple[int, str, bool], Referent | None] = {}
        self._definitions = interface.definitions
        self._names_by_scope = interface.names_by_scope
        self._hides_class_scope = rules.hides_class_scope
        self._has_object_scope = rules.has_object_scope
        self._receiver_names = frozenset({*rules.self_names, *rules.self_type_names, *rules.super_names})
        self._inner_names = {name for _, name in self.bindings}
        self._inner_names.update(*(names for scope, names in interface.names_by_scope.items() if scope != MODULE))
        self._enclosing_open_scopes = self._find_open_scopes(interface, rules)

    def find_binding(self, file: int, scope: int, name: str, line: int) -> Binding | None:
        """Return the binding of a local name that applies at a line: the last one above it, else the first."""
        bindings = self.bindings.get((scope, name)) if file == self.file else None
        if not bindings:
            return None
        in_block = [
            binding for binding in bindings if not binding.last_line or binding.first_line <= line <= binding.last_line
        ]
        preceding = [binding for binding in in_block if binding.line <= line]
        return preceding[-1] if preceding else next(iter(in_block), None)

    def find_outermost_scope(self, scope: int, name: str) -> int:
        """Return the outermost enclosing scope in which a name certainly has the same referent as in a scope."""
        if name in self._receiver_names or (self._has_object_scope and is_method_name(name)):
            return scope
        bare_name = strip_arity(name)
        if name not in self._inner_names and bare_name not in self._inner_names:
            return self._enclosing_open_scopes[scope]
        is_direct = True
        while scope != MODULE and self._enclosing_open_scopes[scope] != scope:
            definition = self._definitions[scope]
            is_hidden = self._hides_class_scope and not is_direct and definition.kind in TYPE_KINDS
            if not is_hidden:
                scope_names = self._names_by_scope.get(scope, ())
                if (
                    name in scope_names
                    or bare_name in scope_names
                    or (scope, name) in self.bindings
                    or (scope, bare_name) in self.bindings
                ):
                    break
            is_direct = is_direct and definition.kind not in CALLABLE_KINDS
            scope = definition.parent
        return scope

    def _find_open_scopes(self, interface: FileInterface, rules: LanguageTraits) -> list[int]:
        """Return for each scope, and last for the module, the innermost enclosing scope that may have undeclared names."""
        has_members = rules.has_implicit_receiver or rules.inherits_nested_types
        open_scopes = []
        for scope, definition in enumerate(interface.definitions):
            is_open = has_members and (
                definition.kind in rules.type_kinds or (bool(definition.owner) and definition.kind in CALLABLE_KINDS)
            )
            if is_open or scope in interface.star_scopes:
                open_scopes.append(scope)
            else:
                open_scopes.append(open_scopes[definition.parent] if definition.parent != MODULE else MODULE)
        return [*open_scopes, MODULE]
