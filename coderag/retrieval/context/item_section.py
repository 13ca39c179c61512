"""Section of a context with mirrored pages and tickets: the nearest section of each, best first."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from coderag.schema.context import ContextItem, ContextSection
from coderag.schema.query import FoundItem
from coderag.schema.vocabulary import Evidence

ItemTokenCounter = Callable[[ContextItem], int]

_BUDGET_SHARES: Final[dict[Evidence, float]] = {"found": 0.6, "weak": 0.4, "unknown": 0.2, "not_found": 0.0}
"""Share of the budget that items may take, by the verdict on them."""

_MIN_SCORE_SHARE: Final = 0.7  # of the best item's score: that of all right items of the golden set


def build_item_section(
    hits: Sequence[FoundItem], verdict: Evidence, token_budget: int, count_tokens: ItemTokenCounter
) -> list[ContextSection]:
    """Build the section of items within a share of a budget; empty without items, or without room for one.

    An item whose section does not fit shows the lines of it that are nearest to the question.
    """
    remaining = int(token_budget * _BUDGET_SHARES[verdict])
    min_score = _MIN_SCORE_SHARE * max((hit["score"] for hit in hits), default=0.0)
    items: list[ContextItem] = []
    for hit in hits:
        if hit["score"] < min_score:
            break
        for item in (_build_section_item(hit), _build_snippet_item(hit)):
            tokens = count_tokens(item)
            if tokens <= remaining:
                items.append(replace(item, tokens=tokens))
                remaining -= tokens
                break
    return [ContextSection("items", items, sum(item.tokens for item in items))] if items else []


def format_item_title(hit: FoundItem) -> str:
    """Format what names an item: a ticket's key, the title, the heading, and type, status and revision."""
    key = f"{hit['id']} " if hit["kind"] == "ticket" and not hit["title"].startswith(hit["id"]) else ""
    heading = f" > {hit['heading']}" if hit["heading"] else ""
    state = ", ".join(filter(None, (hit["type"] or hit["kind"], hit["status"], _format_revision(hit["revision"]))))
    return f"{key}{hit['title']}{heading} ({state})"


def _format_revision(revision: str) -> str:
    return f"revision {revision}" if revision else ""


def _build_section_item(hit: FoundItem) -> ContextItem:
    return ContextItem(
        chunk_id="",
        path=hit["path"],
        start_line=hit["start_line"],
        end_line=hit["end_line"],
        title=format_item_title(hit),
        text=hit["text"],
        tokens=0,
        detail="full",
        language="markdown",
        name=hit["id"],
        kind=hit["kind"],
        url=hit["url"],
        revision=hit["revision"],
    )


def _build_snippet_item(hit: FoundItem) -> ContextItem:
    end_line = hit["snippet_line"] + hit["snippet"].count("\n")
    section = _build_section_item(hit)
    return replace(section, start_line=hit["snippet_line"], end_line=end_line, text=hit["snippet"], detail="elided")
