"""Parser of type expressions: ``Optional[list[Foo]]``, ``Map<String, Foo>``, ``&mut Vec<Foo>``, ``[]*pkg.Foo``."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_TYPE_MODIFIERS = re.compile(
    r"^(?:\?\s*(?:extends|super)\s+|[&*?~]|\.\.\.|<-"
    r"|(?:'\w+|mut|const|dyn|impl|ref|readonly|out|in|final|struct|enum|unsafe|async|chan|some|any|inout)\s+|@\w+\s+)+"
)
_QUALIFIED_NAME = re.compile(r"\\?(?!\d)[\w$]+(?:(?:\.|::|\\)(?!\d)[\w$]+)*")
_MEMBER_OF_GENERIC = re.compile(
    r"(?s)^<[^<>]*(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>[^<>]*)*>::(.+)"
)  # C++: ``List<Foo>::Node``
_OPENING_BRACKETS, _CLOSING_BRACKETS = "[<(", "]>)"
_MAX_DEPTH = 6
_NULL_TYPES = frozenset({"None", "null", "undefined", "void", "never", "nil"})


class TypeExpression(NamedTuple):
    """A parsed type.

    Attributes:
        name: Dotted name. Empty for an array or slice, whose only argument is its element type, and for anything without a
            name. For a tuple the source text: ``(A, B)``.
        arguments: Type arguments.
    """

    name: str
    arguments: "tuple[TypeExpression, ...]" = ()


@lru_cache(maxsize=4096)
def parse_type(text: str) -> tuple[TypeExpression, ...]:
    """Return the alternatives of a union type, without null types."""
    return tuple(_parse_alternatives(text, _MAX_DEPTH))


def split_tuple(text: str) -> list[str]:
    """Return the item types of a tuple type."""
    return [part.strip() for part in _split_outside_brackets(text[1:-1], ",")]


def _parse_alternatives(text: str, depth: int) -> Iterator[TypeExpression]:
    if depth:
        for part in _split_outside_brackets(text, "|"):
            alternative = _parse_alternative(part.strip().strip("\"'"), depth)
            if alternative is not None and alternative.name not in _NULL_TYPES:
                yield alternative


def _parse_alternative(text: str, depth: int) -> TypeExpression | None:  # noqa: PLR0911  # one case a form
    text = _TYPE_MODIFIERS.sub("", text.strip())
    if (element_text := _find_element_type(text)) is not None:
        return TypeExpression("", tuple(_parse_alternatives(element_text, depth - 1))[:1])
    operator, _, operand = text.partition(" ")
    if operator in ("typeof", "keyof"):
        return TypeExpression(operator, tuple(_parse_alternatives(operand, depth - 1))[:1])
    name_match = _QUALIFIED_NAME.match(text)
    if name_match is None:
        return _parse_parenthesized(text, depth)
    written_name = name_match[0]
    name = re.sub(r"::|\\", ".", written_name.removeprefix("\\"))
    name = f"\\.{name}" if written_name.startswith("\\") else name  # from the global namespace, in PHP
    arguments_text = text[name_match.end() :].strip().rstrip("?!")
    if arguments_text.startswith(".("):  # a function type with a receiver
        return None
    if arguments_text.startswith("<") and (member := _MEMBER_OF_GENERIC.search(arguments_text)) is not None:
        return _parse_alternative(f"{name}.{member[1]}", depth - 1) if depth else None
    if arguments_text[:1] not in ("[", "<") or arguments_text[-1:] not in ("]", ">"):
        return TypeExpression(name)
    arguments = (
        next(iter(_parse_alternatives(part, depth - 1)), TypeExpression(""))
        for part in _split_outside_brackets(arguments_text[1:-1], ",")
    )
    return TypeExpression(name, tuple(arguments))


def _find_element_type(text: str) -> str | None:
    """Return the element type of an array, a slice or a Go map; None for any other type."""
    if text.startswith("[") and "]" in text:  # []T, [n]T, [T], [T; n]
        if text.endswith(("]", "]?", "]!")) and ": " in (pair := text[1 : text.rindex("]")]):  # a dictionary in Swift
            return list(_split_outside_brackets(pair, ":"))[-1]
        content, _, element_text = text[1:].partition("]")
        return element_text.strip("?!") or content.partition(";")[0]
    if text.startswith("map["):
        return text.partition("]")[2]
    array = text.rstrip("?!").rstrip()
    return array[:-2] if array.endswith("[]") else None


def _parse_parenthesized(text: str, depth: int) -> TypeExpression | None:
    """Return a tuple type, or the single type in parentheses."""
    is_function = "->" in text
    content = text[1:-1] if text.startswith("(") and text.endswith(")") and not is_function else ""
    if len(list(_split_outside_brackets(content, ","))) > 1:
        return TypeExpression(text)
    return next(iter(_parse_alternatives(content, depth - 1)), None) if content else None


def _split_outside_brackets(text: str, separator: str) -> Iterator[str]:
    """Yield the parts of a text between separators that are not in brackets."""
    depth = start = 0
    for position, character in enumerate(text):
        if character in _OPENING_BRACKETS:
            depth += 1
        elif character in _CLOSING_BRACKETS:
            depth -= 1
        elif character == separator and depth <= 0:
            yield text[start:position]
            start = position + 1
    yield text[start:]
