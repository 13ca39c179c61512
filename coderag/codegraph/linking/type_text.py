"""Types as written, taken apart: ``Optional[list[Foo]]``, ``Map<String, Foo>``, ``&mut Vec<Foo>``, ``[]*pkg.Foo``."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_LEADING = re.compile(
    r"^(?:\?\s*(?:extends|super)\s+|[&*?~]|\.\.\.|<-"
    r"|(?:'\w+|mut|const|dyn|impl|ref|readonly|out|in|final|struct|enum|unsafe|async|chan)\s+)+"
)
_HEAD = re.compile(r"(?!\d)[\w$]+(?:(?:\.|::|\\)(?!\d)[\w$]+)*")
_OPENING, _CLOSING = "[<(", "]>)"
_DEEPEST = 6
_NOTHING = frozenset({"None", "null", "undefined", "void", "never", "nil"})


class TypeText(NamedTuple):
    """A type taken apart.

    Attributes:
        name: Dotted; empty for an array or slice, whose element is its only argument, and for what is no name; for a tuple,
            all of it as written: ``(A, B)``.
        arguments: Its type arguments.
    """

    name: str
    arguments: "tuple[TypeText, ...]" = ()


@lru_cache(maxsize=4096)
def parse_type(text: str) -> tuple[TypeText, ...]:
    """Return the alternatives of a type, nothing and null left out."""
    return tuple(_alternatives(text, _DEEPEST))


def tuple_parts(text: str) -> list[str]:
    """Return the types in a tuple of types."""
    return [part.strip() for part in _split(text[1:-1], ",")]


def _alternatives(text: str, depth: int) -> Iterator[TypeText]:
    if depth:
        for part in _split(text, "|"):
            found = _one(part.strip().strip("\"'"), depth)
            if found is not None and found.name not in _NOTHING:
                yield found


def _one(text: str, depth: int) -> TypeText | None:
    text = _LEADING.sub("", text.strip())
    if (element := _element(text)) is not None:
        return TypeText("", tuple(_alternatives(element, depth - 1))[:1])
    operator, _, operand = text.partition(" ")
    if operator in ("typeof", "keyof"):
        return TypeText(operator, tuple(_alternatives(operand, depth - 1))[:1])
    head = _HEAD.match(text)
    if head is None:
        return _bracketed(text, depth)
    name, rest = re.sub(r"::|\\", ".", head[0]), text[head.end() :].strip().rstrip("?!")
    if rest[:1] not in ("[", "<") or rest[-1:] not in ("]", ">"):
        return TypeText(name)
    parts = (next(iter(_alternatives(part, depth - 1)), TypeText("")) for part in _split(rest[1:-1], ","))
    return TypeText(name, tuple(parts))


def _element(text: str) -> str | None:
    """Return the type of the elements of an array, a slice or a map of Go; None for any other type."""
    if text.startswith("[") and "]" in text:  # []T, [n]T, [T], [T; n]
        inside, _, after = text[1:].partition("]")
        return after or inside.partition(";")[0]
    if text.startswith("map["):
        return text.partition("]")[2]
    array = text.rstrip("?!").rstrip()
    return array[:-2] if array.endswith("[]") else None


def _bracketed(text: str, depth: int) -> TypeText | None:
    """Return a tuple, or the type that stands alone in brackets."""
    inner = text[1:-1] if text.startswith("(") and text.endswith(")") else ""
    if len(list(_split(inner, ","))) > 1:
        return TypeText(text)
    return next(iter(_alternatives(inner, depth - 1)), None) if inner else None


def _split(text: str, separator: str) -> Iterator[str]:
    """Yield what stands between separators that are in no brackets."""
    depth = start = 0
    for position, character in enumerate(text):
        if character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif character == separator and depth <= 0:
            yield text[start:position]
            start = position + 1
    yield text[start:]
