"""Positions in a Python file: its calls, its declarations, and the names it imports under another one."""

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
    """One call expression.

    Args:
        line: Of the called name, from 1.
        column: Of the called name, from 0, in characters.
        name: What is written there.
        kind: `call`; `maker` when its value decorates a declaration; `decorator` for a decorator that is no call expression.
    """

    line: int
    column: int
    name: str
    kind: str = "call"


class PythonFile:
    """One parsed file.

    Args:
        source: Its bytes.

    Raises:
        SyntaxError: It is not Python of this interpreter's version.
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
        """Whether a `def` or `class` of that name stands on a line."""
        return any(node.lineno == line and node.name == name for nodes in self._declarations.values() for node in nodes)

    def get_identifier(self, line: int, column: int) -> str:
        """Return the identifier that begins at a position, empty if there is none; column from 0, in characters."""
        text = self._lines[line - 1][column:] if 0 < line <= len(self._lines) else ""
        match = _NAME.match(text)
        return match.group() if match else ""

    def find_calls(self, line: int) -> list[CallExpression]:
        """Return the calls of names on a line."""
        return sorted({call for call in self._calls.values() if call.line == line}, key=lambda call: call.column)

    def find_declaration_line(self, qualified_name: str, first_line: int | None) -> int | None:
        """Return the line of a `def` or `class`; `None` if the file does not tell which one is meant.

        Args:
            qualified_name: As Python has it, with `<locals>`.
            first_line: Of the declaration with its decorators; `None` if unknown, which only an unambiguous name survives.
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
        """Note the call of a name; what is called otherwise, as in `f()()`, has none."""
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
            # CPython says that the call of a method on a later line begins where the method's name does.
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
