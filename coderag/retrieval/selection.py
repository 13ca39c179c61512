"""What a context shows: for each passage how much of it, within a room and shares of it, by value per token."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from coderag.retrieval.elision import Line, signature_only
from coderag.retrieval.knapsack import steps
from coderag.retrieval.passages import Level, Passage, in_reading_order
from coderag.schema.context import ContextItem, ContextSection

SHARES: Final[Mapping[str, float]] = {"primary": 0.9, "related": 0.3, "graph": 0.1}
"""The largest share of the budget of each section, before what one leaves goes to the others: results get 60 %, and of the
30 % of related code what is worth more there."""

_ALL: Final[Mapping[str, float]] = dict.fromkeys(SHARES, 1.0)
_NEARLY: Final = 0.7  # of an estimate; what is larger than what is left even so is not counted exactly
_LEAST_ELIDED_TOKENS: Final = 100
_LEAST_FILLER_LINES: Final = 4  # fewer lines of code that is no result tell nothing

Counter = Callable[[ContextItem], int]


class _Chosen(NamedTuple):
    level: Level
    item: ContextItem


class Selection:
    """Passages and lines of the map, chosen step by step.

    Args:
        passages: What there is, best first.
        relations: Lines of the map, best first.
        count_tokens: Returns how many tokens an item takes in the text.

    Attributes:
        spent: Tokens of what is shown, by section.
    """

    def __init__(self, passages: Sequence[Passage], relations: Sequence[str], count_tokens: Counter) -> None:
        self.spent = dict.fromkeys(SHARES, 0)
        self._passages = passages
        self._relations = relations
        self._count = count_tokens
        self._levels = [_allowed(passage) for passage in passages]
        self._steps = steps(self._levels)
        self._chosen: dict[int, _Chosen] = {}
        self._lines: list[ContextItem] = []

    def fill(self, room: int) -> None:
        """Show what adds most for its tokens: first each section within its share of the room, then whatever fits."""
        for shares in (SHARES, _ALL):
            limits = {section: int(room * share) for section, share in shares.items()}
            if shares is SHARES:
                self._add_lines(room, limits)
            for step in self._steps:
                level = self._levels[step.thing][step.way]
                if not self._show(step.thing, level, room, limits) and level.detail == "full":
                    self._show_elided(step.thing, room, limits)
        for number in sorted(range(len(self._levels)), key=lambda number: -self._passages[number].worth):
            for level in reversed(self._levels[number]):  # what is worth no step may still fit into what is left
                if self._show(number, level, room, limits):
                    break
        self._add_lines(room, limits)

    def drop(self) -> bool:
        """Take away what is worth least; return whether there was anything."""
        if self._lines:
            self.spent["graph"] -= self._lines.pop().tokens
        elif self._chosen:
            number = min(self._chosen, key=lambda number: self._passages[number].worth)
            self.spent[self._passages[number].section] -= self._chosen.pop(number).item.tokens
        else:
            return False
        return True

    def sections(self) -> list[ContextSection]:
        """Return what is shown, by section; the pieces of one file together, where its best one stands."""
        order = in_reading_order([self._passages[number] for number in sorted(self._chosen)])
        items = {id(self._passages[number]): one.item for number, one in self._chosen.items()}
        by_section = {
            section: [items[id(passage)] for passage in order if passage.section == section]
            for section in ("primary", "related")
        }
        sections = (
            ContextSection("primary", by_section["primary"], self.spent["primary"]),
            ContextSection("related", by_section["related"], self.spent["related"]),
            ContextSection("graph", self._lines, self.spent["graph"]),
        )
        return [section for section in sections if section.items]

    def hidden(self) -> list[Passage]:
        """Return the results and the related code that are not shown at all."""
        return [
            passage for number, passage in enumerate(self._passages) if passage.wanted and number not in self._chosen
        ]

    def source(self) -> Iterator[tuple[str, Sequence[Line]]]:
        """Yield the lines of source that are shown, with their path."""
        for number, one in self._chosen.items():
            yield self._passages[number].piece.path, one.level.lines

    def _show(self, number: int, level: Level, room: int, limits: Mapping[str, int]) -> bool:
        """Show a passage, or more of it, if there is room for it."""
        passage, earlier = self._passages[number], self._chosen.get(number)
        if earlier and earlier.level.value >= level.value:
            return False
        section, spent = passage.section, earlier.item.tokens if earlier else 0
        left = self._left(section, room, limits) + spent
        if level.tokens * _NEARLY > left:
            return False
        item = _item(passage, level)
        item = replace(item, tokens=self._count(item))
        if item.tokens > left:
            return False
        self.spent[section] += item.tokens - spent
        self._chosen[number] = _Chosen(level, item)
        return True

    def _show_elided(self, number: int, room: int, limits: Mapping[str, int]) -> None:
        """Show what there is room for of a passage that is too long for it."""
        passage, earlier = self._passages[number], self._chosen.get(number)
        if earlier and earlier.level.detail == "full":
            return
        if self._left(passage.section, room, limits) >= _LEAST_ELIDED_TOKENS:
            any(self._show(number, level, room, limits) for level in passage.elided())

    def _add_lines(self, room: int, limits: Mapping[str, int]) -> None:
        for relation in self._relations[len(self._lines) :]:
            line = ContextItem("", "", 0, 0, "", relation, 0, "line")
            line = replace(line, tokens=self._count(line))
            if line.tokens > self._left("graph", room, limits):
                break
            self.spent["graph"] += line.tokens
            self._lines.append(line)

    def _left(self, section: str, room: int, limits: Mapping[str, int]) -> int:
        return min(room - sum(self.spent.values()), limits[section] - self.spent[section])


def _allowed(passage: Passage) -> list[Level]:
    """Return the ways to show a passage; what was not asked for is shown with some of its body or not at all."""
    least = min(_LEAST_FILLER_LINES, len(passage.lines))
    return [level for level in passage.levels() if passage.wanted or len(level.lines) >= max(least, 1)]


def _item(passage: Passage, level: Level) -> ContextItem:
    piece, detail = passage.piece, level.detail
    if level.lines:
        text = passage.text(level.lines)
    elif detail == "signature":
        text = signature_only(piece.signature or piece.name, piece.docstring)
        if text in (piece.name, piece.name.rpartition(" > ")[2]):  # of a module or section: the title says it
            text, detail = "", "line"
    else:
        text = piece.summary
    return ContextItem(
        chunk_id=piece.chunk_id,
        path=piece.path,
        start_line=piece.start_line,
        end_line=piece.end_line,
        title=f"`{piece.name}` ({piece.kind})" if piece.name else piece.kind,
        text=text,
        tokens=0,
        detail=detail,
        language=piece.language,
        relation=piece.relation,
        related_to=piece.related_to,
        name=piece.name,
        kind=piece.kind,
    )
