"""Mirrored pages and tickets that were found for a question."""

from collections.abc import Sequence
from typing import Final

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.schema.query import FoundItem, QueryState

_MIN_SCORE_SHARE: Final = 0.75  # of the best item's score: 43 of 44 right items of the golden set have as much


def get_found_items(state: QueryState) -> Sequence[FoundItem]:
    """Return the items of a state, best first."""
    results = state.get("items")
    return results["hits"] if results else ()


def list_relevant_items(state: QueryState, limit: int) -> list[FoundItem]:
    """List the items that are nearly as good as the best one, unless none answers."""
    results = state.get("items")
    if not results or results["verdict"] not in ("found", "weak"):
        return []
    best = max((hit["score"] for hit in results["hits"]), default=0.0)
    return [hit for hit in results["hits"] if hit["score"] >= _MIN_SCORE_SHARE * best][:limit]


def to_item_lines(item: FoundItem) -> CitedLines:
    """Return the cited lines of an item's section."""
    return CitedLines(item["path"], item["start_line"], item["end_line"], item["text"])
