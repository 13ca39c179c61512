"""Layout of line ranges that were chosen without regard to declarations."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from coderag.ingestion.parsing.declaration_layout import DeclarationLayout, LineSpan
from coderag.ingestion.parsing.declaration_records import DATA, Declaration
from coderag.ingestion.parsing.declarations import Syntax, find_innermost
from coderag.ingestion.parsing.strategies import LineRange, Strategy

_MIN_NAMING_SHARE = 0.5  # minimum share of lines for a constant or variable to name them


def make_layout(data: bytes, starts: Sequence[int], syntax: Syntax, strategy: Strategy) -> DeclarationLayout:
    """Build the layout of a file by a strategy."""
    if ranges := strategy.cut(data, starts, syntax.root):
        return LineLayout(data, starts, syntax, ranges)
    return DeclarationLayout(data, starts, syntax, max_tokens=strategy.max_tokens, min_tokens=strategy.min_tokens)


class LineLayout(DeclarationLayout):
    """Names each line range after the largest declaration that begins in it, else after the enclosing one."""

    def __init__(self, data: bytes, starts: Sequence[int], syntax: Syntax, ranges: Iterable[LineRange]) -> None:
        super().__init__(data, starts, syntax, max_tokens=0, min_tokens=0)
        self._ranges = ranges
        self._declarations = syntax.declarations
        self._declaration_starts = [declaration.start for declaration in syntax.declarations]

    def build_spans(self) -> list[LineSpan]:
        """Build the spans of the file."""
        return [self._build_span(*lines) for lines in self._ranges]

    def _build_span(self, first: int, last: int, overlap: int) -> LineSpan:
        start, end = self._starts[first], self._starts[last - overlap]
        inside = slice(bisect_left(self._declaration_starts, start), bisect_left(self._declaration_starts, end))
        starting = [
            declaration
            for declaration in self._declarations[inside]
            if declaration.parent is None or declaration.parent.start < start
        ]
        naming = [
            declaration
            for declaration in starting
            if declaration.kind not in DATA
            or _count_bytes_before(declaration, end) >= _MIN_NAMING_SHARE * (end - start)
        ]
        span = LineSpan(first, last, "module", None, None, is_merged=len(starting) > 1, overlap=overlap)
        if naming:
            span.owner = max(naming, key=lambda declaration: _count_bytes_before(declaration, end))
        elif not starting:
            span.owner = find_innermost(self._declarations, self._declaration_starts, start)
            span.is_continuation = True
        return span


def _count_bytes_before(declaration: Declaration, end: int) -> int:
    """Return the number of bytes of a declaration before ``end``."""
    return min(declaration.end, end) - declaration.start
