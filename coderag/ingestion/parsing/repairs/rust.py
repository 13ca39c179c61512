"""Repair of Rust sources: macro calls around items, whose items are only tokens to the grammar.

``lazy_static! { ... }``, ``cfg_if! { ... }`` and any other macro call become transparent if what they contain is valid Rust.
"""

import re
from typing import Final

from tree_sitter import Parser

from coderag.ingestion.parsing.repairs.draft import make_blank
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
_RAW_STRING_END: Final = re.compile(rb'(?:^|[^\w])b?r(#{0,16})"$')
_BRANCH: Final = re.compile(rb"if\s*+#\[(?>[^\[\]]++|\[[^\[\]]*+\])*+\]\s*+(\{)")
_NEXT_BRANCH: Final = re.compile(rb"\s*+else\s*+(?:if\s*+#\[(?>[^\[\]]++|\[[^\[\]]*+\])*+\]\s*+)?(\{)")
_LAZY_REFERENCE: Final = re.compile(rb"\bstatic\s++(ref)\s")
_MAX_CALL_BYTES: Final = 200_000
_MAX_DEPTH: Final = 3


def repair_rust(data: bytes) -> bytes:
    """Repair a source text in Rust."""
    for _ in range(_MAX_DEPTH):
        repaired = bytearray(data)
        for call in _CALL.finditer(data):
            _unwrap_call(repaired, call)
        if repaired == data:
            break
        data = bytes(repaired)
    return data


def _unwrap_call(repaired: bytearray, call: re.Match[bytes]) -> None:
    """Erase a macro call around items, if these are valid without it."""
    start, opening = call.span(1)[0], call.end() - 1
    if b"quote" in call[2]:
        return  # code that is generated elsewhere
    if call[2] == b"cfg_if":
        branches = _find_branches(repaired, opening + 1)
    elif _ITEM.match(repaired, opening + 1):
        closing = find_closing_brace(repaired, opening)
        branches = [(opening, closing)] if closing is not None else []
    else:
        return
    if not branches:
        return
    end = find_closing_brace(repaired, opening) if call[2] == b"cfg_if" else branches[0][1]
    if end is None:
        return
    text = bytearray(make_blank(repaired[start : end + 1]))
    if repaired[opening - 1 : opening] == b" ":  # the call stays, without its contents
        text[: opening - start + 1] = repaired[start : opening - 1] + b"{}"
    for first, last in branches:
        text[first + 1 - start : last - start] = repaired[first + 1 : last]
    for reference in _LAZY_REFERENCE.finditer(text):
        text[slice(*reference.span(1))] = b"   "
    if not Parser(load_grammar("rust")).parse(bytes(text)).root_node.has_error:
        repaired[start : end + 1] = text


def _find_branches(data: bytearray, offset: int) -> list[tuple[int, int]]:
    """Return the braces of each branch of ``cfg_if!``: ``if #[cfg(unix)] { ... } else { ... }``."""
    branches = []
    match = _BRANCH.match(data, offset + len(data[offset : offset + 200]) - len(data[offset : offset + 200].lstrip()))
    while match is not None:
        closing = find_closing_brace(data, match.start(1))
        if closing is None:
            return []
        branches.append((match.start(1), closing))
        match = _NEXT_BRANCH.match(data, closing + 1)
    return branches


def find_closing_brace(data: bytes | bytearray, opening: int) -> int | None:
    """Return the offset of the brace that closes an opening one; None if there is none near."""
    depth, offset = 0, opening
    limit = min(len(data), opening + _MAX_CALL_BYTES)
    while (match := _TOKEN.search(data, offset, limit)) is not None:
        offset = match.end()
        token = match[0]
        if token == b'"':  # a raw string
            raw = _RAW_STRING_END.search(data[max(0, offset - 20) : offset])
            if raw is None:
                return None
            end = data.find(b'"' + raw[1], offset, limit)
            if end < 0:
                return None
            offset = end + 1 + len(raw[1])
        elif token == b"{":
            depth += 1
        elif token == b"}":
            depth -= 1
            if not depth:
                return match.start()
    return None
