"""Layout of a source file: one line span for each declaration, and spans for the code between them.

Spans are whole lines, in order, without overlaps and gaps. Blank lines belong to the span above them.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from coderag.ingestion.parsing.declaration_records import CALLABLE, CONTAINERS, DATA, Declaration
from coderag.ingestion.parsing.declarations import Syntax
from coderag.ingestion.parsing.entries import ENTRY_KINDS
from coderag.text.token_counts import estimate_tokens

MAX_SMALL_CLASS_TOKENS = 40
"""A class of at most this size, with its methods, is one chunk."""

MAX_SMALL_ENTRY_TOKENS = 350
"""An entry of structured data or a rule of at most this size, with its nested entries, is one chunk."""

_MAX_BARE_HEADER_TOKENS = 40  # the first line of a namespace, impl or entry is too little for a chunk
_BARE_HEADER_KINDS = ENTRY_KINDS | {"impl", "namespace"}
_MAX_REMARK_BYTES = 400  # bytes
_MAX_NESTING = 12  # levels of containers that are split

SpanGroup = Literal["module", "callable", "type", "header", "member"]

# Possessive throughout: otherwise a partial match would backtrack over every distribution of blanks.
_ONLY_CLOSERS = re.compile(
    rb"(?:[\s}()\[\];,]|\{(?!-#))*+(?:end\b(?:[ \t]++\w++(?=\s|$))?+[\s;.)]*+"
    rb"|#[ \t]*+(?:if|ifdef|ifndef|elif|else|endif)\b[^\n]*+\s*+|\{-#[^#]*+#-\}\s*+|return[ \t]++\w++\s*+)*+"
).fullmatch
_ONLY_OPENERS = re.compile(rb"(?m)\s*+(?:[{\[]\s*+|(?:#[^\n]*+\n\s*+)*+^---(?:[ \t][^\n]*+)?+\s*+)").fullmatch


@dataclass(slots=True)
class LineSpan:
    """Lines ``[start, end)`` (0-based) that become one chunk, or several if they exceed the limit.

    Attributes:
        owner: The declaration that the lines contain, whole or as its header; None for module code.
        scope: The enclosing declaration; None at the top level.
        tokens: Estimated number of tokens.
        is_merged: Whether it contains several sibling declarations.
        is_continuation: Whether its owner begins above it.
        overlap: Number of its last lines that the next span repeats; their facts belong to the next span.
    """

    start: int
    end: int
    group: SpanGroup
    owner: Declaration | None
    scope: Declaration | None
    tokens: int = 0
    is_merged: bool = False
    largest_tokens: int = field(default=0)
    is_continuation: bool = False
    overlap: int = 0


class DeclarationLayout:
    """Computes the layout of a file by its declarations."""

    def __init__(self, data: bytes, starts: Sequence[int], syntax: Syntax, *, max_tokens: int, min_tokens: int) -> None:
        self._data = data
        self._starts = starts
        self._max_tokens = max_tokens
        self._min_tokens = min_tokens
        self._leading_lines = self._map_leading_lines(syntax)
        self._roots = syntax.roots
        self._comments = syntax.comments
        self._has_callbacks = syntax.has_callbacks

    def build_spans(self) -> list[LineSpan]:
        """Build the spans of the file."""
        return self.build_spans_within(0, len(self._starts) - 1)

    def build_spans_within(self, first: int, last: int) -> list[LineSpan]:
        """Build the spans of the lines ``[first, last)`` of the file."""
        spans: list[LineSpan] = []
        self._lay_out(
            spans, None, [root for root in self._roots if first <= self.find_line(root.start) < last], first, last, 0
        )
        if not spans:
            spans.append(LineSpan(first, last, "module", None, None))
        for span in spans:
            span.tokens = span.largest_tokens = self._estimate_tokens(span.start, span.end)
        merged = self._merge_spans(spans)
        if len(merged) == 1 and merged[0].is_merged and _is_entry(merged[0]):
            merged[0].owner = None  # the whole file: the span has the file's name
        return merged

    def find_line(self, offset: int) -> int:
        """Return the line (0-based) of a byte."""
        return bisect_right(self._starts, offset) - 1

    def find_leading_line(self, declaration: Declaration, lowest: int) -> int:
        """Return the first line of a declaration, including the comments and attributes above it."""
        line = self.find_line(declaration.outer_start)
        while line > lowest and (leading_line := self._leading_lines.get(line)) is not None:
            line = leading_line
        return max(line, lowest)

    def _map_leading_lines(self, syntax: Syntax) -> dict[int, int]:
        """Map the line below each comment or attribute on lines of its own to its first line."""
        leading_lines = {}
        data, starts = self._data, self._starts
        for marks in (syntax.comments, syntax.attributes):
            for start, end in marks:
                line = bisect_right(starts, start) - 1
                if not data[starts[line] : start].strip():
                    leading_lines[bisect_right(starts, max(start, end - 1), line)] = line
        return leading_lines

    def _estimate_tokens(self, first: int, last: int) -> int:
        return estimate_tokens(self._data[self._starts[first] : self._starts[last]])

    def _lay_out(
        self,
        spans: list[LineSpan],
        scope: Declaration | None,
        declarations: list[Declaration],
        first: int,
        last: int,
        depth: int,
    ) -> None:
        """Append the spans of the lines ``[first, last)`` of a scope."""
        cursor = first
        below_header = first if scope is None else min(last, self.find_line(scope.start) + 1)
        has_header = scope is None
        count_before = len(spans)
        for declaration in declarations:
            if not _is_standalone(declaration, scope) or self._is_incidental(declaration, scope):
                continue
            end = min(last, self.find_line(max(declaration.start, declaration.end - 1)) + 1)
            begin = self.find_leading_line(
                declaration, min(max(cursor, below_header), self.find_line(declaration.start))
            )
            if begin < cursor:  # begins on the last line of another declaration
                if end > cursor and len(spans) > count_before:
                    spans[-1].end = cursor = end
                    spans[-1].is_merged = True
                continue
            if begin > cursor and (scope is None or len(spans) > count_before):
                begin = self._find_opening_line(cursor, begin, is_first=len(spans) == count_before)
            if begin > cursor:
                self._fill_gap(spans, scope, cursor, begin, has_header=has_header, can_extend=len(spans) > count_before)
                has_header = True
            elif scope is not None:
                has_header = True
            if depth < _MAX_NESTING and self._is_split(declaration, begin, end):
                self._lay_out(spans, declaration, declaration.children, begin, end, depth + 1)
            else:
                spans.append(LineSpan(begin, end, _classify_group(declaration), declaration, scope))
            cursor = end
        if cursor < last or len(spans) == count_before:
            self._fill_gap(spans, scope, cursor, last, has_header=has_header, can_extend=len(spans) > count_before)

    def _fill_gap(
        self,
        spans: list[LineSpan],
        scope: Declaration | None,
        first: int,
        last: int,
        *,
        has_header: bool,
        can_extend: bool,
    ) -> None:
        """Append the lines between two declarations as a span, or extend the previous span if they contain only closers."""
        if first >= last:
            return
        if can_extend:
            if _ONLY_CLOSERS(self._data[self._starts[first] : self._starts[last]]):
                spans[-1].end = last
                return
            while not self._data[self._starts[first] : self._starts[first + 1]].strip():
                first += 1
            spans[-1].end = first
        if scope is None or (scope.kind == "namespace" and has_header):
            spans.append(LineSpan(first, last, "module", scope, scope))
        elif not has_header:
            spans.append(LineSpan(first, last, "header", scope, scope))
        else:
            inside = (child for child in scope.children if first <= self.find_line(child.start) < last)
            spans.append(LineSpan(first, last, "member", next(inside, scope), scope))

    def _is_split(self, declaration: Declaration, first: int, last: int) -> bool:
        """Return whether the members of a declaration become separate spans."""
        if declaration.is_titled:
            return declaration.has_cases
        if declaration.kind in DATA:  # an object with methods
            if not any(child.kind == "method" for child in declaration.children):
                return False
        elif declaration.kind not in CONTAINERS:
            return False
        inner = [child for child in declaration.children if _is_standalone(child, declaration)]
        if not inner:
            return False
        limit = MAX_SMALL_ENTRY_TOKENS if declaration.kind in ENTRY_KINDS else MAX_SMALL_CLASS_TOKENS
        return any(child.bases or child.is_titled for child in inner) or self._estimate_tokens(first, last) > limit

    def _find_opening_line(self, first: int, last: int, *, is_first: bool) -> int:
        """Return the first line of the text above a declaration that belongs to it; ``last`` if there is none.

        Such text is the brace around a file's only object, the separator of two documents, or a remark.
        """
        if _ONLY_OPENERS(self._data, self._starts[first], self._starts[last]):
            return first
        return last if is_first else self._find_remark_line(first, last)

    def _find_remark_line(self, first: int, last: int) -> int:
        """Return the first line of a short comment that is alone between two declarations; ``last`` if there is none.

        The comment is a heading for the declarations below it.
        """
        begin, end = self._starts[first], self._starts[last]
        low, high = bisect_left(self._comments, (begin, 0)), bisect_left(self._comments, (end, 0))
        if low == high or end - begin > _MAX_REMARK_BYTES:
            return last
        for start, stop in self._comments[low:high]:
            if self._data[begin:start].strip():
                return last
            begin = stop
        return last if self._data[begin:end].strip() else max(first, self.find_line(self._comments[low][0]))

    def _is_incidental(self, declaration: Declaration, scope: Declaration | None) -> bool:
        """Return whether a top-level declaration is a small part of a statement, such as a callback's helper.

        A statement without content of its own, such as ``package store;``, is incidental, too.
        """
        if scope is None and declaration.kind == "namespace" and declaration.body is None and not declaration.children:
            return True
        if scope is not None or not self._has_callbacks or declaration.kind not in CALLABLE | DATA | {"rule"}:
            return False
        start = declaration.outer_start
        line_start = self._starts[self.find_line(start)]
        indented = self._data[line_start : line_start + 1] in {b" ", b"\t"}
        return indented and estimate_tokens(self._data[start : declaration.end]) < self._min_tokens

    def _merge_spans(self, spans: list[LineSpan]) -> list[LineSpan]:
        """Merge tiny neighbours of a scope, and the bare header of a namespace or impl with the next span."""
        merged: list[LineSpan] = []
        for span in spans:
            previous = merged[-1] if merged else None
            if previous is not None and self._can_merge(previous, span):
                _merge_into(previous, span)
            else:
                merged.append(span)
        return merged

    def _can_merge(self, previous: LineSpan, span: LineSpan) -> bool:
        if previous.tokens + span.tokens > self._max_tokens:
            return False
        if previous.group == "header" and previous.owner is not None and previous.owner.kind in _BARE_HEADER_KINDS:
            is_inside = span.scope is previous.owner or (
                span.group == "header" and span.scope is not None and span.scope.parent is previous.owner
            )
            return is_inside and previous.tokens < _MAX_BARE_HEADER_TOKENS
        if _is_entry(previous) or _is_entry(span):
            return self._can_merge_entries(previous, span)
        if previous.scope is not span.scope or previous.tokens >= self._min_tokens or span.tokens >= self._min_tokens:
            return False
        if previous.scope is None or previous.scope.kind == "namespace":
            return previous.group == span.group and not (
                previous.group == "type" and (_has_bases(previous) or _has_bases(span))
            )
        return not (_has_bases(span) and span.owner is not previous.scope)

    def _can_merge_entries(self, previous: LineSpan, span: LineSpan) -> bool:
        """Return whether both entries are small, or one is tiny. Text above the first entry joins it."""
        is_preamble = span.group == "header" and previous.owner is previous.scope is None
        are_siblings = previous.scope is span.scope and (previous.scope is not None or previous.group == span.group)
        if not (are_siblings or is_preamble):
            return False
        if min(previous.tokens, span.tokens) < _MAX_BARE_HEADER_TOKENS:
            return previous.tokens + span.tokens <= MAX_SMALL_ENTRY_TOKENS
        return max(previous.tokens, span.tokens) < self._min_tokens


def _is_entry(span: LineSpan) -> bool:
    return span.owner is not None and span.owner.kind in ENTRY_KINDS


def _has_bases(span: LineSpan) -> bool:
    return span.owner is not None and bool(span.owner.bases)


def _merge_into(previous: LineSpan, span: LineSpan) -> None:
    """Merge a span into the previous one. The merged span is named for its class, else for its larger part.

    Module code between entries of data does not name a span. Merged module code stays a module.
    """
    is_bare_header = (
        previous.group == "header" and previous.owner is not None and previous.owner.kind in _BARE_HEADER_KINDS
    )
    is_larger = span.tokens > previous.largest_tokens
    if _is_entry(previous) or _is_entry(span):
        is_renamed = previous.group != "header" and is_larger
    else:
        is_renamed = previous.group != "header" and previous.owner is not None and (span.owner is None or is_larger)
    moves_inward = is_bare_header or span.scope is not previous.scope
    if moves_inward or is_renamed:
        previous.owner = span.owner
        previous.largest_tokens = span.tokens
    if moves_inward:
        previous.group, previous.scope = span.group, span.scope
    previous.is_merged = previous.is_merged or span.is_merged or not is_bare_header
    previous.end = span.end
    previous.tokens += span.tokens


def _classify_group(declaration: Declaration) -> SpanGroup:
    if declaration.kind in CALLABLE:
        return "callable"
    return "module" if declaration.kind in DATA | {"macro", "key", "rule", "section"} else "type"


def _is_standalone(declaration: Declaration, scope: Declaration | None) -> bool:
    """Return whether a declaration becomes a span of its own, rather than a symbol of the span around it."""
    if scope is None or declaration.is_titled or (scope.kind == "namespace" and not scope.is_titled):
        return True
    if declaration.kind in CALLABLE:
        return declaration.body is not None
    return declaration.kind in CONTAINERS
