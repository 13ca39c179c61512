"""Block layout of files whose language has no query, and of files that do not parse.

With a grammar, a file is split top-down at the nodes of its tree, and small neighbours are merged. Without a grammar, it is
split at blank lines and at lines that look like declarations.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from tree_sitter import Node

from coderag.ingestion.parsing.doc_comments import format_signature
from coderag.ingestion.parsing.languages import Language
from coderag.ingestion.parsing.sections import DOCUMENT_LANGUAGES, list_section_symbols
from coderag.ingestion.parsing.spans import Span
from coderag.ingestion.parsing.splitting import find_lines_after_blank, split_lines
from coderag.ingestion.parsing.strategies import LineRange, Strategy
from coderag.ingestion.parsing.symbol_patterns import find_symbols
from coderag.ingestion.parsing.trees import SyntaxUnusableError, parse
from coderag.schema.chunks import SymbolRecord
from coderag.text.token_counts import is_over_limit

MAX_BLOCK_TOKENS = 350
"""Neighbouring nodes are merged up to this size (1,200 bytes, about as much, gave the best retrieval of the sizes tried)."""

_MAX_BLOCK_BYTES = 1200
_MAX_SPLIT_DEPTH = 60
_HEADER_DEPTH = 3  # nodes above this depth keep their first lines with their body when split

_BRANCHES = re.compile(
    rb"\b(?:if|elif|elsif|elseif|unless|for|foreach|while|until|case|when|catch|except|rescue|guard)\b|&&|\|\|"
)


def lay_out_blocks(
    data: bytes,
    starts: Sequence[int],
    language: Language,
    strategy: Strategy,
    *,
    timeout_s: float | None,
    use_tree: bool = True,
) -> tuple[list[Span], str]:
    """Split a file into blocks.

    Args:
        strategy: Splits the file, or leaves that to this module; holds the limits.
        use_tree: False for a file whose tree is known to be useless.

    Returns:
        The blocks, and a note on the problem of the file (empty if there is none).
    """
    last = len(starts) - 1
    max_tokens = strategy.max_chunk_tokens
    note = ""
    root = None
    if language.grammar and use_tree and not language.query:
        try:
            root = parse(data, language, timeout_s=timeout_s).root_node
        except SyntaxUnusableError as error:
            note = f"{error}; cut by lines"
        else:
            note = f"syntax error, as the grammar of {language.name} has it" if root.has_error else ""
    is_code = language.code or (bool(language.grammar) and not language.data)
    if language.name in DOCUMENT_LANGUAGES:
        symbols = list_section_symbols(data, starts, language.name)
    else:
        symbols = find_symbols(data, starts, language, root) if is_code else []
    ranges = strategy.cut(data, starts, root)
    if root is not None and not ranges:
        ranges = [LineRange(*lines) for lines in pairwise([0, *_find_cut_lines(root, starts, max_tokens), last])]
    if ranges:
        spans = [
            (start, end, max(start, min(end, starts[lines.last - lines.overlap])))
            for lines in ranges
            for start, end in _split_to_fit(data, starts, lines, max_tokens)
        ]
    else:
        limit = min(max_tokens, MAX_BLOCK_TOKENS * 2)
        cuts = sorted(
            {
                *find_lines_after_blank(data, starts, 0, last),
                *(symbol["start_line"] - 1 for symbol in symbols if symbol["start_line"] > 1),
            }
        )
        spans = [(*span, span[1]) for span in split_lines(data, starts, 0, last, cuts=cuts, max_tokens=limit)]
    return _name_blocks(data, starts, spans, symbols, is_code=is_code), note


def _split_to_fit(data: bytes, starts: Sequence[int], lines: LineRange, max_tokens: int) -> list[tuple[int, int]]:
    """Return the byte range of a line range, or of its parts if it exceeds the limit."""
    span = (starts[lines.first], starts[lines.last])
    if not is_over_limit(data[slice(*span)], max_tokens):
        return [span]
    return split_lines(data, starts, lines.first, lines.last, cuts=(), max_tokens=max_tokens)


def _name_blocks(
    data: bytes,
    starts: Sequence[int],
    spans: Sequence[tuple[int, int, int]],
    symbols: Sequence[SymbolRecord],
    *,
    is_code: bool,
) -> list[Span]:
    """Name each block after the first symbol in it, and set its parent to the symbol around it.

    Args:
        spans: Start and end of each block in bytes, and the offset where the next block begins. Symbols from there on
            belong to the next block.
    """
    blocks: list[Span] = []
    open_symbols: list[SymbolRecord] = []
    index = 0
    for start, end, own_end in spans:
        block = Span(start, end)
        if is_code:
            block.complexity = 1 + len(_BRANCHES.findall(data, start, own_end))
        line = bisect_right(starts, start)
        while open_symbols and open_symbols[-1]["end_line"] < line:
            open_symbols.pop()
        enclosing = open_symbols[-1] if open_symbols else None
        while index < len(symbols) and starts[symbols[index]["start_line"] - 1] < own_end:
            symbol = symbols[index]
            while open_symbols and open_symbols[-1]["end_line"] <= symbol["start_line"]:
                open_symbols.pop()
            if not block.symbols:
                block.kind = "section" if symbol["kind"] == "section" else block.kind
                enclosing = open_symbols[-1] if open_symbols else None
                block.name, block.qualified_name = symbol["name"], symbol["qualified_name"]
                block.signature = _format_header(data, starts, symbol)
            block.symbols.append(symbol)
            open_symbols.append(symbol)
            index += 1
        if enclosing is not None:
            block.parent, block.context = enclosing["qualified_name"], _format_header(data, starts, enclosing)
        blocks.append(block)
    return blocks


def _format_header(data: bytes, starts: Sequence[int], symbol: SymbolRecord) -> str:
    line = symbol["start_line"]
    return format_signature(data[starts[line - 1] : starts[line]].decode("utf-8", "replace").rstrip("{ \r\n"))


def _find_cut_lines(root: Node, starts: Sequence[int], max_tokens: int) -> list[int]:
    """Return the lines at which to cut a tree. Nodes larger than a block are split, small neighbours stay together."""
    size = min(_MAX_BLOCK_BYTES, 3 * max_tokens)
    ranges: list[tuple[int, int, bool]] = []  # start, end, whether it starts a block
    _split_node(root, size, 0, ranges)
    cuts: list[int] = []
    begin = 0
    for start, end, starts_block in ranges:
        if starts_block or end - begin > size:
            line = bisect_right(starts, start) - 1
            if line > (cuts[-1] if cuts else 0) and line < len(starts) - 1:
                cuts.append(line)
            begin = start
    return cuts


def _split_node(node: Node, size: int, depth: int, ranges: list[tuple[int, int, bool]]) -> None:
    """Append the byte ranges of a node in order. The depth limit bounds the recursion."""
    children = node.children if depth <= _MAX_SPLIT_DEPTH else []
    if not children:
        ranges.append((node.start_byte, node.end_byte, False))
        return
    start = end = -1
    for child in children:
        first, last = child.start_byte, child.end_byte
        if last - first > size:
            if start >= 0:
                ranges.append((start, end, False))
                start = -1
            position = len(ranges)
            _split_node(child, size, depth + 1, ranges)
            if depth < _HEADER_DEPTH and child.is_named:
                ranges[position] = (*ranges[position][:2], True)
        elif start < 0:
            start, end = first, last
        elif last - start > size:
            ranges.append((start, end, False))
            start, end = first, last
        else:
            end = last
    if start >= 0:
        ranges.append((start, end, False))
