"""Outline of a Python repository, from Python's parser and import rules."""

import ast
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

from .outline import CompilerDeclaration, FileImport, Outline

_DECLARATION_NODES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ROOTS = ("src/", "")
"""Root folders of imports."""


def read_python_outline(repository: Path) -> Outline:
    """Return the declarations and imports of all files that this Python can parse."""
    trees: dict[str, ast.Module] = {}
    for file in sorted(repository.rglob("*.py")):
        path = file.relative_to(repository).as_posix()
        if any(part.startswith(".") for part in path.split("/")):
            continue
        try:
            trees[path] = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError):
            continue
    modules = {module: path for path in reversed(list(trees)) for module in _list_module_names(path)}
    declarations = [entry for path, tree in trees.items() for entry in _walk_declarations(tree, path, "", local=False)]
    imports = [entry for path, tree in trees.items() for entry in _walk_imports(tree, path, modules)]
    return Outline(declarations, imports)


def _walk_declarations(node: ast.AST, path: str, owner: str, *, local: bool) -> Iterator[CompilerDeclaration]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, _DECLARATION_NODES):
            yield from _walk_declarations(child, path, owner, local=local)
            continue
        name = f"{owner}.{child.name}" if owner else child.name
        kind = "class" if isinstance(child, ast.ClassDef) else "function"
        first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
        yield CompilerDeclaration(path, name, kind, child.lineno, first, child.end_lineno or child.lineno, local)
        yield from _walk_declarations(child, path, name, local=local or kind == "function")


def _list_module_names(path: str) -> Iterator[str]:
    """Yield the dotted names under which a file can be imported."""
    for root in _ROOTS:
        if path.startswith(root):
            yield path.removeprefix(root).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _walk_imports(tree: ast.Module, path: str, modules: dict[str, str]) -> Iterator[FileImport]:
    module = next(_list_module_names(path))
    package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and (not node.level or package):
            base = resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module or ""
            names = [base, *(f"{base}.{each.name}" for each in node.names)]  # importing a module also runs its package
        else:
            continue
        for name in names:
            imported_path = modules.get(name)
            if imported_path is not None and imported_path != path:
                yield FileImport(path, node.lineno, imported_path)
