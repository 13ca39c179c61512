"""What is known of the file that is being linked, and of no other: its local names, and what was found to be meant in it."""

from collections.abc import Sequence

from coderag.codegraph.linking.answers import Kept
from coderag.codegraph.linking.meanings import CALLABLE, TYPES, Meaning
from coderag.codegraph.linking.overloads import bare
from coderag.codegraph.linking.program import MODULE, Interface, by_scope_and_name
from coderag.codegraph.linking.rules.base import Rules
from coderag.schema.facts import Binding


class Locals:
    """The local names of a file.

    Args:
        file: Its number; -1 for none.
        bindings: Its local ones.

    Attributes:
        bindings: By scope and name.
        changing: Names whose meaning depends on the line.
        kept: What values of local names were found to be.
        names: What first names of chains mean, by scope.
        steps: What the further steps of chains lead to, by what they begin at.
        chains: What chains mean, by scope, and whether only a type, or only a value, is meant.
    """

    def __init__(self, file: int, bindings: Sequence[Binding], interface: Interface, rules: Rules) -> None:
        self.file = file
        self.bindings = by_scope_and_name(bindings)
        again = {name for (_, name), found in self.bindings.items() if len(found) > 1 or found[0].last}
        self.changing = interface.repeated | again
        self.kept: Kept = {}
        self.names: dict[tuple[int, str], Meaning | None] = {}
        self.steps: dict[tuple[Meaning, tuple[str, ...]], Meaning | None] = {}
        self.chains: dict[tuple[int, str, bool], Meaning | None] = {}
        self._definitions = interface.definitions
        self._known = interface.known
        self._hides_types = rules.scope_hides_types
        self._of_types = frozenset({*rules.instance_names, *rules.type_names, *rules.base_names})
        self._inside = {name for _, name in self.bindings}
        self._inside.update(*(names for scope, names in interface.known.items() if scope != MODULE))
        self._open = self._open_scopes(interface, rules)

    def seen_from(self, scope: int, name: str) -> int:
        """Return the outermost scope in which a name means what it does in a scope, so far as that is plain."""
        if name in self._of_types:
            return scope
        plain = bare(name)
        if name not in self._inside and plain not in self._inside:
            return self._open[scope]
        inner = True
        while scope != MODULE and self._open[scope] != scope:
            definition = self._definitions[scope]
            is_hidden = self._hides_types and not inner and definition.kind in TYPES
            if not is_hidden:
                known = self._known.get(scope, ())
                if name in known or plain in known or (scope, name) in self.bindings or (scope, plain) in self.bindings:
                    break
            inner = inner and definition.kind not in CALLABLE
            scope = definition.parent
        return scope

    def _open_scopes(self, interface: Interface, rules: Rules) -> list[int]:
        """Return for each scope, the module last, the innermost one around it that may have names which it does not tell."""
        has_members = rules.members_in_scope or rules.inherits_types
        found = []
        for scope, one in enumerate(interface.definitions):
            is_open = has_members and (one.kind in TYPES or (bool(one.owner) and one.kind in CALLABLE))
            if is_open or scope in interface.star_scopes:
                found.append(scope)
            else:
                found.append(found[one.parent] if one.parent != MODULE else MODULE)
        return [*found, MODULE]
