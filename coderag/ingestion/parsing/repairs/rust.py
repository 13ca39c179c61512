"""Repair of Rust sources: macro calls around items, whose items are only tokens to the grammar.

``lazy_static! { ... }``, ``cfg_if! { ... }`` and any other macro call become transparent if what they contain is valid Rust.
"""

import re
from collections.abc import Mapping
from typing import Final

from tree_sitter import Parser

from coderag.ingestion.parsing.repairs.repair_draft import make_blank
from coderag.ingestion.parsing.trees import load_grammar

_CALL: Final = re.compile(rb"^[ \t]*+((?:\w+::)*+(\w+)!\s*+\{)", re.MULTILINE)
_ITEM: Final = re.compile(
    rb"(?>\s++|//[^\n]*+|/\*(?s:.*?)\*/|#!?\[(?>[^\[\]]++|\[[^\[\]]*+\])*+\])*+"
    rb"(?:(?:pub|fn|struct|enum|union|trait|impl|mod|type|const|static|use|extern)\b(?!\s*+[{|])|macro_rules!"
    rb"|async\s++(?:unsafe\s++)?fn\b|unsafe\s++(?:fn|impl|trait|extern)\b)"
)
_TOKEN: Final = re.compile(
    rb"//[^\n]*+|/\*(?s:.*?)\*/"
    rb'|"(?:(?<=[r#]")|(?>[^"\\]++|\\(?s:.))*+")'
    rb"|'(?:[^\\'\n]|\\(?:u\{[^}\n]{1,8}\}|x..|.))'"
    rb"|\{|\}"
)
_RAW_STRING_START: Final = re.compile(rb'(?:^|[^\w])b?r(#{0,16})"$')
_BRANCH: Final = re.compile(rb"\s*+if\s*+#\[(?>[^\[\]]++|\[[^\[\]]*+\])*+\]\s*+(\{)")
_NEXT_BRANCH: Final = re.compile(rb"\s*+else\s*+(?:if\s*+#\[(?>[^\[\]]++|\[[^\[\]]*+\])*+\]\s*+)?(\{)")
_LAZY_REFERENCE: Final = re.compile(rb"\bstatic\s++(ref)\s")
_MAX_CALL_BYTES: Final = 200_000
_MAX_DEPTH: Final = 3
_MAX_FENCE_BYTES: Final = 20


def repair_rust(data: bytes) -> bytes:
    """Repair a source text in Rust."""
    for _ in range(_MAX_DEPTH):
        calls = list(_CALL.finditer(data))
        if not calls:
            break
        closings = match_braces(data)
        repaired = bytearray(data)
        end = 0
        for call in calls:
            if call.start() >= end:  # calls inside another one are the next round's
                end = max(end, _unwrap_call(repaired, call, closings))
        if repaired == data:
            break
        data = bytes(repaired)
    return data


def _unwrap_call(repaired: bytearray, call: re.Match[bytes], closings: Mapping[int, int]) -> int:
    """Erase a macro call around items, if these are valid without it; return its end, or 0 if it is none."""
    start, opening = call.start(1), call.end() - 1
    end = closings.get(opening, 0)
    if not end or end - start > _MAX_CALL_BYTES or b"quote" in call[2]:  # code that is generated elsewhere
        return 0
    if call[2] == b"cfg_if":
        branches = _find_branches(repaired, opening + 1, closings)
    else:
        branches = [(opening, end)] if _ITEM.match(repaired, opening + 1) else []
    if not branches:
        return 0
    text = bytearray(make_blank(repaired[start : end + 1]))
    if repaired[opening - 1 : opening] == b" ":  # the call stays, without its contents
        text[: opening - start + 1] = repaired[start : opening - 1] + b"{}"
    for first, last in branches:
        text[first + 1 - start : last - start] = repaired[first + 1 : last]
    for reference in _LAZY_REFERENCE.finditer(text):
        text[slice(*reference.span(1))] = b"   "
    if not Parser(load_grammar("rust")).parse(bytes(text)).root_node.has_error:
        repaired[start : end + 1] = text
    return end


def _find_branches(data: bytearray, offset: int, closings: Mapping[int, int]) -> list[tuple[int, int]]:
    """Return the braces of each branch of ``cfg_if!``: ``if #[cfg(unix)] { ... } else { ... }``."""
    branches = []
    match = _BRANCH.match(data, offset)
    while match is not None:
        opening = match.start(1)
        closing = closings.get(opening)
        if closing is None:
            return []
        branches.append((opening, closing))
        match = _NEXT_BRANCH.match(data, closing + 1)
    return branches


def match_braces(data: bytes) -> dict[int, int]:
    """Return the offset of the closing brace of each opening one, without braces in comments, strings and characters."""
    closings: dict[int, int] = {}
    openings: list[int] = []
    offset = 0
    while (match := _TOKEN.search(data, offset)) is not None:
        offset = match.end()
        token = match[0]
        if token == b'"':  # a raw string, or one without an end
            raw = _RAW_STRING_START.search(data[max(0, offset - _MAX_FENCE_BYTES) : offset])
            end = data.find(b'"' + raw[1], offset) if raw is not None else -1
            if end < 0:
                break
            offset = end + 1 + len(raw[1] if raw is not None else b"")
        elif token == b"{":
            openings.append(match.start())
        elif token == b"}" and openings:
            closings[openings.pop()] = match.start()
    return closings
