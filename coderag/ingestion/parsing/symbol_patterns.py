"""Symbols found by regular expressions: for languages without a query, and for broken files."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from tree_sitter import Node

from coderag.ingestion.parsing.declaration_records import CALLABLE
from coderag.ingestion.parsing.languages import Language
from coderag.schema.chunks import SymbolRecord
from coderag.schema.vocabulary import Kind

_KEYWORDS: Final[dict[Kind, str]] = {
    "class": "class object actor record defmodule contract",
    "interface": "interface protocol defprotocol service",
    "trait": "trait",
    "struct": "struct message resource table view",
    "enum": "enum",
    "union": "union",
    "impl": "impl extension instance defimpl",
    "namespace": "module namespace package mod",
    "type_alias": "type typealias newtype data",
    "function": "fun func fn function def defp sub proc procedure subroutine rpc defn defn- defun define @test",
    "macro": "macro defmacro defmacrop",
    "constant": "given",
}
_KINDS = {keyword: kind for kind, keywords in _KEYWORDS.items() for keyword in keywords.split()}
_MODIFIERS = (
    "export public private protected internal fileprivate open static async final abstract override local inline data "
    "sealed implicit lazy case suspend operator infix tailrec inner companion enum annotation value fun mutating "
    "nonmutating indirect convenience required unsafe extern comptime noinline external actual expect default virtual "
    "partial create or replace"
)
_KEYWORD = "|".join(re.escape(keyword) for keyword in sorted(_KINDS, key=len, reverse=True))
_DECLARATION = (
    rf"^([ \t]*\(?)(?:(?:@[\w.]+(?:\([^\n)]*\))?|pub(?:\([a-z]+\))?|{_MODIFIERS.replace(' ', '|')})[ \t]+)*"
    rf"({_KEYWORD})[ \t]+(?:<[^>\n]*>[ \t]*|\([^)\n]*\)[ \t]*)?[\"']?([\w$.:?!*'+-]*\w[?!']*)"
).encode()
_DECLARATION_PATTERN = re.compile(_DECLARATION, re.MULTILINE)
_CASELESS_DECLARATION_PATTERN = re.compile(_DECLARATION, re.MULTILINE | re.IGNORECASE)
_CASELESS_LANGUAGES = frozenset({"sql", "fortran", "pascal", "vhdl"})

_SHELL_FUNCTION = re.compile(rb"^[ \t]*(?:function[ \t]+)?([\w:.-]+)[ \t]*\(\)()", re.MULTILINE)
_SIGNATURE = re.compile(rb"^([a-z_][\w']*)[ \t]*::()", re.MULTILINE)
_ASSIGNMENT = re.compile(
    rb"^[ \t]*(?:local[ \t]+|(?:pub[ \t]+)?const[ \t]+)?([\w.:]+)[ \t]*=[ \t]*"
    rb"(?:packed[ \t]+|extern[ \t]+)?(function|struct|enum|union)\b",
    re.MULTILINE,
)
_FURTHER_PATTERNS = {
    "shell": _SHELL_FUNCTION, "groovy": _SHELL_FUNCTION, "haskell": _SIGNATURE, "purescript": _SIGNATURE,
    "elm": _SIGNATURE, "lua": _ASSIGNMENT, "luau": _ASSIGNMENT, "zig": _ASSIGNMENT,
}  # fmt: skip

_NON_NAMES = frozenset(
    {
        "if",
        "for",
        "of",
        "in",
        "is",
        "as",
        "the",
        "to",
        "and",
        "a",
        "from",
        "that",
        "with",
        "where",
        "instance",
        "family",
    }
)
_SCOPE = re.compile(r"[.:]+")
_MAX_DEPTH = 60


def find_symbols(data: bytes, starts: Sequence[int], language: Language, root: Node | None) -> list[SymbolRecord]:
    """Return the likely declarations of a file, in order.

    Args:
        root: Root of its tree, if there is one; determines where declarations end and how they nest. Without a tree, every
            declaration is one line long.
    """
    matches_by_line: dict[int, tuple[str, Kind]] = {}  # by line
    for offset, name, kind in _find_matches(data, language.name):
        if name not in _NON_NAMES:
            matches_by_line.setdefault(bisect_right(starts, offset) - 1, (name, kind))
    records: list[SymbolRecord] = []
    open_symbols: list[SymbolRecord] = []
    for line, (name, kind) in sorted(matches_by_line.items()):
        while open_symbols and open_symbols[-1]["end_line"] <= line:
            open_symbols.pop()
        end = line if root is None else _find_end_line(root, data, starts, line)
        record = _make_record(name, kind, line + 1, end + 1, open_symbols[-1] if open_symbols else None)
        records.append(record)
        if end > line and len(open_symbols) < _MAX_DEPTH:
            open_symbols.append(record)
    return records


def _find_matches(data: bytes, language: str) -> Iterator[tuple[int, str, Kind]]:
    """Yield offset, name and kind of each match."""
    for match in (_CASELESS_DECLARATION_PATTERN if language in _CASELESS_LANGUAGES else _DECLARATION_PATTERN).finditer(
        data
    ):
        yield match.start(2), match[3].decode("utf-8", "replace"), _KINDS[match[2].decode().lower()]
    if (further := _FURTHER_PATTERNS.get(language)) is not None:
        for match in further.finditer(data):
            yield match.start(1), match[1].decode("utf-8", "replace"), _KINDS.get(match[2].decode(), "function")


def _make_record(name: str, kind: Kind, start_line: int, end_line: int, outer: SymbolRecord | None) -> SymbolRecord:
    if kind == "function" and outer is not None and outer["kind"] not in CALLABLE | {"namespace", "macro"}:
        kind = "method"
    return {
        "name": name if kind == "namespace" else _SCOPE.split(name)[-1],
        "qualified_name": f"{outer['qualified_name']}.{name}" if outer is not None else name,
        "kind": kind,
        "start_line": start_line,
        "end_line": end_line,
    }


def _find_end_line(root: Node, data: bytes, starts: Sequence[int], line: int) -> int:
    """Return the last line (0-based) of the smallest node that begins with the text of a line and covers it."""
    text = data[starts[line] : starts[line + 1]]
    start = starts[line] + len(text) - len(text.lstrip())
    node = root.descendant_for_byte_range(start, max(start, starts[line] + len(text.rstrip()) - 1))
    if node is None or node.start_byte < start:
        return line
    return bisect_right(starts, max(start, node.end_byte - 1)) - 1
