"""Mirrored pages and tickets in replies."""

from collections.abc import Sequence
from typing import Any, Final

from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.replies import ReplyPart
from coderag.schema.chunks import format_location
from coderag.schema.item_search import ItemHit, ItemReference, ItemSummary, ItemText

ITEMS_KEY: Final = "items"
_TITLE: Final = "Pages and tickets"
_MAX_REFERENCES: Final = 20


def build_hit_part(hit: ItemHit, cleaner: Cleaner) -> ReplyPart:
    """Build the part of an item that a search found, with the lines nearest to the question."""
    record = _build_record(hit.item, cleaner)
    heading = cleaner.clean_line(hit.heading)
    record |= {"heading": heading, "start_line": hit.start_line, "end_line": hit.end_line}
    text = f"{_format_heading(hit.item, cleaner)}{f' > {heading}' if heading else ''}"
    return ReplyPart(text, [record], cleaner.clean_code(hit.snippet), "markdown", ITEMS_KEY, _TITLE)


def build_list_part(item: ItemSummary, cleaner: Cleaner) -> ReplyPart:
    """Build the line of an item in a list."""
    text = _format_heading(item, cleaner).removeprefix("### ")
    return ReplyPart(f"- {text}", [_build_record(item, cleaner)], key=ITEMS_KEY, title=_TITLE)


def build_text_parts(page: ItemText, cleaner: Cleaner) -> list[ReplyPart]:
    """Build the page of an item's text, and what it names in the code."""
    record = {**_build_record(page.item, cleaner), "page": page.page, "pages": page.pages}
    heading = _format_heading(page.item, cleaner)
    parts = [ReplyPart(heading, [record], cleaner.clean_code(page.text.strip("\n")), "markdown", ITEMS_KEY, _TITLE)]
    title = "Named in its text (by their spelling alone)"
    return [
        *parts,
        *(
            ReplyPart(_format_reference(reference, cleaner), [_to_record(reference)], key="references", title=title)
            for reference in page.references[:_MAX_REFERENCES]
        ),
    ]


def _format_heading(item: ItemSummary, cleaner: Cleaner) -> str:
    key = f"{item.id}: " if item.kind == "ticket" else ""
    details = [item.type or item.kind, item.status, f"revision {item.revision}" if item.revision else "", item.url]
    return f"### {cleaner.clean_line(key + item.title)} ({cleaner.clean_line(', '.join(filter(None, details)))})"


def _build_record(item: ItemSummary, cleaner: Cleaner) -> dict[str, Any]:
    values: dict[str, Any] = {
        "source": item.source,
        "id": item.id,
        "kind": item.kind,
        "title": cleaner.clean_line(item.title),
        "path": item.path,
        "url": cleaner.clean_line(item.url),
        "revision": cleaner.clean_line(item.revision),
        "type": cleaner.clean_line(item.type),
        "status": cleaner.clean_line(item.status),
        "labels": list(map(cleaner.clean_line, item.labels)),
        "modified": item.modified.isoformat() if item.modified else "",
    }
    return {name: value for name, value in values.items() if value}


def _format_reference(reference: ItemReference, cleaner: Cleaner) -> str:
    place = format_location(reference.path, reference.line, reference.line)
    return f"- {cleaner.clean_line(reference.name or reference.text)} ({reference.kind}) {cleaner.clean_line(place)}"


def _to_record(reference: ItemReference) -> dict[str, Any]:
    return {"name": reference.name, "kind": reference.kind, "path": reference.path, "line": reference.line}


def clean_notes(notes: Sequence[str], cleaner: Cleaner) -> list[str]:
    """Return notes on what was not synchronised as lines."""
    return list(map(cleaner.clean_line, notes))
