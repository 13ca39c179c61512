"""An assembled context as a reply."""

from collections.abc import Iterable
from typing import Any

from coderag.interfaces.mcp.cleaning import Cleaner, span
from coderag.interfaces.mcp.places import advice, verdict_facts, verdict_line
from coderag.interfaces.mcp.replies import Part, Reply
from coderag.interfaces.mcp.repositories import Opened
from coderag.retrieval.context.parts import format_relation
from coderag.schema.chunks import location_of
from coderag.schema.context import AssembledContext, ContextItem, Omission

_MOST_OMITTED = 8
_TOKENS_AN_OMISSION = 250  # of the reply: in a small one the list would take the place of code
_TITLES = {
    "primary": ("results", "Results"),
    "related": ("related", "Related code"),
    "graph": ("map", "How they relate"),
}


def context_reply(opened: Opened, context: AssembledContext, *, max_tokens: int, without: Iterable[str] = ()) -> Reply:
    """Return a context as a reply.

    Args:
        opened: Its repository.
        context: The context.
        max_tokens: Size of the text, at most.
        without: Relations whose code is not wanted.
    """
    cleaner, unwanted = opened.cleaner(), set(without)
    parts = [
        _part(item, section.name, cleaner)
        for section in context.sections
        for item in section.items
        if item.relation not in unwanted
    ]
    omitted = [_omitted(one, cleaner) for one in context.omitted[: _most_omitted(max_tokens)]]
    notes = advice(context.evidence, context.not_indexed, cleaner)
    if omitted:
        more = len(context.omitted) - len(omitted)
        told = f"Left out for size: {'; '.join(omitted)}{f' and {more} more' if more > 0 else ''}."
        notes.append(f"{told} coderag_context with file_path=PLACE shows one.")
    if context.shown_before:
        notes.append(
            f"Shown before in this session: {', '.join(map(cleaner.line, context.shown_before[:_MOST_OMITTED]))}"
        )
    reply = Reply(
        facts={
            "repository": opened.name,
            **verdict_facts(context.evidence, context.confidence),
            "results": [],
            **({"omitted": omitted} if omitted else {}),
        },
        intro=[f"{verdict_line(context.evidence, context.confidence)} in {opened.name}"],
        parts=parts,
        notes=notes,
        max_tokens=max_tokens,
    )
    reply.more = lambda shown: f"coderag_context with file_path={_places(parts[shown:])}."
    if cleaner.secrets:
        told = "1 secret was" if cleaner.secrets == 1 else f"{cleaner.secrets} secrets were"
        reply.notes.append(f"{told} removed.")
    return reply


def _part(item: ContextItem, section: str, cleaner: Cleaner) -> Part:
    key, title = _TITLES[section]
    if not item.path:
        line = cleaner.line(item.text)
        return Part(f"- {line}", {"line": line}, key=key, title=title)
    data: dict[str, Any] = {
        "path": item.path,
        "start_line": item.start_line,
        "end_line": item.end_line,
        "name": cleaner.line(item.name),
        "kind": item.kind,
    }
    if item.detail != "full":
        data["detail"] = item.detail
    place = cleaner.line(location_of(item.path, item.start_line, item.end_line))
    told = f"### {place} {cleaner.line(item.title)}"
    if item.relation:
        data |= {"relation": item.relation, "related_to": cleaner.line(item.related_to)}
        told += f" ({format_relation(item)} {span(data['related_to'])})"
    if item.detail == "line":
        line = cleaner.line(item.text)
        return Part(f"{told}: {line}" if line else told, {**data, "code": line} if line else data, key=key, title=title)
    return Part(told, data, cleaner.code(item.text), item.language, key, title)


def _most_omitted(max_tokens: int) -> int:
    return min(_MOST_OMITTED, max(2, max_tokens // _TOKENS_AN_OMISSION))


def _omitted(one: Omission, cleaner: Cleaner) -> str:
    return cleaner.line(f"{location_of(one.path, one.start_line, one.end_line)} ({one.tokens} tokens)")


def _places(parts: Iterable[Part]) -> str:
    data = next((part.data for part in parts if "path" in part.data), None)
    return f"{data['path']}:{data['start_line']}-{data['end_line']}" if data else "PLACE"
