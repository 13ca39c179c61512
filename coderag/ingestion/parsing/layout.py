"""Which lines of a source file go together: one piece a declaration, and the code between them.

Pieces are whole lines, in order, without overlap and without gap. Blank lines belong to the piece above them.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from coderag.ingestion.parsing.declaration_records import CALLABLE, CONTAINERS, DATA, Declaration
from coderag.ingestion.parsing.declarations import Syntax
from coderag.ingestion.parsing.entries import ENTRIES
from coderag.text.token_counts import estimate_tokens

SMALL_CLASS_TOKENS = 150
"""A class with its methods that has at most this many tokens is one chunk."""

SMALL_ENTRY_TOKENS = 350
"""An entry of structured data, or a rule, with those inside it that has at most this many tokens is one chunk."""

_BARE_HEADER_TOKENS = 40  # the first line of a namespace, an impl or an entry says too little to stand alone
_BARE_HEADERS = ENTRIES | {"impl", "namespace"}
_LONGEST_REMARK = 400  # bytes
_DEEPEST = 12  # levels of containers that are taken apart

Group = Literal["module", "callable", "type", "header", "member"]

# Possessive throughout: on a text of which a part does not fit, these would try every way to share out its blanks.
_NOTHING_BUT_ENDS = re.compile(
    rb"(?:[\s}()\[\];,]|\{(?!-#))*+(?:end\b(?:[ \t]++\w++(?=\s|$))?+[\s;.)]*+"
    rb"|#[ \t]*+(?:if|ifdef|ifndef|elif|else|endif)\b[^\n]*+\s*+|\{-#[^#]*+#-\}\s*+|return[ \t]++\w++\s*+)*+"
).fullmatch
_NOTHING_BUT_OPENINGS = re.compile(rb"(?m)\s*+(?:[{\[]\s*+|(?:#[^\n]*+\n\s*+)*+^---(?:[ \t][^\n]*+)?+\s*+)").fullmatch


@dataclass(slots=True)
class Piece:
    """Lines ``[start, end)`` (0-based) that become one chunk, or several if there are too many of them.

    Attributes:
        owner: The declaration it is, or is the header of; None for code of the module.
        scope: The declaration it lies in; None at the top of the file.
        tokens: Estimated.
        merged: Whether it holds several declarations side by side.
        continues: Whether its owner begins above it.
        overlap: How many of its last lines the next piece begins with, and accounts for.
    """

    start: int
    end: int
    group: Group
    owner: Declaration | None
    scope: Declaration | None
    tokens: int = 0
    merged: bool = False
    largest: int = field(default=0)
    continues: bool = False
    overlap: int = 0


class Layout:
    """Lays out one file."""

    def __init__(self, data: bytes, starts: Sequence[int], syntax: Syntax, *, max_tokens: int, min_tokens: int) -> None:
        self._data = data
        self._starts = starts
        self._max_tokens = max_tokens
        self._min_tokens = min_tokens
        self._above = self._lines_above(syntax)
        self._roots = syntax.roots
        self._comments = syntax.comments
        self._has_callbacks = syntax.has_callbacks

    def pieces(self) -> list[Piece]:
        """Return the pieces of the file."""
        return self.pieces_within(0, len(self._starts) - 1)

    def pieces_within(self, first: int, last: int) -> list[Piece]:
        """Return the pieces of some lines ``[first, last)`` of the file."""
        pieces: list[Piece] = []
        self._lay(pieces, None, [one for one in self._roots if first <= self.line(one.start) < last], first, last, 0)
        if not pieces:
            pieces.append(Piece(first, last, "module", None, None))
        for piece in pieces:
            piece.tokens = piece.largest = self._tokens(piece.start, piece.end)
        merged = self._merge(pieces)
        if len(merged) == 1 and merged[0].merged and _is_entry(merged[0]):
            merged[0].owner = None  # the whole file, named for itself
        return merged

    def line(self, offset: int) -> int:
        """Return the line (0-based) of a byte."""
        return bisect_right(self._starts, offset) - 1

    def lead(self, declaration: Declaration, lowest: int) -> int:
        """Return the first line that belongs to a declaration, with the comments and attributes above it."""
        line = self.line(declaration.outer_start)
        while line > lowest and (above := self._above.get(line)) is not None:
            line = above
        return max(line, lowest)

    def _lines_above(self, syntax: Syntax) -> dict[int, int]:
        """Return, for each line below a comment or attribute on lines of its own, where that begins."""
        above = {}
        data, starts = self._data, self._starts
        for spans in (syntax.comments, syntax.attributes):
            for start, end in spans:
                line = bisect_right(starts, start) - 1
                if not data[starts[line] : start].strip():
                    above[bisect_right(starts, max(start, end - 1), line)] = line
        return above

    def _tokens(self, first: int, last: int) -> int:
        return estimate_tokens(self._data[self._starts[first] : self._starts[last]])

    def _lay(
        self,
        pieces: list[Piece],
        scope: Declaration | None,
        declarations: list[Declaration],
        first: int,
        last: int,
        depth: int,
    ) -> None:
        """Append the pieces of the lines ``[first, last)`` that a scope covers."""
        cursor = first
        below_header = first if scope is None else min(last, self.line(scope.start) + 1)
        header_done = scope is None
        before = len(pieces)
        for declaration in declarations:
            if not _stands_alone(declaration, scope) or self._is_incidental(declaration, scope):
                continue
            end = min(last, self.line(max(declaration.start, declaration.end - 1)) + 1)
            begin = self.lead(declaration, min(max(cursor, below_header), self.line(declaration.start)))
            if begin < cursor:  # begins on the line of another one
                if end > cursor and len(pieces) > before:
                    pieces[-1].end = cursor = end
                    pieces[-1].merged = True
                continue
            if begin > cursor and (scope is None or len(pieces) > before):
                begin = self._opening_above(cursor, begin, is_first=len(pieces) == before)
            if begin > cursor:
                self._fill(pieces, scope, cursor, begin, header_done=header_done, joinable=len(pieces) > before)
                header_done = True
            elif scope is not None:
                header_done = True
            if depth < _DEEPEST and self._is_taken_apart(declaration, begin, end):
                self._lay(pieces, declaration, declaration.children, begin, end, depth + 1)
            else:
                pieces.append(Piece(begin, end, _group(declaration), declaration, scope))
            cursor = end
        if cursor < last or len(pieces) == before:
            self._fill(pieces, scope, cursor, last, header_done=header_done, joinable=len(pieces) > before)

    def _fill(
        self,
        pieces: list[Piece],
        scope: Declaration | None,
        first: int,
        last: int,
        *,
        header_done: bool,
        joinable: bool,
    ) -> None:
        """Give the lines between two declarations to a piece of their own, or to the one above if they say nothing."""
        if first >= last:
            return
        if joinable:
            if _NOTHING_BUT_ENDS(self._data[self._starts[first] : self._starts[last]]):
                pieces[-1].end = last
                return
            while not self._data[self._starts[first] : self._starts[first + 1]].strip():
                first += 1
            pieces[-1].end = first
        if scope is None or (scope.kind == "namespace" and header_done):
            pieces.append(Piece(first, last, "module", scope, scope))
        elif not header_done:
            pieces.append(Piece(first, last, "header", scope, scope))
        else:
            inside = (child for child in scope.children if first <= self.line(child.start) < last)
            pieces.append(Piece(first, last, "member", next(inside, scope), scope))

    def _is_taken_apart(self, declaration: Declaration, first: int, last: int) -> bool:
        """Return whether the members of a declaration become pieces of their own."""
        if declaration.kind in DATA:  # an object with methods
            if not any(child.kind == "method" for child in declaration.children):
                return False
        elif declaration.kind not in CONTAINERS:
            return False
        inner = [child for child in declaration.children if _stands_alone(child, declaration)]
        if not inner:
            return False
        small = SMALL_ENTRY_TOKENS if declaration.kind in ENTRIES else SMALL_CLASS_TOKENS
        return any(child.bases for child in inner) or self._tokens(first, last) > small

    def _opening_above(self, first: int, last: int, *, is_first: bool) -> int:
        """Return the line from which what stands above a declaration opens it; ``last`` if nothing does.

        The brace around a file's only object, the mark between two documents, or a remark.
        """
        if _NOTHING_BUT_OPENINGS(self._data, self._starts[first], self._starts[last]):
            return first
        return last if is_first else self._remark_above(first, last)

    def _remark_above(self, first: int, last: int) -> int:
        """Return where a short comment begins that is all there is between two declarations; ``last`` if there is more.

        It is a heading for the declarations below it.
        """
        begin, end = self._starts[first], self._starts[last]
        low, high = bisect_left(self._comments, (begin, 0)), bisect_left(self._comments, (end, 0))
        if low == high or end - begin > _LONGEST_REMARK:
            return last
        for start, stop in self._comments[low:high]:
            if self._data[begin:start].strip():
                return last
            begin = stop
        return last if self._data[begin:end].strip() else max(first, self.line(self._comments[low][0]))

    def _is_incidental(self, declaration: Declaration, scope: Declaration | None) -> bool:
        """Return whether something declared at the top is a small part of a statement, such as a callback's helper.

        Or a statement that says little by itself, such as ``package store;``.
        """
        if scope is None and declaration.kind == "namespace" and declaration.body is None and not declaration.children:
            return True
        if scope is not None or not self._has_callbacks or declaration.kind not in CALLABLE | DATA | {"rule"}:
            return False
        start = declaration.outer_start
        line_start = self._starts[self.line(start)]
        indented = self._data[line_start : line_start + 1] in {b" ", b"\t"}
        return indented and estimate_tokens(self._data[start : declaration.end]) < self._min_tokens

    def _merge(self, pieces: list[Piece]) -> list[Piece]:
        """Merge tiny neighbours of one scope, and the bare header of a namespace or impl with what follows it."""
        merged: list[Piece] = []
        for piece in pieces:
            last = merged[-1] if merged else None
            if last is not None and self._go_together(last, piece):
                _join(last, piece)
            else:
                merged.append(piece)
        return merged

    def _go_together(self, last: Piece, piece: Piece) -> bool:
        if last.tokens + piece.tokens > self._max_tokens:
            return False
        if last.group == "header" and last.owner is not None and last.owner.kind in _BARE_HEADERS:
            inside = piece.scope is last.owner or (
                piece.group == "header" and piece.scope is not None and piece.scope.parent is last.owner
            )
            return inside and last.tokens < _BARE_HEADER_TOKENS
        if _is_entry(last) or _is_entry(piece):
            return self._entries_go_together(last, piece)
        if last.scope is not piece.scope or last.tokens >= self._min_tokens or piece.tokens >= self._min_tokens:
            return False
        if last.scope is None or last.scope.kind == "namespace":
            return last.group == piece.group and not (last.group == "type" and (_bases(last) or _bases(piece)))
        return not (_bases(piece) and piece.owner is not last.scope)

    def _entries_go_together(self, last: Piece, piece: Piece) -> bool:
        """Return whether neighbours are both small, or one is tiny; what is above the first entry opens it."""
        above = piece.group == "header" and last.owner is last.scope is None
        beside = last.scope is piece.scope and (last.scope is not None or last.group == piece.group)
        if not (beside or above):
            return False
        if min(last.tokens, piece.tokens) < _BARE_HEADER_TOKENS:
            return last.tokens + piece.tokens <= SMALL_ENTRY_TOKENS
        return max(last.tokens, piece.tokens) < self._min_tokens


def _is_entry(piece: Piece) -> bool:
    return piece.owner is not None and piece.owner.kind in ENTRIES


def _bases(piece: Piece) -> bool:
    return piece.owner is not None and bool(piece.owner.bases)


def _join(last: Piece, piece: Piece) -> None:
    """Make one piece of two. A class stays one; else the larger names the whole, and code of the module is a module.

    What is in a module beside entries of data does not count.
    """
    bare = last.group == "header" and last.owner is not None and last.owner.kind in _BARE_HEADERS
    larger = piece.tokens > last.largest
    if _is_entry(last) or _is_entry(piece):
        renamed = last.group != "header" and larger
    else:
        renamed = last.group != "header" and last.owner is not None and (piece.owner is None or larger)
    inward = bare or piece.scope is not last.scope
    if inward or renamed:
        last.owner = piece.owner
        last.largest = piece.tokens
    if inward:
        last.group, last.scope = piece.group, piece.scope
    last.merged = last.merged or piece.merged or not bare
    last.end = piece.end
    last.tokens += piece.tokens


def _group(declaration: Declaration) -> Group:
    if declaration.kind in CALLABLE:
        return "callable"
    return "module" if declaration.kind in DATA | {"macro", "key", "rule", "section"} else "type"


def _stands_alone(declaration: Declaration, scope: Declaration | None) -> bool:
    """Return whether a declaration is a piece of its own, not just a symbol of the piece around it."""
    if scope is None or scope.kind == "namespace":
        return True
    if declaration.kind in CALLABLE:
        return declaration.body is not None
    return declaration.kind in CONTAINERS
