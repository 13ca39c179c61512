"""Parts of the syntax of Elixir: arguments, keywords and spans of nodes."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from tree_sitter import Node

Span = tuple[int, int]
"""Start and end of a node, in bytes."""


def get_span(node: Node) -> Span:
    """Return the start and end of a node."""
    return node.start_byte, node.end_byte


def get_arguments(node: Node) -> Node | None:
    """Return the arguments of a call; None without any."""
    return next((child for child in node.children if child.type == "arguments"), None)


def count_arguments(node: Node) -> int:
    """Return the number of arguments in a list of them; a block is one."""
    if node.type == "do_block":
        return 1
    return sum(not child.is_extra for child in node.named_children)


def iterate_pairs(node: Node) -> Iterator[Node]:
    """Yield the pairs of the keywords in a node."""
    for child in node.named_children:
        if child.type == "pair":
            yield child
        elif child.type == "keywords":
            yield from child.named_children


def get_operator(node: Node) -> str:
    """Return the operator of a node; empty without one."""
    operator = node.child_by_field_name("operator")
    return "" if operator is None else operator.type


def iterate_type_names(root: Node | None) -> Iterator[tuple[Node, Node]]:
    """Yield the names of types in a type expression: ``t`` and ``User`` of ``{:ok, name :: User.t()}`` among them.

    Each comes as the node that has the name, and the name.
    """
    pending = [] if root is None else [root]
    while pending:
        node = pending.pop()
        if node.type == "binary_operator" and get_operator(node) == "::":
            pending += [child for child in [node.child_by_field_name("right")] if child is not None]
            continue
        target = node.child_by_field_name("target") if node.type == "call" else node
        if node.type == "call":
            arguments = get_arguments(node)
            pending += arguments.named_children if arguments is not None else []
        if target is not None and target.type in ("identifier", "dot", "alias"):
            yield node, target
            owner = target.child_by_field_name("left") if target.type == "dot" else None
            pending += [owner] if owner is not None and owner.type == "alias" else []
        if node.type not in ("call", "dot", "alias", "identifier"):
            pending += node.named_children


def build_containment_test(spans: Sequence[Span]) -> Callable[[int], bool]:
    """Return a test of whether an offset is in one of some spans."""
    merged: list[list[int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    starts = [start for start, _ in merged]

    def is_inside(offset: int) -> bool:
        position = bisect_right(starts, offset) - 1
        return position >= 0 and offset < merged[position][1]

    return is_inside
