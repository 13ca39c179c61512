"""Local names of the file that is being linked, and the memo of their referents."""

import re
from collections.abc import Sequence
from typing import Final

from coderag.codegraph.linking.overloads import is_method_name, strip_arity
from coderag.codegraph.linking.program import MODULE, FileInterface, group_bindings
from coderag.codegraph.linking.query_memo import MemoTable
from coderag.codegraph.linking.referents import CALLABLE_KINDS, TYPE_KINDS, Referent
from coderag.codegraph.linking.rules.traits import LanguageTraits
from coderag.schema.facts import RECEIVER_NAME, Binding

NO_LIMIT: Final = (-2, 0)
"""The `LocalNames.receiver_limit` without effect."""


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
        receiver_limit: While a receiver is inferred, its scope and position among those of the scope: later ones are inside it.
        chain_memo: Referents of chains, by scope, and whether the reference is limited to types or values.
    """

    def __init__(self, file: int, bindings: Sequence[Binding], interface: FileInterface, rules: LanguageTraits) -> None:
        self.file = file
        self.bindings = group_bindings(bindings)
        redeclared = {
            name for (_, name), same_name in self.bindings.items() if len(same_name) > 1 or same_name[0].last_line
        }
        self.line_dependent_names = interface.redeclared_names | redeclared
        if rules.has_ordered_file_scope:
            self.line_dependent_names |= interface.by_name.keys()
        self.receiver_limit = NO_LIMIT
        self.memo: MemoTable = {}
        self.name_memo: dict[tuple[int, str], Referent | None] = {}
        self.step_memo: dict[tuple[Referent, tuple[str, ...]], Referent | None] = {}
        self.chain_memo: dict[tuple[int, str, bool, bool], Referent | None] = {}
        self._definitions = interface.definitions
        self._names_by_scope = interface.names_by_scope
        self._hides_class_scope = rules.hides_class_scope
        self._declares_before_use = rules.declares_before_use
        self._has_object_scope = rules.has_object_scope
        self._receiver_names = frozenset({*rules.self_names, *rules.self_type_names, *rules.super_names})
        self._inner_names = {name for _, name in self.bindings}
        self._inner_names.update(*(names for scope, names in interface.names_by_scope.items() if scope != MODULE))
        self._closure_scopes = {
            scope
            for (scope, name), same_name in self.bindings.items()
            if name == RECEIVER_NAME and any(binding.last_line for binding in same_name)
        }
        self._enclosing_open_scopes = self._find_open_scopes(interface, rules)

    def is_line_dependent(self, scope: int, name: str) -> bool:
        """Return whether the referent of a name in a scope depends on the line of use."""
        if name in self.line_dependent_names:
            return True
        if not self._closure_scopes:
            return False
        while scope != MODULE and scope not in self._closure_scopes:
            scope = self._definitions[scope].parent
        return scope in self._closure_scopes

    def find_binding(self, file: int, scope: int, name: str, line: int) -> Binding | None:
        """Return the binding of a local name that applies at a line: the last one above it, else the first."""
        bindings = self.bindings.get((scope, name)) if file == self.file else None
        if not bindings:
            return None
        in_block = [
            binding for binding in bindings if not binding.last_line or binding.first_line <= line <= binding.last_line
        ]
        preceding = [binding for binding in in_block if binding.line <= line]
        if not self._declares_before_use:
            return preceding[-1] if preceding else next(iter(in_block), None)
        if preceding and preceding[-1].line == line and _is_in_own_value(preceding[-1]):
            preceding.pop()
        return preceding[-1] if preceding else None

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
            is_open = is_open or (scope, RECEIVER_NAME) in self.bindings
            if is_open or scope in interface.star_scopes:
                open_scopes.append(scope)
            else:
                open_scopes.append(open_scopes[definition.parent] if definition.parent != MODULE else MODULE)
        return [*open_scopes, MODULE]


def _is_in_own_value(binding: Binding) -> bool:
    """Return whether a name stands in its own value, where it means something else: ``val module = module { ... }``."""
    return re.split(r"[.(\[{/]", binding.value, maxsplit=1)[0] == binding.name
