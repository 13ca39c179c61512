"""Positions in a Python file: calls, declarations, and import aliases."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

_NAME = re.compile(r"\w+")
_DeclarationNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class CallExpression:
    """A call expression.

    Args:
        line: Line of the called name, from 1.
        column: Column of the called name, from 0, in characters.
        name: Name as written.
        kind: `call`; `maker` if its value decorates a declaration; `decorator` for a decorator without a call expression.
    """

    line: int
    column: int
    name: str
    kind: str = "call"


class PythonFile:
    """A parsed file.

    Args:
        source: Its bytes.

    Raises:
        SyntaxError: It is not valid in this interpreter's version of Python.
    """

    def __init__(self, source: bytes) -> None:
        tree = ast.parse(source)
        self._lines = source.decode("utf-8", errors="replace").splitlines()
        self._calls: dict[tuple[int | None, ...], CallExpression] = {}
        self._declarations: dict[str, list[_DeclarationNode]] = defaultdict(list)
        self.aliases: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                self._add_call(node, node.func, "call")
            elif isinstance(node, ast.ImportFrom):
                self.aliases |= {child.asname: child.name for child in node.names if child.asname}
        for decorator in (
            child for node in ast.walk(tree) if isinstance(node, _DeclarationNode) for child in node.decorator_list
        ):
            if isinstance(decorator, ast.Call):
                self._add_call(decorator, decorator.func, "maker")
            else:
                self._add_call(decorator, decorator, "decorator")
        for name, declaration in _iterate_declarations(tree, ""):
            self._declarations[name].append(declaration)

    def find_call(self, position: tuple[int | None, ...]) -> CallExpression | None:
        """Return the call of a name at a position (first line, last line, first column, last column, in bytes)."""
        return self._calls.get(position)

    def has_declaration(self, line: int, name: str) -> bool:
        """Return whether a line has a `def` or `class` of a name."""
        return any(node.lineno == line and node.name == name for nodes in self._declarations.values() for node in nodes)

    def get_identifier(self, line: int, column: int) -> str:
        """Return the identifier that starts at a position, or an empty text; column from 0, in characters."""
        text = self._lines[line - 1][column:] if 0 < line <= len(self._lines) else ""
        match = _NAME.match(text)
        return match.group() if match else ""

    def find_calls(self, line: int) -> list[CallExpression]:
        """Return the calls of names on a line."""
        return sorted({call for call in self._calls.values() if call.line == line}, key=lambda call: call.column)

    def find_declaration_line(self, qualified_name: str, first_line: int | None) -> int | None:
        """Return the line of a `def` or `class`; None if it is missing or ambiguous.

        Args:
            qualified_name: Python's `__qualname__`, with `<locals>`.
            first_line: First line of the declaration, decorators included; None if unknown, which requires an unambiguous name.
        """
        nodes = self._declarations.get(qualified_name, [])
        if first_line is not None:
            nodes = [
                node
                for node in nodes
                if first_line in (node.lineno, *(decorator.lineno for decorator in node.decorator_list))
            ]
        return nodes[0].lineno if len(nodes) == 1 else None

    def _add_call(self, expression: ast.expr, callee: ast.expr, kind: str) -> None:
        """Add the call of a name; other calls, such as `f()()`, have no name."""
        if isinstance(callee, ast.Name):
            call = CallExpression(
                callee.lineno, self._to_character_column(callee.lineno, callee.col_offset), callee.id, kind
            )
        elif isinstance(callee, ast.Attribute):
            line, end = cast(int, callee.end_lineno), cast(int, callee.end_col_offset)
            call = CallExpression(line, self._to_character_column(line, end) - len(callee.attr), callee.attr, kind)
        else:
            return
        self._calls[expression.lineno, expression.end_lineno, expression.col_offset, expression.end_col_offset] = call
        if isinstance(callee, ast.Attribute) and callee.end_lineno != expression.lineno:
            # CPython reports that the call of a method on a later line starts at the method's name.
            column = cast(int, callee.end_col_offset) - len(callee.attr.encode())
            self._calls[callee.end_lineno, expression.end_lineno, column, expression.end_col_offset] = call

    def _to_character_column(self, line: int, column: int) -> int:
        """Return a column in characters; the syntax tree counts bytes."""
        return len(self._lines[line - 1].encode()[:column].decode(errors="replace"))


def _iterate_declarations(node: ast.AST, prefix: str) -> Iterator[tuple[str, _DeclarationNode]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _DeclarationNode):
            name = prefix + child.name
            yield name, child
            inner_prefix = f"{name}." if isinstance(child, ast.ClassDef) else f"{name}.<locals>."
            yield from _iterate_declarations(child, inner_prefix)
        else:
            yield from _iterate_declarations(child, prefix)
