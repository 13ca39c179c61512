"""What lies in lines that were chosen without regard to declarations."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from coderag.ingestion.parsing.declaration_records import DATA, Declaration
from coderag.ingestion.parsing.declarations import Syntax, innermost
from coderag.ingestion.parsing.layout import Layout, Piece
from coderag.ingestion.parsing.strategies import LineRange, Strategy

_NAMING_SHARE = 0.5  # a constant or variable names lines of which it is at least this share


def make_layout(data: bytes, starts: Sequence[int], syntax: Syntax, strategy: Strategy) -> Layout:
    """Return the layout of a file by a strategy."""
    if ranges := strategy.cut(data, starts, syntax.root):
        return LineLayout(data, starts, syntax, ranges)
    return Layout(data, starts, syntax, max_tokens=strategy.max_tokens, min_tokens=strategy.min_tokens)


class LineLayout(Layout):
    """Names ranges of lines: each after the largest declaration that begins in it, else after the one around it."""

    def __init__(self, data: bytes, starts: Sequence[int], syntax: Syntax, ranges: Iterable[LineRange]) -> None:
        super().__init__(data, starts, syntax, max_tokens=0, min_tokens=0)
        self._ranges = ranges
        self._declarations = syntax.all
        self._declared_at = [declaration.start for declaration in syntax.all]

    def pieces(self) -> list[Piece]:
        """Return the pieces of the file."""
        return [self._piece(*lines) for lines in self._ranges]

    def _piece(self, first: int, last: int, overlap: int) -> Piece:
        start, end = self._starts[first], self._starts[last - overlap]
        inside = slice(bisect_left(self._declared_at, start), bisect_left(self._declared_at, end))
        begun = [one for one in self._declarations[inside] if one.parent is None or one.parent.start < start]
        naming = [one for one in begun if one.kind not in DATA or _within(one, end) >= _NAMING_SHARE * (end - start)]
        piece = Piece(first, last, "module", None, None, merged=len(begun) > 1, overlap=overlap)
        if naming:
            piece.owner = max(naming, key=lambda one: _within(one, end))
        elif not begun:
            piece.owner = innermost(self._declarations, self._declared_at, start)
            piece.continues = True
        return piece


def _within(declaration: Declaration, end: int) -> int:
    """Return how many bytes of a declaration lie before ``end``."""
    return min(declaration.end, end) - declaration.start
