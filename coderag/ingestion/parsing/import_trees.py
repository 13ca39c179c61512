"""Imports written as a tree of paths: ``use a::{self, b::{C as D, *}};`` in Rust."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tree_sitter import Node


class Leaf(NamedTuple):
    """One name that a tree of paths brings.

    Attributes:
        module: Path of what it is taken from, dotted.
        name: What is taken; ``*`` for all, empty for the module itself.
        alias: Its name here; empty if that is `name`.
    """

    module: str
    name: str
    alias: str
    line: int


def leaves(tree: Node, around: Sequence[str]) -> Iterator[Leaf]:
    """Yield what a tree of paths brings.

    Args:
        around: Names of the modules around it in its file; paths that lead out of them are made to begin at the file's own
            module: in one of them ``super::x`` is ``self.x``.
    """
    for path, alias, line in _paths(tree, ()):
        parts = from_file(path[:-1] if path[-1] == "self" and len(path) > 1 else path, around)
        if len(parts) == 1:
            yield Leaf(parts[0], "", alias or parts[0], line)
        else:
            yield Leaf(".".join(parts[:-1]), parts[-1], alias, line)


def from_file(path: Sequence[str], around: Sequence[str]) -> Sequence[str]:
    """Return a path that begins with ``self`` or ``super`` as seen from the file's own module."""
    steps = next((position for position, part in enumerate(path) if part != "super"), len(path))
    if path[0] == "self":
        return ["self", *around, *path[1:]]
    if not steps:
        return path
    if steps > len(around):
        return ["super"] * (steps - len(around)) + list(path[steps:])
    return ["self", *around[: len(around) - steps], *path[steps:]]


def _paths(node: Node, before: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str, int]]:
    """Yield each path of a tree with its alias and line."""
    line, kind = node.end_point[0] + 1, node.type
    if kind == "use_as_clause":
        path, alias = node.child_by_field_name("path"), node.child_by_field_name("alias")
        if path is not None and alias is not None:
            yield (*before, *_parts(path)), _text(alias), line
    elif kind == "scoped_use_list":
        path, inner = node.child_by_field_name("path"), node.child_by_field_name("list")
        if inner is not None:
            yield from _paths(inner, (*before, *(_parts(path) if path is not None else ())))
    elif kind == "use_list":
        for child in node.named_children:
            yield from _paths(child, before)
    elif kind == "use_wildcard":
        inside = [part for child in node.named_children[:1] for part in _parts(child)]
        yield (*before, *inside, "*"), "", line
    elif parts := _parts(node):
        yield (*before, *parts), "", line


def _parts(node: Node) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, _text(node).split("::"))))


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
