"""Test cases and groups of them that are written as calls: ``describe("pool", () => it("closes idle connections", ...))``.

Nothing refers to such a declaration, and what its block declares has the names that it would have around it.
"""

import re
from operator import attrgetter
from typing import Final

from tree_sitter import Node

from coderag.ingestion.parsing.declaration_records import Declaration
from coderag.ingestion.parsing.trees import trim_end

CASE_KINDS: Final = {
    "case": "function",
    "case.spec": "function",
    "group": "namespace",
    "group.spec": "namespace",
    "call": "",
}
"""Captured kinds of test cases and of groups, and the kinds of their declarations; empty if the callee decides.

Those that end in `_SPEC_SUFFIX` count in a specification only.
"""

_MODIFIERS: Final = (
    rb"(?:\.(?:concurrent|each|failing|fails|fixme|for|only|parallel|runIf|sequential|serial|shuffle|skip|skipIf|slow|todo))*"
    rb"(?:[(`]|$)"
)
_CASE_CALL: Final = re.compile(
    rb"(?:(?:s?t\d?|tt|ctx|context|tap|tape|node[tT]est|Deno|QUnit|test)\.)?[fx]?(?:it|test|specify|bench)" + _MODIFIERS
)
_GROUP_CALL: Final = re.compile(rb"(?:QUnit\.module|(?:\w+\.)?[fx]?(?:describe|context|suite))" + _MODIFIERS)
_TEXTS: Final = frozenset({"string", "template_string", "binary_expression"})
_NAMES: Final = frozenset({"identifier", "member_expression"})  # ``describe(Pool.name, ...)``
_MAX_CALLEE_BYTES: Final = 80
_SPEC_SUFFIX: Final = ".spec"
_SPEC_CLASS: Final = re.compile(rb"class\s+\w+[^{]*?:\s*\w*(?:Spec|Tests?)\b")

_MAX_TITLE_CHARS: Final = 160
_QUOTED: Final = re.compile(r"(\"\"\"|[\"'`])(.*)\1", re.DOTALL)
_ESCAPED_QUOTE: Final = re.compile(r"\\(['\"`])")
_CHAINED_CALLS: Final = frozenset({"call_expression", "member_expression", "member_call_expression"})


def add_case(
    declarations: dict[tuple[int, int], Declaration],
    capture: str,
    nodes: list[Node],
    captures: dict[str, list[Node]],
    data: bytes,
) -> None:
    """Add a test case or a group of test cases to the declarations of a file, by start and end.

    Args:
        capture: Its kind as captured.
        nodes: The nodes that form it, in order.
        captures: Captures of its match.
    """
    kind = CASE_KINDS[capture] or _classify_call(data, captures["callee"][0], captures["name"][0])
    if not kind or (capture.endswith(_SPEC_SUFFIX) and not _is_in_spec(nodes[0], data)):
        return
    parts = sorted(captures["name"], key=attrgetter("start_byte"))
    title = format_title(data, parts)
    if not title:
        return
    start, end = nodes[0].start_byte, trim_end(data, nodes[0].start_byte, _find_last_link(nodes[-1]).end_byte)
    bodies = captures.get("body")
    body = (bodies[0].start_byte, bodies[-1].end_byte) if bodies else None
    declared = Declaration(kind, start, end, [title], start, body, outer_start=start, is_titled=True)
    declarations.setdefault((start, end), declared)


def _classify_call(data: bytes, callee: Node, title: Node) -> str:
    """Return the kind of the declaration that a call in JavaScript or TypeScript stands for; empty if it is none."""
    text = data[callee.start_byte : min(callee.end_byte, callee.start_byte + _MAX_CALLEE_BYTES)]
    if title.type in _TEXTS and _CASE_CALL.match(text):
        return "function"
    return "namespace" if title.type in _TEXTS | _NAMES and _GROUP_CALL.match(text) else ""


def format_title(data: bytes, parts: list[Node]) -> str:
    """Format the parts of a title as one line without quotes: ``Pool #close`` for ``Pool, "#close"``."""
    texts = (_read_part(data, part) for part in parts)
    title = " ".join(" ".join(texts).split())
    return title if len(title) <= _MAX_TITLE_CHARS else f"{title[:_MAX_TITLE_CHARS].rstrip()}…"


def _read_part(data: bytes, part: Node) -> str:
    text = data[part.start_byte : part.end_byte].decode("utf-8", "replace")
    if part.type.startswith("binary") or not (quoted := _QUOTED.fullmatch(text)):
        return text  # an expression may begin and end with a quote, too
    return _ESCAPED_QUOTE.sub(r"\1", quoted[2])


def _is_in_spec(node: Node, data: bytes) -> bool:
    """Return whether the class around a node is a specification, in which any string before a block names a test case."""
    around: Node | None = node
    while around is not None and around.type != "class_declaration":
        around = around.parent
    return around is not None and _SPEC_CLASS.search(data, around.start_byte, node.start_byte) is not None


def _find_last_link(node: Node) -> Node:
    """Return the chain of calls that begins with a test case: ``test("closes", ...).timeout(5)``."""
    while (
        (parent := node.parent) is not None and parent.type in _CHAINED_CALLS and parent.start_byte == node.start_byte
    ):
        node = parent
    return node
