"""Selection of a context's snippets and their levels of detail: each gets the level that is worth its tokens."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from coderag.retrieval.context.elision import WeightedLine
from coderag.retrieval.context.packable_snippets import DetailLevel, PackableSnippet
from coderag.schema.context import ContextItem, ContextSection

_MAX_GRAPH_SHARE: Final = 0.1  # of the budget, for the relation map
_MAX_DECIDING_SHARE: Final = 0.3  # of the budget, for relations that answer the question
_PRICE_STEP: Final = 1.3  # factor by which the price rises until the selection fits the budget
_MIN_ESTIMATE_SHARE: Final = 0.7  # of an estimate: the least that it may stand for
_MIN_RAISED_PRICE: Final = 1e-5

ItemTokenCounter = Callable[[ContextItem], int]


class _SelectedSnippet(NamedTuple):
    level: DetailLevel
    item: ContextItem


class ContextSelection:
    """Selection of snippets and lines of the relation map.

    A token has a price in relevance. Each snippet gets the level of detail with the most value beyond its price. If the
    selection exceeds the budget, the price rises, so that all snippets degrade by the same rule.

    Args:
        candidates: Packable snippets, best first.
        relations: Lines of the relation map, best first.
        token_price: Value that a token must add; 0 spends the whole budget.
        count_tokens: Counts the tokens of a formatted item.
        are_relations_deciding: Whether the lines of the relation map answer the question.
    """

    def __init__(
        self,
        candidates: Sequence[PackableSnippet],
        relations: Sequence[str],
        token_price: float,
        count_tokens: ItemTokenCounter,
        *,
        are_relations_deciding: bool = False,
    ) -> None:
        self._candidates = candidates
        self._relations = relations
        self._token_price = token_price
        self._count_tokens = count_tokens
        self._are_relations_deciding = are_relations_deciding
        self._levels = [list(candidate.build_levels()) for candidate in candidates]
        self._items: dict[tuple[int, int], ContextItem] = {}
        self._selected: dict[int, _SelectedSnippet] = {}
        self._relation_items: list[ContextItem] = []

    def fill(self, max_tokens: int) -> None:
        """Select what is worth its tokens, within a number of tokens."""
        self._selected = {}
        share = _MAX_DECIDING_SHARE if self._are_relations_deciding else _MAX_GRAPH_SHARE
        self._relation_items = self._select_relations(int(max_tokens * share))
        price, remaining = self._token_price, max_tokens - sum(item.tokens for item in self._relation_items)
        choice = self._choose_levels(price)
        while choice and self._sum_tokens(choice) > remaining:
            price = max(price * _PRICE_STEP, _MIN_RAISED_PRICE)
            choice = self._choose_levels(price)
        for number, option in choice.items():
            self._select(number, option)
        self._fill_rest(remaining)

    def drop_least_valuable(self) -> bool:
        """Drop the least valuable item; return whether there was any."""
        if self._relation_items and not (self._are_relations_deciding and self._selected):
            self._relation_items.pop()
        elif self._selected:
            del self._selected[min(self._selected, key=lambda number: self._selected[number].level.value)]
        else:
            return False
        return True

    def build_sections(self) -> list[ContextSection]:
        """Build the sections: blocks of code, then what has one line, each best first; relations that decide lead."""
        order = sorted(self._selected, key=lambda number: (not self._selected[number].item.is_block, number))
        items = {
            section: [self._selected[number].item for number in order if self._candidates[number].section == section]
            for section in ("primary", "related")
        }
        sections = (
            _build_section("primary", items["primary"]),
            _build_section("related", items["related"]),
            _build_section("graph", self._relation_items),
        )
        filled = [section for section in sections if section.items]
        return sorted(filled, key=lambda section: section.name != "graph") if self._are_relations_deciding else filled

    def list_hidden(self) -> list[PackableSnippet]:
        """List the results and related code that are worth their tokens, but are not selected."""
        return [
            self._candidates[number]
            for number in self._choose_levels(self._token_price)
            if self._candidates[number].is_listed and number not in self._selected
        ]

    def iter_source(self) -> Iterator[tuple[str, Sequence[WeightedLine]]]:
        """Yield the selected source lines, with their path."""
        for number, selected in self._selected.items():
            yield self._candidates[number].snippet.path, selected.level.lines

    def _choose_levels(self, price: float) -> dict[int, int]:
        """Choose the index of each snippet's best level at a price; those that are not worth any are left out."""
        choice = {}
        for number, levels in enumerate(self._levels):
            gains = [level.value - price * level.tokens for level in levels]
            best = max(range(len(levels)), key=lambda option: (gains[option], option), default=0)
            if gains and gains[best] > 0:
                choice[number] = best
        return choice

    def _sum_tokens(self, choice: dict[int, int]) -> int:
        return sum(self._get_item(number, option).tokens for number, option in choice.items())

    def _fill_rest(self, max_tokens: int) -> None:
        """Raise the detail of snippets, best first, where it is worth its tokens and fits."""
        remaining = max_tokens - sum(selected.item.tokens for selected in self._selected.values())
        for number, levels in enumerate(self._levels):
            selected = self._selected.get(number)
            spent, value = (selected.item.tokens, selected.level.value) if selected else (0, 0.0)
            for option in sorted(range(len(levels)), key=lambda option: -levels[option].value):
                added_value = levels[option].value - value
                if added_value <= 0:
                    break
                if levels[option].tokens * _MIN_ESTIMATE_SHARE - spent > remaining:
                    continue  # too large by any estimate, so it is not counted exactly
                added_tokens = self._get_item(number, option).tokens - spent
                if added_tokens <= remaining and added_value > self._token_price * added_tokens:
                    self._select(number, option)
                    remaining -= added_tokens
                    break

    def _select(self, number: int, option: int) -> None:
        self._selected[number] = _SelectedSnippet(self._levels[number][option], self._get_item(number, option))

    def _get_item(self, number: int, option: int) -> ContextItem:
        """Return the item of a level, with its exact tokens."""
        if (number, option) not in self._items:
            item = _build_item(self._candidates[number], self._levels[number][option])
            self._items[number, option] = replace(item, tokens=self._count_tokens(item))
        return self._items[number, option]

    def _select_relations(self, max_tokens: int) -> list[ContextItem]:
        items = []
        for relation in self._relations:
            item = ContextItem("", "", 0, 0, "", relation, 0, "line")
            item = replace(item, tokens=self._count_tokens(item))
            max_tokens -= item.tokens
            if max_tokens < 0:
                break
            items.append(item)
        return items


def _build_section(name: str, items: Sequence[ContextItem]) -> ContextSection:
    return ContextSection(name, items, sum(item.tokens for item in items))  # type: ignore[arg-type]


def _build_item(candidate: PackableSnippet, level: DetailLevel) -> ContextItem:
    snippet = candidate.snippet
    return ContextItem(
        chunk_id=snippet.chunk_id,
        path=snippet.path,
        start_line=snippet.start_line,
        end_line=snippet.end_line,
        title=f"`{snippet.name}` ({snippet.kind})" if snippet.name else snippet.kind,
        text=level.text,
        tokens=0,
        detail=level.detail,
        language=snippet.language,
        relation=snippet.relation,
        related_to=snippet.related_to,
        name=snippet.name,
        kind=snippet.kind,
    )
