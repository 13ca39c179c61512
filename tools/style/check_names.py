"""Check names and docstring openings in the source tree; print one line for each violation and exit with 1 if there is any.

    python tools/style/check_names.py [FOLDER ...]

The rules are those of docs/style.md that a syntax tree can show. Words and exemptions are data in ``names.toml``.
"""

import ast
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
RULES = tomllib.loads(Path(__file__).with_name("names.toml").read_text(encoding="utf-8"))
FOLDERS = ("coderag", "graphs", "evals", "tools")

VERBS = frozenset(RULES["verbs"].split())
NOUN_FUNCTIONS = frozenset(RULES["noun_functions"].split())
FORBIDDEN_NAMES = frozenset(RULES["forbidden_names"].split())
FORBIDDEN_CONSTANT_PREFIXES = tuple(RULES["forbidden_constant_prefixes"].split())
FORBIDDEN_OPENINGS = tuple(RULES["forbidden_openings"].split())
EXEMPT = tuple(RULES["exempt"])
DICTATED_NAMES = frozenset(RULES["dictated_names"])
PREDICATES = frozenset(
    {
        "is",
        "are",
        "has",
        "have",
        "can",
        "may",
        "must",
        "needs",
        "should",
        "was",
        "does",
        "to",
        "from",
        "as",
        "with",
        "on",
    }
)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Violation(NamedTuple):
    """A name or docstring against a rule; lines count from 1."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def check_file(path: str, tree: ast.Module) -> Iterator[Violation]:
    """Yield the violations of one file, in no particular order."""
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            yield from _check_function(path, node)
        if isinstance(node, ast.Module | ast.ClassDef | _Function):
            yield from _check_docstring(path, node)
        for name, line in _iterate_bindings(node):
            yield from _check_binding(path, name, line)


def check_class_names(trees: dict[str, ast.Module]) -> Iterator[Violation]:
    """Yield the public classes of modules that share a name with another one."""
    places = defaultdict(list)
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append((path, node.lineno))
    for name, classes in places.items():
        for path, line in classes[1:]:
            yield Violation(path, line, f"public class {name} is also defined in {classes[0][0]}")


def _check_function(path: str, node: _Function) -> Iterator[Violation]:
    name = node.name.strip("_")
    if node.name.startswith("__") or name in NOUN_FUNCTIONS or any(map(_is_exempting_decorator, node.decorator_list)):
        return
    first = name.split("_", 1)[0]
    if first not in VERBS and first not in PREDICATES:
        yield Violation(path, node.lineno, f"function {node.name} does not begin with a verb (names.toml lists verbs)")


def _is_exempting_decorator(decorator: ast.expr) -> bool:
    """Return whether a decorator makes a property, or registers the function under its name with a framework."""
    text = ast.unparse(decorator)
    return text.rpartition(".")[2].partition("(")[0] in RULES["decorators"]


def _check_docstring(path: str, node: ast.Module | ast.ClassDef | _Function) -> Iterator[Violation]:
    text = ast.get_docstring(node)
    opening = text.split(maxsplit=1)[0].strip(",:") if text and text.strip() else ""
    if opening in FORBIDDEN_OPENINGS:
        line = getattr(node, "lineno", 1)
        yield Violation(path, line, f"docstring begins with {opening!r}: use an imperative or a noun phrase")


def _iterate_bindings(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names that a node binds, with their lines."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id, node.lineno
    elif isinstance(node, ast.arg):
        yield node.arg, node.lineno
    elif isinstance(node, _Function | ast.ClassDef):
        yield node.name, node.lineno
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr, node.lineno


def _check_binding(path: str, name: str, line: int) -> Iterator[Violation]:
    bare = name.strip("_")
    if f"{path}:{name}" in DICTATED_NAMES:
        return
    if bare in FORBIDDEN_NAMES:
        yield Violation(path, line, f"{name} says nothing of what it is: use the field's noun")
    elif bare.endswith("_of") and bare not in NOUN_FUNCTIONS:
        yield Violation(path, line, f"{name} ends in '_of': name the result")
    elif bare.isupper() and bare.startswith(FORBIDDEN_CONSTANT_PREFIXES):
        yield Violation(path, line, f"{name}: use MAX_ or MIN_")


def main(arguments: list[str]) -> int:
    """Check the folders given, by default all source folders; return the exit code."""
    folders = [ROOT / argument for argument in arguments or FOLDERS]
    files = sorted(file for folder in folders for file in ([folder] if folder.is_file() else folder.rglob("*.py")))
    trees = {file.relative_to(ROOT).as_posix(): ast.parse(file.read_text(encoding="utf-8")) for file in files}
    trees = {path: tree for path, tree in trees.items() if not path.startswith(EXEMPT)}
    violations = sorted(
        {*check_class_names(trees), *(v for path, tree in trees.items() for v in check_file(path, tree))}
    )
    for violation in violations:
        print(violation)
    if violations:
        print(f"{len(violations)} violations in {len(trees)} files", file=sys.stderr)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
