"""Section of an answer with mirrored pages and tickets, each with its address and revision."""

from collections.abc import Sequence
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.found_items import list_relevant_items, to_item_lines
from coderag.answering.extractive.sections import DraftSection, DraftStatement, Excerpt, Part
from coderag.answering.extractive.wording import format_code, format_prose
from coderag.schema.query import FoundItem

_MAX_ITEMS: Final = 5
_MAX_EXCERPTS: Final = 2
_MAX_TITLE_CHARS: Final = 160


def build_items(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of the items that answer, and what was not synchronised; None if there is nothing of either."""
    del sections
    results = answer_input.state.get("items")
    if results is None:
        return None
    items = list_relevant_items(answer_input.state, _MAX_ITEMS)
    statements = [_build_statement(item, position) for position, item in enumerate(items)]
    statements += [DraftStatement([format_prose(note)], is_claim=False) for note in results["notes"]]
    return DraftSection("items", statements, missing=results["notes"]) if statements else None


def _build_statement(item: FoundItem, position: int) -> DraftStatement:
    lines = to_item_lines(item)
    key = f"{format_code(item['id'])} " if item["kind"] == "ticket" else ""
    title = format_prose(item["title"][:_MAX_TITLE_CHARS])
    details = [
        format_prose(item["type"]),
        format_prose(item["status"]),
        f"revision {format_code(item['revision'])}" if item["revision"] else "",
        format_code(item["url"]),
    ]
    described = ", ".join(filter(None, details))
    section = f", section {format_code(item['heading'])}" if item["heading"] else ""
    parts: list[Part] = [f"{key}**{title}**{f' ({described})' if described else ''}{section} — ", lines]
    excerpt = None
    if position < _MAX_EXCERPTS:
        line_range = range(item["snippet_line"], item["snippet_line"] + item["snippet"].count("\n") + 1)
        excerpt = Excerpt(lines, [line_range], "markdown")
    return DraftStatement(parts, "documents", excerpt)
