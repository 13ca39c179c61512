"""Calls without receiver or parentheses, as facts: in Ruby a bare name, ``super``, or an assignment to an attribute.

``@call.bare`` is a name that is a call unless it is a variable, ``@call.super`` a keyword that calls the overridden method of
the enclosing one, ``@call.setter`` a call that is assigned to.
"""

from collections.abc import Iterator, Set

from tree_sitter import Node

from coderag.ingestion.parsing.declaration_records import CALLABLE
from coderag.ingestion.parsing.fact_bindings import BindingReader, is_bound_at
from coderag.ingestion.parsing.fact_scopes import ScopeTable
from coderag.ingestion.parsing.source_text import Captures, SourceText
from coderag.schema.facts import MODULE_SCOPE, ReferenceKind

_MAX_NAME_CHARS = 100
_NAMING_NODES = frozenset({"call", "method", "singleton_method", "alias", "undef"})
_NAMING_FIELDS = ("method", "name", "alias")

_NameUse = tuple[ReferenceKind, int, str, int]


class ImplicitCallReader:
    """Reads the implicit calls of one file."""

    def __init__(self, source: SourceText, scopes: ScopeTable, bindings: BindingReader) -> None:
        self._source = source
        self._scopes = scopes
        self._bindings = bindings
        self._names: dict[int, Node] = {}  # by offset
        self._setters: set[tuple[int, int]] = set()  # start and end
        self._super_calls: list[_NameUse] = []

    def read_bare(self, captures: Captures) -> None:
        """Read a name that may be a call."""
        self._names.update((node.start_byte, node) for node in captures["call.bare"])

    def read_setter(self, captures: Captures) -> None:
        """Read a call that is assigned to."""
        self._setters.update((node.start_byte, node.end_byte) for node in captures["call.setter"])

    def read_super(self, captures: Captures) -> None:
        """Read a call of the overridden method."""
        for node in captures["call.super"]:
            start = node.start_byte
            scope = self._scopes.find_scope(start)
            is_method = scope != MODULE_SCOPE and self._scopes.kinds[scope] in CALLABLE
            if is_method and len(self._scopes.names[scope]) <= _MAX_NAME_CHARS:
                self._super_calls.append(("call", start, f"super.{self._scopes.names[scope]}", start))

    def is_setter(self, call: Node) -> bool:
        """Return whether a call is assigned to."""
        return bool(self._setters) and (call.start_byte, call.end_byte) in self._setters

    def list_uses(self, called: Set[int]) -> Iterator[_NameUse]:
        """Yield the calls.

        Args:
            called: Offsets of the names of other calls.
        """
        yield from self._super_calls
        offsets = [offset for offset, node in self._names.items() if offset not in called and _is_value(node)]
        bindings = self._bindings.group_variables() if offsets else {}
        lines = self._source.find_lines(offsets)
        for offset, scope, line in zip(offsets, self._scopes.find_scopes(offsets), lines, strict=True):
            name = self._source.read_node(self._names[offset])
            scopes = self._scopes.list_variable_scopes(scope)
            if not any(is_bound_at(bindings.get((outer, name), ()), line) for outer in scopes):
                yield "call", offset, name, offset


def _is_value(name: Node) -> bool:
    """Return whether a name is a value: not the name of a method that is declared or called."""
    if not 0 < name.end_byte - name.start_byte <= _MAX_NAME_CHARS:  # the parser may insert a missing name
        return False
    parent = name.parent
    return parent is None or not (
        parent.type in _NAMING_NODES and any(parent.child_by_field_name(field) == name for field in _NAMING_FIELDS)
    )
