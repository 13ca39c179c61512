"""Masking of C and C++ sources: comments, strings, directives and the bodies of functions become spaces."""

import re
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from coderag.ingestion.parsing.repairs.repair_draft import NESTED_ARGUMENTS, make_blank

ScopeKind = Literal["type", "namespace", "enum", "body"]

# Every alternative begins with a literal: a search skips all other bytes at once.
_HIDDEN: Final = re.compile(
    rb"#(?>[^\n\\/]++|\\\r?\n|\\|/\*(?s:.*?)\*/|//[^\n]*+|/)*+"
    rb"|//(?>[^\n\\]++|\\\r?\n|\\)*+"
    rb"|/\*(?s:.*?)(?:\*/|\Z)"
    rb'|"(?<=R")(?P<fence>[^()\\\s"]{0,16})\('
    rb'|"(?>[^"\\\n]++|\\\r?\n|\\.)*+"'
    rb"|'(?<![0-9a-fA-F]')(?>[^'\\\n]|\\.){1,8}'"
)
_CONDITION: Final = re.compile(rb"#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif|define)\b[ \t]*([^\n]*)")
_MIN_SEARCH: Final = 64
_OPENING, _CLOSING = b"{}"
_SCOPE_KEYWORD: Final = re.compile(rb"class|struct|union|enum|namespace|extern|interface")
_WORD: Final = re.compile(rb"\w+")
_BASES: Final = re.compile(rb"(?<!:):(?!:)|<")
_MAX_HEAD_BYTES: Final = 2000
_ATTRIBUTES: Final = re.compile(rb"\b(?:[A-Z_][A-Z0-9_]*|alignas|__\w+)\s*+" + NESTED_ARGUMENTS + rb"|\[\[[^\]]*\]\]")
_TEMPLATE: Final = re.compile(rb"\btemplate\s*<(?>[^<>;{}]++|<(?>[^<>;{}]++|<[^<>;{}]*+>)*+>)*+>")
_TYPE_HEAD: Final = re.compile(
    rb"(?:^|[^\w])(?:class|struct|union|__interface)\b(?:[^()=]*|[^()=]*?(?<!:):(?!:).*)$", re.DOTALL
)
_ENUM_HEAD: Final = re.compile(rb"(?:^|[^\w])enum\b[^()=]*$")
_NAMESPACE_HEAD: Final = re.compile(rb'(?:^|[^\w])(?:namespace\b[^=]*|extern\s*" *")\s*$')


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive of the preprocessor; offsets are bytes.

    Attributes:
        word: ``if`` for every kind of opening; ``elif``, ``else``, ``endif`` or ``define``.
        condition: The rest of its line.
    """

    word: str
    condition: bytes
    start: int
    end: int


def mask_text(data: bytes) -> tuple[bytes, list[Directive]]:
    """Replace comments, directives and the contents of strings by spaces.

    Returns:
        The masked text, of the same length, in which a string keeps its quotation marks, and the directives in order.
    """
    pieces: list[bytes] = []
    directives: list[Directive] = []
    open_fences: set[bytes] = set()
    end = 0
    while (match := _HIDDEN.search(data, end)) is not None:
        start, text = match.start(), match[0]
        pieces.append(data[end:start])
        end = match.end()
        if match["fence"] is not None:
            end = _find_raw_end(data, end, match["fence"], open_fences)
            text = data[start:end]
        if text[:1] == b"#":
            condition = _CONDITION.match(text)
            if condition is not None:
                directives.append(Directive(_normalize_word(condition[1].decode()), condition[2].strip(), start, end))
            pieces.append(make_blank(text))
        elif text[:1] in b"\"'" and len(text) > 1:
            pieces += (text[:1], make_blank(text[1:-1]), text[-1:])
        else:
            pieces.append(make_blank(text))
    pieces.append(data[end:])
    return b"".join(pieces), directives


def _find_raw_end(data: bytes, offset: int, fence: bytes, open_fences: set[bytes]) -> int:
    """Return the end of a raw string; the given offset if nothing closes it.

    Args:
        open_fences: Fences that nothing closes up to the end of the file; one may be added.
    """
    closing = b")" + fence + b'"'
    position = data.find(closing, offset) if fence not in open_fences else -1
    if position < 0:
        open_fences.add(fence)
        return offset
    return position + len(closing)


def _normalize_word(word: str) -> str:
    return "if" if word in ("if", "ifdef", "ifndef") else "elif" if word.startswith("elif") else word


@dataclass(frozen=True, slots=True)
class Bodies:
    """Byte ranges of outermost bodies, without the braces, in order.

    Attributes:
        functions: Bodies of functions and initializers; nothing is declared in them.
        enums: Bodies of enumerations.
        types: Bodies of classes, structures and unions.
        type_names: Names of all types with a body.
    """

    functions: list[tuple[int, int]]
    enums: list[tuple[int, int]]
    types: list[tuple[int, int]]
    type_names: set[bytes]


def find_bodies(masked: bytes) -> Bodies:
    """Find the bodies of functions, types and enumerations that are not inside another such body.

    Args:
        masked: A masked text in which all branches of conditional compilation are balanced.
    """
    bodies = Bodies([], [], [], set())
    text = np.frombuffer(masked, np.uint8)
    offsets = np.flatnonzero((text == _OPENING) | (text == _CLOSING))
    depths = np.cumsum(np.where(text[offsets] == _OPENING, 1, -1))
    types_end = 0
    index = 0
    while index < len(offsets):
        start = int(offsets[index])
        if masked[start] == _CLOSING:
            index += 1
            continue
        kind, name = _classify_scope(masked, start)
        if kind == "namespace":
            index += 1
            continue
        closing = _find_closing(depths, index)
        end = int(offsets[closing]) if closing < len(offsets) else len(masked)
        if kind == "type":
            bodies.type_names.add(name)
            if start >= types_end:
                bodies.types.append((start + 1, end))
                types_end = end
            index += 1
        else:
            (bodies.functions if kind == "body" else bodies.enums).append((start + 1, end))
            index = closing + 1
    return bodies


def _find_closing(depths: np.ndarray[Any, np.dtype[np.int64]], opening: int) -> int:
    """Return the index of the brace that closes an opening one; the number of braces if none does."""
    start, size = opening + 1, _MIN_SEARCH
    while start < len(depths):
        closing = depths[start : start + size] < depths[opening]
        if (position := int(closing.argmax())) or (len(closing) and closing[0]):
            return start + position
        start, size = start + size, size * 4
    return len(depths)


def _classify_scope(masked: bytes, brace: int) -> tuple[ScopeKind, bytes]:
    """Return the kind of scope that a brace opens, judging by the text before it, and the name of a type."""
    first = max(0, brace - _MAX_HEAD_BYTES)
    first = max(
        first, masked.rfind(b";", first, brace), masked.rfind(b"}", first, brace), masked.rfind(b"{", first, brace)
    )
    if not _SCOPE_KEYWORD.search(masked, first, brace):
        return "body", b""
    head = masked[first:brace].lstrip(b";{}")
    head = _ATTRIBUTES.sub(b" ", _TEMPLATE.sub(b" ", head))
    if _NAMESPACE_HEAD.search(head):
        return "namespace", b""
    if _ENUM_HEAD.search(head):
        return "enum", b""
    if not _TYPE_HEAD.search(head):
        return "body", b""
    words = _WORD.findall(_BASES.split(head, maxsplit=1)[0])
    return "type", next((word for word in reversed(words) if word != b"final"), b"")
