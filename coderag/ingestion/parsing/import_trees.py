"""Imports as trees of paths: ``use a::{self, b::{C as D}};`` in Rust, ``import a.{B, C as D, *}`` in Scala, groups in PHP."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tree_sitter import Node


class ImportLeaf(NamedTuple):
    """A name imported by a tree of paths.

    Attributes:
        module: Dotted path of the module that the name is imported from.
        name: Imported name; ``*`` for all names, empty for the module itself.
        alias: Local name; empty if it is `name`.
    """

    module: str
    name: str
    alias: str
    line: int


def flatten_import_tree(tree: Node, enclosing_modules: Sequence[str]) -> Iterator[ImportLeaf]:
    """Yield the imports of a tree of paths.

    Args:
        enclosing_modules: Names of the modules around it in its file. Paths that leave them are rewritten to begin at the
            file's own module: one level deep, ``super::x`` is ``self.x``.
    """
    if tree.type == "namespace_use_declaration":
        yield from _flatten_namespace_uses(tree)
        return
    for path, alias, line in _walk_paths(tree, ()):
        parts = resolve_relative_path(path[:-1] if path[-1] == "self" and len(path) > 1 else path, enclosing_modules)
        if len(parts) == 1:
            yield ImportLeaf(parts[0], "", alias or parts[0], line)
        else:
            yield ImportLeaf(".".join(parts[:-1]), parts[-1], alias, line)


def flatten_import_selectors(declaration: Node) -> Iterator[ImportLeaf]:
    """Yield the imports of a declaration with paths and selectors, which commas separate."""
    path: list[str] = []
    for child in [*declaration.children, None]:
        kind = "," if child is None else child.type
        if kind == "," or child is None:
            if len(path) > 1:
                yield ImportLeaf(".".join(path[:-1]), path[-1], "", declaration.start_point[0] + 1)
            path = []
        elif kind in ("identifier", "operator_identifier"):
            path.append(_read_text(child).strip("`"))
        elif child.is_named and path:
            for selector in child.named_children if kind == "namespace_selectors" else [child]:
                if leaf := _read_selector(selector, ".".join(path)):
                    yield leaf
            path = []


def _read_selector(selector: Node, module: str) -> ImportLeaf | None:
    line = selector.start_point[0] + 1
    if selector.type == "namespace_wildcard":
        return None if _read_text(selector).startswith("given") else ImportLeaf(module, "*", "", line)
    name, alias = selector.child_by_field_name("name"), selector.child_by_field_name("alias")
    if alias is not None and alias.type == "wildcard":  # the name is left out
        return None
    if name is None or alias is None:
        return ImportLeaf(module, _read_text(selector).strip("`"), "", line) if selector.type == "identifier" else None
    return ImportLeaf(module, _read_text(name).strip("`"), _read_text(alias).strip("`"), line)


def resolve_relative_path(path: Sequence[str], enclosing_modules: Sequence[str]) -> Sequence[str]:
    """Rewrite a path that begins with ``self`` or ``super`` as seen from the file's own module."""
    steps = next((position for position, part in enumerate(path) if part != "super"), len(path))
    if path[0] == "self":
        return ["self", *enclosing_modules, *path[1:]]
    if not steps:
        return path
    if steps > len(enclosing_modules):
        return ["super"] * (steps - len(enclosing_modules)) + list(path[steps:])
    return ["self", *enclosing_modules[: len(enclosing_modules) - steps], *path[steps:]]


def _walk_paths(node: Node, prefix: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str, int]]:
    """Yield each path of a tree with its alias and line."""
    line, kind = node.end_point[0] + 1, node.type
    if kind == "use_as_clause":
        path, alias = node.child_by_field_name("path"), node.child_by_field_name("alias")
        if path is not None and alias is not None:
            yield (*prefix, *_split_path(path)), _read_text(alias), line
    elif kind == "scoped_use_list":
        path, inner = node.child_by_field_name("path"), node.child_by_field_name("list")
        if inner is not None:
            yield from _walk_paths(inner, (*prefix, *(_split_path(path) if path is not None else ())))
    elif kind == "use_list":
        for child in node.named_children:
            yield from _walk_paths(child, prefix)
    elif kind == "use_wildcard":
        parents = [part for child in node.named_children[:1] for part in _split_path(child)]
        yield (*prefix, *parents, "*"), "", line
    elif parts := _split_path(node):
        yield (*prefix, *parts), "", line


def _flatten_namespace_uses(declaration: Node) -> Iterator[ImportLeaf]:
    """Yield the imports of ``use`` in PHP: qualified names of classes, functions, constants or namespaces."""
    body = declaration.child_by_field_name("body")
    prefix = next((_read_text(child) for child in declaration.named_children if child.type == "namespace_name"), "")
    for clause in (body or declaration).named_children:
        if clause.type == "namespace_use_clause":
            name, alias = clause.named_children[0], clause.child_by_field_name("alias")
            path = "\\".join(filter(None, (prefix, _read_text(name).strip("\\"))))
            local_name = path.rpartition("\\")[2] if alias is None else _read_text(alias)
            yield ImportLeaf(path, "", local_name, clause.end_point[0] + 1)


def _split_path(node: Node) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, _read_text(node).split("::"))))


def _read_text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
