"""Pieces of code as they compete for a context's tokens: lines that no other piece shows, each with its worth."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from coderag.retrieval.elision import Line, elide, head_length, weigh, written
from coderag.retrieval.shown import ShownLines
from coderag.schema.vocabulary import Detail
from coderag.stores.pieces import Piece
from coderag.text.token_counts import estimate_tokens

RANK_OFFSET: Final = 2.0
"""A result is worth 1 / (its rank from 0 + this): what was read off golden sets, see ``docs/context.md``."""

RELATED_WORTH: Final = 0.4
"""Of related code, against a result of the same rank."""

FAR_WORTH: Final = 0.4
"""Of the parts of a long declaration that were not found themselves."""

_WORD_WEIGHT = 1.0
_SHARES = (0.6, 0.3)  # of the lines, in an elided body
_LEAST_ELIDED = 10  # lines; a shorter body is shown whole
_SIGNATURE_WORTH, _LINE_WORTH = 2.0, 1.0  # in plain lines

Section = Literal["primary", "related"]


class Level(NamedTuple):
    """One way to show a passage.

    Attributes:
        value: What it is worth to the reader.
        tokens: About how many it takes.
        lines: What is shown of the source; none for a signature and for one line.
    """

    detail: Detail
    value: float
    tokens: int
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece and the lines of it that are to be shown.

    Attributes:
        section: Where it stands.
        worth: Of one plain line of it.
        lines: Those that no other passage has and that were not shown before.
        first: The piece's first line that is not blank.
        last: Its last one.
        before: Numbers of lines that were shown before.
        wanted: Whether its place is told if it is left out; else it only fills what is left.
    """

    piece: Piece
    section: Section
    worth: float
    lines: Sequence[Line]
    first: int
    last: int
    before: Set[int]
    wanted: bool

    def levels(self) -> Iterator[Level]:
        """Yield the ways to show it that are weighed against other passages, the least first."""
        piece = self.piece
        whole = sum(line.value for line in self.lines) or 1.0
        if piece.summary or piece.name:
            yield Level("line", self.worth * min(_LINE_WORTH, whole / 4), estimate_tokens(piece.summary.encode()), ())
        if piece.signature or piece.name:
            text = f"{piece.signature or piece.name}{piece.docstring}"
            yield Level("signature", self.worth * min(_SIGNATURE_WORTH, whole / 2), estimate_tokens(text.encode()), ())
        if not self.lines:
            return
        if piece.found:
            yield from self.elided()
        yield self._level("full", self.lines)

    def elided(self) -> Iterator[Level]:
        """Yield the ways to show its most telling lines, the most first; none of a short one."""
        if len(self.lines) < _LEAST_ELIDED:
            return
        head = head_length([line.text for line in self.lines], self.piece.signature)
        for share in _SHARES:
            shown = elide(self.lines, head, share)
            if len(shown) < len(self.lines):
                yield self._level("elided", shown)

    def text(self, lines: Sequence[Line]) -> str:
        """Return some of the lines, with markers for what is missing of the piece."""
        return written(lines, self.first, self.last, self.before)

    def _level(self, detail: Detail, lines: Sequence[Line]) -> Level:
        text = "\n".join(line.text for line in lines)
        value = self.worth * sum(line.value for line in lines)
        return Level(detail, value, estimate_tokens(text.encode("utf-8", "replace")), lines)


def make_passages(
    results: Sequence[Piece],
    reserve: Sequence[Piece],
    related: Sequence[Piece],
    rarity: Mapping[str, float],
    shown: ShownLines,
) -> tuple[list[Passage], list[Piece]]:
    """Return the pieces without a line twice, and those of which all was shown before.

    Each line is that of the first piece that has it.

    Args:
        results: Primary results, best first.
        reserve: Further results, for what is left.
        related: Related code, best first.
        rarity: How telling each term of the question is, above 0.
        shown: What earlier contexts showed.
    """
    taken: dict[str, set[int]] = defaultdict(set)
    passages: list[Passage] = []
    before: list[Piece] = []
    for piece, section, worth, wanted in _in_order(results, reserve, related):
        lines = _stripped(_lines(piece, rarity))
        mine = taken[piece.path]
        seen = shown.of(piece.path, lines)
        hidden = mine | seen
        left = _stripped([line for line in lines if line.number not in hidden]) if hidden else lines
        if left or not lines:
            first, last = (lines[0].number, lines[-1].number) if lines else (piece.start_line, piece.end_line)
            passages.append(Passage(piece, section, worth, left, first, last, seen, wanted))
        elif seen and wanted:
            before.append(piece)
        mine.update(line.number for line in lines)
    return passages, before


def _in_order(
    results: Sequence[Piece], reserve: Sequence[Piece], related: Sequence[Piece]
) -> Iterator[tuple[Piece, Section, float, bool]]:
    for rank, piece in enumerate(results):
        yield piece, "primary", 1 / (rank + RANK_OFFSET), True
    for rank, piece in enumerate(related):
        yield piece, "related", RELATED_WORTH / (rank + RANK_OFFSET), True
    for rank, piece in enumerate(reserve, len(results)):
        yield piece, "primary", 1 / (rank + RANK_OFFSET), False


def _lines(piece: Piece, rarity: Mapping[str, float]) -> list[Line]:
    texts = piece.text.split("\n")
    first, last = piece.found or (piece.start_line, piece.end_line)
    values = weigh(piece.text, rarity, _WORD_WEIGHT)
    return [
        Line(number, text, value if first <= number <= last else value * FAR_WORTH)
        for number, (text, value) in enumerate(zip(texts, values, strict=True), piece.start_line)
    ]


def _stripped(lines: Sequence[Line]) -> list[Line]:
    """Return the lines without blank ones at the beginning and the end."""
    first, last = 0, len(lines)
    while first < last and not lines[first].text.strip():
        first += 1
    while first < last and not lines[last - 1].text.strip():
        last -= 1
    return list(lines[first:last])


def in_reading_order(passages: Iterable[Passage]) -> list[Passage]:
    """Return passages in the order they came, but those of one file together, by line."""
    by_file: dict[str, list[Passage]] = {}
    for passage in passages:
        by_file.setdefault(passage.piece.path, []).append(passage)
    return [passage for group in by_file.values() for passage in sorted(group, key=lambda one: one.piece.start_line)]
