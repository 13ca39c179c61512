"""Chains in grammars whose calls and members are suffixes of a value, with closures after the arguments: Kotlin, Swift."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from tree_sitter import Node

from coderag.ingestion.parsing.source_text import SourceText
from coderag.schema.facts import IMPLIED_OWNER

Chain = tuple[str, int]
"""A chain and the offset of its last name."""

SUFFIX_SHAPES: Final = frozenset({"trailing", "suffixed", "infix", "path", "receiver", "implied", "reference"})
"""Shapes of nodes that this module parses, see `coderag.ingestion.parsing.chains.NodeShape`."""

_NO_CHAIN: Chain = ("", 0)
_ARGUMENT_LISTS: Final = frozenset({"value_arguments"})
_CLOSURES: Final = frozenset({"annotated_lambda", "lambda_literal"})
_CALL_SUFFIXES: Final = frozenset({"call_suffix", "constructor_suffix"})
_COUNTED_CALL: Final = re.compile(r"(.*)/(\d+)\(\)")
_NAME_TYPES: Final = frozenset({"simple_identifier", "type_identifier", "integer_literal"})


def is_continued_call(node: Node) -> bool:
    """Return whether a call is only the first part of a call with a closure."""
    parent = node.parent
    if parent is None or parent.type != node.type or parent.named_children[0] != node:
        return False
    return _has_only_closures(parent.named_children[-1]) and not _has_only_closures(node.named_children[-1])


def _has_only_closures(suffix: Node) -> bool:
    return suffix.type in _CALL_SUFFIXES and not any(part.type in _ARGUMENT_LISTS for part in suffix.named_children)


class SuffixParser:
    """Parses expressions with suffixes.

    Args:
        source: The file's text.
        parse_node: Parses any other expression, to a given depth.
    """

    def __init__(self, source: SourceText, parse_node: Callable[[Node, int], Chain]) -> None:
        self._source = source
        self._parse_node = parse_node

    def parse(self, node: Node, shape: Sequence[str], depth: int) -> Chain:  # noqa: PLR0911  # one case for each shape
        """Parse a node with a shape of `SUFFIX_SHAPES`; return an empty chain if it is no chain."""
        if shape[0] == "trailing":
            return self._parse_call(node, depth)
        if shape[0] == "suffixed":
            return self._parse_member(node, shape[1:], depth)
        if shape[0] == "infix":
            return self._parse_infix_call(node, depth)
        if shape[0] == "path":
            return self._parse_path(node)
        if shape[0] == "receiver":
            return self._parse_receiver(node, shape[1]), node.start_byte
        if shape[0] == "reference":
            return self._parse_reference(node)
        target = node.named_children[-1] if node.named_children else None
        if target is None:
            return _NO_CHAIN
        if node.children[0].type == ".":
            return f"{IMPLIED_OWNER}.{self._source.read_node(target)}", target.start_byte
        return self._parse_node(target, depth - 1)

    def _parse_call(self, node: Node, depth: int) -> Chain:
        """Parse a call or a subscript; closures after the arguments count as arguments."""
        callee = node.named_children[0] if node.named_children else None
        suffix = node.named_children[-1] if callee is not None else node
        if callee is None or suffix.type not in _CALL_SUFFIXES:
            return _NO_CHAIN
        text, offset = self._parse_node(callee, depth - 1)
        if not text or "|" in text:
            return text, offset
        count = 0
        if _has_only_closures(suffix) and (
            call := _COUNTED_CALL.fullmatch(text)
        ):  # ``foo(1) { }`` as a call of ``foo(1)``
            text, count = call[1], int(call[2])
        for part in suffix.named_children:
            if part.type in _ARGUMENT_LISTS:
                if part.children and part.children[0].type == "[":
                    return f"{text}[]", offset
                count += sum(not argument.is_extra for argument in part.named_children)
            elif part.type in _CLOSURES:
                count += 1
        return f"{text}()" if text[-1] in ")]}" else f"{text}/{count}()", offset

    def _parse_member(self, node: Node, neutral_names: Sequence[str], depth: int) -> Chain:
        """Parse a value with member suffixes.

        Args:
            neutral_names: Members that stand for the value itself: ``Foo.self``.
        """
        if not node.named_children:
            return _NO_CHAIN
        text, offset = self._parse_node(node.named_children[0], depth - 1)
        for suffix in node.named_children[1:]:
            if suffix.type == "indexing_suffix":
                text = f"{text}[]" if text and "|" not in text else text
                continue
            if suffix.is_extra or not suffix.children:
                continue
            if suffix.children[-1].type == "class":
                text, offset = "KClass{}", suffix.end_byte
                continue
            name = suffix.named_children[-1] if suffix.named_children else None
            if name is None or name.type not in _NAME_TYPES:
                return _NO_CHAIN
            word = self._source.read_node(name).strip("`")
            if word in neutral_names:
                continue
            is_reference = suffix.children[0].type == "::"
            text = f"{text if text and '|' not in text else '?'}.{word}{'/' if is_reference else ''}"
            offset = name.start_byte
        return text, offset

    def _parse_receiver(self, node: Node, name: str) -> str:
        """Parse ``this@Foo`` as ``Foo.this``, and ``super<Foo>`` as an instance of ``Foo``."""
        owner = next(iter(node.named_children), None)
        if owner is None:
            return name
        if owner.type == "user_type":
            return f"{self._parse_path(owner)[0]}{{}}"
        return f"{self._source.read_node(owner)}.{name}" if name == "this" else name

    def _parse_infix_call(self, node: Node, depth: int) -> Chain:
        """Parse ``a name b`` as a call of a member of ``a``."""
        operands = [child for child in node.named_children if not child.is_extra]
        if len(operands) < 3 or operands[1].type not in _NAME_TYPES:  # two operands and a name
            return _NO_CHAIN
        text = self._parse_node(operands[0], depth - 1)[0]
        owner = text if text and "|" not in text else "?"
        return f"{owner}.{self._source.read_node(operands[1])}/1()", operands[1].start_byte

    def _parse_path(self, node: Node) -> Chain:
        names = [child for child in node.named_children if child.type in _NAME_TYPES]
        if not names:
            return _NO_CHAIN
        return ".".join(self._source.read_node(name).strip("`") for name in names), names[-1].start_byte

    def _parse_reference(self, node: Node) -> Chain:
        """Parse a callable reference: ``::foo`` is the name, ``Foo::bar`` is ``Foo.bar/``, ``Foo::class`` is a class object."""
        names = [child for child in node.named_children if child.type in _NAME_TYPES]
        if not names or node.children[-1].type == "class":
            return ("KClass{}", node.end_byte) if names else _NO_CHAIN
        text = ".".join(self._source.read_node(name).strip("`") for name in names)
        return (text if len(names) == 1 else f"{text}/"), names[-1].start_byte
