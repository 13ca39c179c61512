"""Scopes of a file: its definitions, and lookup of the definition around an offset."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from tree_sitter import Node

from coderag.ingestion.parsing.declaration_records import CLASS_LIKE, DATA, TYPES, Declaration
from coderag.ingestion.parsing.declarations import Syntax
from coderag.ingestion.parsing.source_text import SourceText
from coderag.ingestion.parsing.text_ranges import IntervalIndex
from coderag.schema.facts import MODULE_SCOPE, TEST_MODIFIER, TITLE_MODIFIER, Definition


class ScopeTable:
    """Definitions of a file, numbered in order: one for each name of each declaration.

    A further name of a function or type has the qualified name of the first one: queries of the graph treat both as one. A
    test case that a title names is the scope of its variables and of what it refers to, but not of what is declared in it.

    Attributes:
        names, kinds, parents: Columns of `coderag.schema.facts.Definition`, one entry for each definition.
        fields: Scope and name of each declared field.
        owners, returns, modifiers, parameters: Further columns, filled in by the fact reader.
    """

    def __init__(self, syntax: Syntax, source: SourceText) -> None:
        self.names: list[str] = []
        self.kinds: list[str] = []
        self.parents: list[int] = []
        self.owners: list[str] = []
        self._qualified_names: list[str] = []
        self._lines: list[tuple[int, int, int]] = []
        self._first_names: dict[int, int] = {}  # of further names of a declaration: the position of the first one
        self._declarations = syntax.declarations
        self._starts = [declaration.start for declaration in syntax.declarations]
        self._first_scopes: dict[Declaration, int] = {}  # position of the definition of its first name
        for declaration in syntax.declarations:
            self._define(declaration, source)
        self.returns = [""] * len(self.names)
        self.modifiers = [""] * len(self.names)
        for declaration, scope in self._first_scopes.items():
            if declaration.is_titled:
                self.modifiers[scope] = f"{TEST_MODIFIER} {TITLE_MODIFIER}"
        self.parameters = [""] * len(self.names)
        self.fields = frozenset(
            (parent, name)
            for parent, name, kind in zip(self.parents, self.names, self.kinds, strict=True)
            if kind == "field"
        )
        self._scopes = [*self._first_scopes.values(), MODULE_SCOPE]
        self._lexical_scopes = [*map(self._get_lexical_scope, syntax.declarations), MODULE_SCOPE]
        positions = {declaration: position for position, declaration in enumerate(syntax.declarations)}
        self._intervals = IntervalIndex(
            self._starts,
            [declaration.end for declaration in syntax.declarations],
            [-1 if declared.parent is None else positions[declared.parent] for declared in syntax.declarations],
        )

    def build_definitions(self) -> list[Definition]:
        """Build the definitions from all columns."""
        first_lines, last_lines, name_lines = zip(*self._lines, strict=True) if self._lines else ((), (), ())
        columns = (self.names, self._qualified_names, self.kinds, self.parents, first_lines, last_lines)
        for further, first in self._first_names.items():
            for column in (self.returns, self.modifiers, self.parameters):
                column[further] = column[first]
        details = (self.owners, self.returns, self.modifiers, self.parameters)
        return list(map(Definition, *columns, *details, name_lines))

    def find_scope(self, offset: int) -> int:
        """Return the scope around an offset in which names are declared."""
        return self._lexical_scopes[self._intervals.find_innermost(offset)]

    def find_scopes(self, offsets: Sequence[int]) -> list[int]:
        """Return the scope that a use at each offset belongs to, which may be a test case."""
        return [self._scopes[position] for position in self._intervals.find_innermost_of_each(offsets)]

    def get_scope(self, declaration: Declaration) -> int:
        """Return the scope of a declaration."""
        return self._first_scopes[declaration]

    def find_declaration(self, offset: int) -> Declaration | None:
        """Return the innermost declaration around an offset that no title names; None if there is none."""
        position = self._intervals.find_innermost(offset)
        return _find_lexical(self._declarations[position]) if position >= 0 else None

    def find_decorated_scope(self, offset: int) -> int:
        """Return the scope of the declaration that a decorator or modifier at an offset belongs to: around it, or below."""
        index = bisect_right(self._starts, offset)
        if index < len(self._starts) and self._declarations[index].outer_start <= offset:
            return self._scopes[index]
        return self.find_scope(offset)

    def find_scope_starting_at(self, offset: int) -> int:
        """Return the scope of the declaration that begins at an offset; the module if there is none."""
        index = bisect_left(self._starts, offset)
        exists = index < len(self._starts) and self._starts[index] == offset
        return self._scopes[index] if exists else MODULE_SCOPE

    def find_named_scope(self, offset: int, name: str) -> int:
        """Return the last scope of a name beside or around an offset, innermost first; the module if there is none."""
        declaration = self.find_declaration(offset)
        while declaration is not None and name not in declaration.names:
            if inner := [child for child in declaration.children if name in child.names]:
                return self._first_scopes[inner[-1]]
            declaration = declaration.parent
        if declaration is not None:
            return self._first_scopes[declaration]
        roots = (scope for scope in self.list_module_scopes() if self.names[scope] == name)
        return max(roots, default=MODULE_SCOPE)

    def list_module_scopes(self) -> list[int]:
        """Return the top-level scopes that no title names."""
        return [
            scope
            for scope, parent in enumerate(self.parents)
            if parent == MODULE_SCOPE and TITLE_MODIFIER not in self.modifiers[scope]
        ]

    def find_binding_scope(self, offset: int, name: str, *, member: bool) -> int:
        """Return the scope in which a name is bound: a function, a type or the file.

        A variable is never a scope; a field or property is one for names bound inside it.
        """
        position = self._intervals.find_innermost(offset)
        declaration = self._declarations[position] if position >= 0 else None
        while declaration is not None:
            is_its_name = declaration.kind in DATA and (
                member or declaration.kind != "field" or name in declaration.names
            )
            is_nested_member = member and (
                declaration.is_titled or (declaration.kind not in CLASS_LIKE and declaration.parent is not None)
            )
            if not is_its_name and not is_nested_member:
                break
            declaration = declaration.parent
        return MODULE_SCOPE if declaration is None else self._first_scopes[declaration]

    def list_outermost_scopes(self, body: Node) -> list[int]:
        """Return the scopes of the outermost declarations inside a node."""
        first, last = bisect_left(self._starts, body.start_byte), bisect_left(self._starts, body.end_byte)
        inside = self._declarations[first:last]
        return [
            self.get_scope(declaration)
            for declaration in inside
            if not declaration.is_titled and (declaration.parent is None or declaration.parent.start < body.start_byte)
        ]

    def list_variable_scopes(self, scope: int) -> list[int]:
        """Return a scope and its enclosing scopes whose variables may be visible in it: up to a type, or the file."""
        scopes = [scope]
        while scope != MODULE_SCOPE and self.kinds[scope] not in TYPES:
            scope = self.parents[scope]
            scopes.append(scope)
        return scopes

    def list_enclosing_modules(self, scope: int) -> list[str]:
        """Return the names of the enclosing modules of a scope in its file, outermost first."""
        names = []
        while scope != MODULE_SCOPE:
            if self.kinds[scope] == "namespace":
                names.append(self.names[scope])
            scope = self.parents[scope]
        return names[::-1]

    def find_module_name(self, scope: int) -> str:
        """Return the qualified name of the innermost module or type around a scope; empty if there is none."""
        while scope != MODULE_SCOPE:
            if self.kinds[scope] in CLASS_LIKE or (self.kinds[scope] == "namespace" and self.modifiers[scope] == ""):
                return self._qualified_names[scope]
            scope = self.parents[scope]
        return ""

    def find_following_start(self, offset: int, name: str) -> int:
        """Return the start of the declaration below an offset if it has a name; else the offset."""
        index = bisect_right(self._starts, offset)
        is_named = index < len(self._starts) and name in self._declarations[index].names
        return self._starts[index] if is_named else offset

    def _get_lexical_scope(self, declaration: Declaration) -> int:
        lexical = _find_lexical(declaration)
        return MODULE_SCOPE if lexical is None else self._first_scopes[lexical]

    def _define(self, declaration: Declaration, source: SourceText) -> None:
        outer = declaration.parent if declaration.is_titled else _find_lexical(declaration.parent)
        parent = MODULE_SCOPE if outer is None else self.get_scope(outer)
        self._first_scopes[declaration] = len(self.names)
        offsets = (declaration.start, max(declaration.start, declaration.end - 1), declaration.name_start)
        first_line, last_line, name_line = map(source.find_line, offsets)
        lines = first_line, last_line, name_line
        prefix = declaration.qualified_name[: len(declaration.qualified_name) - len(declaration.name)]
        first = len(self.names)
        for name in declaration.names:
            self._add(declaration, name, prefix + name, parent, lines)
        for name in declaration.aliases:
            self._first_names[len(self.names)] = first
            self._add(declaration, name, declaration.qualified_name, parent, lines)
        if declaration.has_inner_name:
            self._first_names[len(self.names)] = first
            self._add(declaration, declaration.inner_name, declaration.qualified_name, first, lines)

    def _add(
        self, declaration: Declaration, name: str, qualified_name: str, parent: int, lines: tuple[int, int, int]
    ) -> None:
        self.names.append(name)
        self.kinds.append("function" if declaration.kind == "namespace" and declaration.is_titled else declaration.kind)
        self.parents.append(parent)
        self.owners.append("" if parent == self._first_scopes[declaration] else declaration.receiver)
        self._qualified_names.append(qualified_name)
        self._lines.append(lines)


def _find_lexical(declaration: Declaration | None) -> Declaration | None:
    """Return the innermost of a declaration and those around it that no title names; None for the file."""
    while declaration is not None and declaration.is_titled:
        declaration = declaration.parent
    return declaration
