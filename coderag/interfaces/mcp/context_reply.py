"""Conversion of an assembled context into a reply."""

from collections.abc import Iterable
from typing import Any

from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.replies import McpReply, ReplyPart
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.interfaces.mcp.verdicts import suggest_next_steps, to_verdict_fields
from coderag.retrieval.context.parts import format_relation
from coderag.schema.chunks import format_location
from coderag.schema.context import AssembledContext, ContextItem, Omission
from coderag.text.code_fences import format_code_span

_MAX_OMISSIONS = 8
_TOKENS_PER_OMISSION = 250  # of the reply; in a small reply the list would displace code
_SECTION_TITLES = {
    "items": ("items", "Pages and tickets"),
    "primary": ("results", "Results"),
    "related": ("related", "Related code"),
    "graph": ("map", "How they relate"),
}


def build_context_reply(
    handle: RepositoryHandle, context: AssembledContext, *, max_tokens: int, excluded_relations: Iterable[str] = ()
) -> McpReply:
    """Build a reply from a context.

    Args:
        handle: The repository.
        context: The context.
        max_tokens: Maximum size of the text.
        excluded_relations: Relations whose code is left out.
    """
    cleaner, excluded = handle.make_cleaner(), set(excluded_relations)
    parts = [
        _build_part(item, section.name, cleaner)
        for section in context.sections
        for item in section.items
        if item.relation not in excluded
    ]
    omitted = [
        _format_omission(omission, cleaner) for omission in context.omitted[: _compute_max_omissions(max_tokens)]
    ]
    notes = [f"{cleaner.clean_line(note)}." for note in context.notes]
    notes += suggest_next_steps(context.evidence, context.not_indexed, cleaner)
    if omitted:
        remaining = len(context.omitted) - len(omitted)
        sentence = f"Left out for size: {'; '.join(omitted)}{f' and {remaining} more' if remaining > 0 else ''}."
        notes.append(f"{sentence} coderag_context with file_path=PLACE shows one.")
    if context.shown_before:
        notes.append(
            f"Shown before in this session: {', '.join(map(cleaner.clean_line, context.shown_before[:_MAX_OMISSIONS]))}"
        )
    reply = McpReply(
        facts={
            "repository": handle.name,
            **to_verdict_fields(context.evidence, context.confidence),
            "results": [],
            **({"omitted": omitted} if omitted else {}),
        },
        parts=parts,
        notes=notes,
        max_tokens=max_tokens,
    )
    reply.describe_next_call = lambda shown_count: (
        f"coderag_context with file_path={_format_next_place(parts[shown_count:])}."
    )
    if cleaner.secret_count:
        sentence = "1 secret was" if cleaner.secret_count == 1 else f"{cleaner.secret_count} secrets were"
        reply.notes.append(f"{sentence} removed.")
    return reply


def _build_part(item: ContextItem, section: str, cleaner: Cleaner) -> ReplyPart:
    key, title = _SECTION_TITLES[section]
    if not item.path:
        line = cleaner.clean_line(item.text)
        return ReplyPart(f"- {line}", [{"line": line}], key=key, title=title)
    data: dict[str, Any] = {
        "path": item.path,
        "start_line": item.start_line,
        "end_line": item.end_line,
        "name": cleaner.clean_line(item.name),
        "kind": item.kind,
    }
    if item.detail != "full":
        data["detail"] = item.detail
    place = cleaner.clean_line(format_location(item.path, item.start_line, item.end_line))
    text = f"{'###' if item.is_block else '-'} {place} {cleaner.clean_line(item.title)}"
    if item.relation:
        data |= {"relation": item.relation, "related_to": cleaner.clean_line(item.related_to)}
        text += f" ({format_relation(item)} {format_code_span(data['related_to'])})"
    if not item.is_block:
        line = cleaner.clean_line(item.text)
        text = f"{text}: {format_code_span(line)}" if line else text
        return ReplyPart(text, [{**data, "code": line} if line else data], key=key, title=title)
    return ReplyPart(text, [data], cleaner.clean_code(item.text), item.language, key, title)


def _compute_max_omissions(max_tokens: int) -> int:
    return min(_MAX_OMISSIONS, max(2, max_tokens // _TOKENS_PER_OMISSION))


def _format_omission(omission: Omission, cleaner: Cleaner) -> str:
    return cleaner.clean_line(
        f"{format_location(omission.path, omission.start_line, omission.end_line)} ({omission.tokens} tokens)"
    )


def _format_next_place(parts: Iterable[ReplyPart]) -> str:
    data = next((record for part in parts for record in part.records if "path" in record), None)
    return f"{data['path']}:{data['start_line']}-{data['end_line']}" if data else "PLACE"
