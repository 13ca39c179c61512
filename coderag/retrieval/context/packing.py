"""Selection of a context's snippets and their level of detail, by value per token within shares of a budget."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from coderag.retrieval.context.elision import WeightedLine, format_signature
from coderag.retrieval.context.knapsack import find_upgrades
from coderag.retrieval.context.packable_snippets import DetailLevel, PackableSnippet, sort_by_reading_order
from coderag.schema.context import ContextItem, ContextSection

SECTION_SHARES: Final[Mapping[str, float]] = {"primary": 0.9, "related": 0.3, "graph": 0.1}
"""Maximum budget share of each section, before unused tokens go to the others. Results get 60 %, plus what is worth
more of the 30 % of related code.
"""

_FULL_SHARES: Final[Mapping[str, float]] = dict.fromkeys(SECTION_SHARES, 1.0)
_MIN_ESTIMATE_SHARE: Final = 0.7  # of an estimate; an item that is too large even so is not counted exactly
_MIN_ELIDED_TOKENS: Final = 100
_MIN_FILLER_LINES: Final = 4  # fewer lines of a filler are useless

ItemTokenCounter = Callable[[ContextItem], int]


class _SelectedSnippet(NamedTuple):
    level: DetailLevel
    item: ContextItem


class ContextSelection:
    """Selection of snippets and lines of the relation map.

    Args:
        candidates: Packable snippets, best first.
        relations: Lines of the relation map, best first.
        count_tokens: Counts the tokens of a formatted item.

    Attributes:
        section_tokens: Tokens of selected items, by section.
    """

    def __init__(
        self, candidates: Sequence[PackableSnippet], relations: Sequence[str], count_tokens: ItemTokenCounter
    ) -> None:
        self.section_tokens = dict.fromkeys(SECTION_SHARES, 0)
        self._candidates = candidates
        self._relations = relations
        self._count_tokens = count_tokens
        self._levels = [_list_levels(candidate) for candidate in candidates]
        self._upgrades = find_upgrades(self._levels)
        self._selected: dict[int, _SelectedSnippet] = {}
        self._relation_items: list[ContextItem] = []

    def fill(self, max_tokens: int) -> None:
        """Select by value per token: first each section within its share, then whatever fits."""
        for shares in (SECTION_SHARES, _FULL_SHARES):
            limits = {section: int(max_tokens * share) for section, share in shares.items()}
            if shares is SECTION_SHARES:
                self._add_relations(max_tokens, limits)
            for upgrade in self._upgrades:
                level = self._levels[upgrade.item][upgrade.option]
                if not self._select_level(upgrade.item, level, max_tokens, limits) and level.detail == "full":
                    self._select_elided(upgrade.item, max_tokens, limits)
        for number in sorted(range(len(self._levels)), key=lambda number: -self._candidates[number].line_value):
            for level in reversed(self._levels[number]):  # options off the hull may still fit the remaining budget
                if self._select_level(number, level, max_tokens, limits):
                    break
        self._add_relations(max_tokens, limits)

    def drop_least_valuable(self) -> bool:
        """Drop the least valuable item; return whether there was any."""
        if self._relation_items:
            self.section_tokens["graph"] -= self._relation_items.pop().tokens
        elif self._selected:
            number = min(self._selected, key=lambda number: self._candidates[number].line_value)
            self.section_tokens[self._candidates[number].section] -= self._selected.pop(number).item.tokens
        else:
            return False
        return True

    def build_sections(self) -> list[ContextSection]:
        """Build the sections; snippets of one file are grouped at its best one."""
        order = sort_by_reading_order([self._candidates[number] for number in sorted(self._selected)])
        items = {id(self._candidates[number]): selected.item for number, selected in self._selected.items()}
        by_section = {
            section: [items[id(candidate)] for candidate in order if candidate.section == section]
            for section in ("primary", "related")
        }
        sections = (
            ContextSection("primary", by_section["primary"], self.section_tokens["primary"]),
            ContextSection("related", by_section["related"], self.section_tokens["related"]),
            ContextSection("graph", self._relation_items, self.section_tokens["graph"]),
        )
        return [section for section in sections if section.items]

    def list_hidden(self) -> list[PackableSnippet]:
        """List the results and related code that are not selected."""
        return [
            candidate
            for number, candidate in enumerate(self._candidates)
            if candidate.is_listed and number not in self._selected
        ]

    def iter_source(self) -> Iterator[tuple[str, Sequence[WeightedLine]]]:
        """Yield the selected source lines, with their path."""
        for number, selected in self._selected.items():
            yield self._candidates[number].snippet.path, selected.level.lines

    def _select_level(self, number: int, level: DetailLevel, max_tokens: int, limits: Mapping[str, int]) -> bool:
        """Select a level of a snippet if it fits and adds value."""
        candidate, selected = self._candidates[number], self._selected.get(number)
        if selected and selected.level.value >= level.value:
            return False
        section, selected_tokens = candidate.section, selected.item.tokens if selected else 0
        remaining = self._compute_remaining(section, max_tokens, limits) + selected_tokens
        if level.tokens * _MIN_ESTIMATE_SHARE > remaining:
            return False
        item = _build_item(candidate, level)
        item = replace(item, tokens=self._count_tokens(item))
        if item.tokens > remaining:
            return False
        self.section_tokens[section] += item.tokens - selected_tokens
        self._selected[number] = _SelectedSnippet(level, item)
        return True

    def _select_elided(self, number: int, max_tokens: int, limits: Mapping[str, int]) -> None:
        """Select an elided level of a snippet that does not fit in full."""
        candidate, selected = self._candidates[number], self._selected.get(number)
        if selected and selected.level.detail == "full":
            return
        if self._compute_remaining(candidate.section, max_tokens, limits) >= _MIN_ELIDED_TOKENS:
            any(self._select_level(number, level, max_tokens, limits) for level in candidate.build_elided_levels())

    def _add_relations(self, max_tokens: int, limits: Mapping[str, int]) -> None:
        for relation in self._relations[len(self._relation_items) :]:
            line = ContextItem("", "", 0, 0, "", relation, 0, "line")
            line = replace(line, tokens=self._count_tokens(line))
            if line.tokens > self._compute_remaining("graph", max_tokens, limits):
                break
            self.section_tokens["graph"] += line.tokens
            self._relation_items.append(line)

    def _compute_remaining(self, section: str, max_tokens: int, limits: Mapping[str, int]) -> int:
        return min(max_tokens - sum(self.section_tokens.values()), limits[section] - self.section_tokens[section])


def _list_levels(candidate: PackableSnippet) -> list[DetailLevel]:
    """List the levels of a snippet; fillers must show some of their body."""
    min_lines = min(_MIN_FILLER_LINES, len(candidate.lines))
    return [level for level in candidate.build_levels() if candidate.is_listed or len(level.lines) >= max(min_lines, 1)]


def _build_item(candidate: PackableSnippet, level: DetailLevel) -> ContextItem:
    snippet, detail = candidate.snippet, level.detail
    if level.lines:
        text = candidate.format_text(level.lines)
    elif detail == "signature":
        text = format_signature(snippet.signature or snippet.name, snippet.docstring)
        if text in (
            snippet.name,
            snippet.name.rpartition(" > ")[2],
        ):  # of a module or section: the title has it already
            text, detail = "", "line"
    else:
        text = snippet.summary
    return ContextItem(
        chunk_id=snippet.chunk_id,
        path=snippet.path,
        start_line=snippet.start_line,
        end_line=snippet.end_line,
        title=f"`{snippet.name}` ({snippet.kind})" if snippet.name else snippet.kind,
        text=text,
        tokens=0,
        detail=detail,
        language=snippet.language,
        relation=snippet.relation,
        related_to=snippet.related_to,
        name=snippet.name,
        kind=snippet.kind,
    )
