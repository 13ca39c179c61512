"""Positions in a Python file: its calls, its declarations, and the names it imports under another one."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

_NAME = re.compile(r"\w+")
_Declaration = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Call:
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
        self._calls: dict[tuple[int | None, ...], Call] = {}
        self._declared: dict[str, list[_Declaration]] = defaultdict(list)
        self.aliases: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                self._add(node, node.func, "call")
            elif isinstance(node, ast.ImportFrom):
                self.aliases |= {each.asname: each.name for each in node.names if each.asname}
        for decorator in (
            each for node in ast.walk(tree) if isinstance(node, _Declaration) for each in node.decorator_list
        ):
            if isinstance(decorator, ast.Call):
                self._add(decorator, decorator.func, "maker")
            else:
                self._add(decorator, decorator, "decorator")
        for name, declaration in _qualified(tree, ""):
            self._declared[name].append(declaration)

    def call_at(self, position: tuple[int | None, ...]) -> Call | None:
        """Return the call of a name at a position (first line, last line, first column, last column, in bytes)."""
        return self._calls.get(position)

    def declares(self, line: int, name: str) -> bool:
        """Whether a `def` or `class` of that name stands on a line."""
        return any(each.lineno == line and each.name == name for rows in self._declared.values() for each in rows)

    def name_at(self, line: int, column: int) -> str:
        """Return the identifier that begins at a position, empty if there is none; column from 0, in characters."""
        text = self._lines[line - 1][column:] if 0 < line <= len(self._lines) else ""
        found = _NAME.match(text)
        return found.group() if found else ""

    def calls_on(self, line: int) -> list[Call]:
        """Return the calls of names on a line."""
        return sorted({call for call in self._calls.values() if call.line == line}, key=lambda call: call.column)

    def declared_at(self, qualified_name: str, first_line: int | None) -> int | None:
        """Return the line of a `def` or `class`; `None` if the file does not tell which one is meant.

        Args:
            qualified_name: As Python has it, with `<locals>`.
            first_line: Of the declaration with its decorators; `None` if unknown, which only an unambiguous name survives.
        """
        found = self._declared.get(qualified_name, [])
        if first_line is not None:
            found = [
                each for each in found if first_line in (each.lineno, *(row.lineno for row in each.decorator_list))
            ]
        return found[0].lineno if len(found) == 1 else None

    def _add(self, whole: ast.expr, called: ast.expr, kind: str) -> None:
        """Note the call of a name; what is called otherwise, as in `f()()`, has none."""
        if isinstance(called, ast.Name):
            call = Call(called.lineno, self._characters(called.lineno, called.col_offset), called.id, kind)
        elif isinstance(called, ast.Attribute):
            line, end = cast(int, called.end_lineno), cast(int, called.end_col_offset)
            call = Call(line, self._characters(line, end) - len(called.attr), called.attr, kind)
        else:
            return
        self._calls[whole.lineno, whole.end_lineno, whole.col_offset, whole.end_col_offset] = call
        if isinstance(called, ast.Attribute) and called.end_lineno != whole.lineno:
            # CPython says that the call of a method on a later line begins where the method's name does.
            column = cast(int, called.end_col_offset) - len(called.attr.encode())
            self._calls[called.end_lineno, whole.end_lineno, column, whole.end_col_offset] = call

    def _characters(self, line: int, column: int) -> int:
        """Return a column in characters; the syntax tree counts bytes."""
        return len(self._lines[line - 1].encode()[:column].decode(errors="replace"))


def _qualified(node: ast.AST, prefix: str) -> Iterator[tuple[str, _Declaration]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Declaration):
            name = prefix + child.name
            yield name, child
            inner = f"{name}." if isinstance(child, ast.ClassDef) else f"{name}.<locals>."
            yield from _qualified(child, inner)
        else:
            yield from _qualified(child, prefix)
