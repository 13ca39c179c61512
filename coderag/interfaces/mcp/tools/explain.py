"""``coderag_explain``: overview of a file or declaration and its relations."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from coderag.errors import InvalidQueryError, UnknownNameError
from coderag.interfaces.mcp.arguments import MIN_TOKENS, ExplainArguments
from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.paths import normalize_place, refuse_path, strip_line_range
from coderag.interfaces.mcp.pending_reply import build_pending_reply
from coderag.interfaces.mcp.relations import (
    build_definition_parts,
    find_declarations,
    find_related_parts,
    format_counts,
)
from coderag.interfaces.mcp.replies import McpReply, ReplyPart
from coderag.interfaces.mcp.reply_types import ExplainResult
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.interfaces.mcp.result_parts import build_hit_part
from coderag.interfaces.mcp.tool import ToolDefinition, ToolRequest
from coderag.schema.graph import OutlineEntry
from coderag.schema.search import Filters, SearchHit
from coderag.text.code_fences import format_code_span

if TYPE_CHECKING:
    from coderag.codegraph.graph import CodeGraph

_DECLARATION_RELATIONS: Final = ("callers", "callees", "bases", "subclasses", "tests", "documents")
_FILE_RELATIONS: Final = ("imports", "importers", "tests", "documents")
_RELATION_LIMITS: Final = {"brief": 5, "detailed": 20}
_NEXT_CALLS: Final = {
    "brief": f"detail_level detailed shows up to {_RELATION_LIMITS['detailed']} of each",
    "detailed": "coderag_symbol with one relation and a limit; imports stand at the head of the file",
}
_BRIEF_LINES: Final = 12
_CODE_SHARE: Final = 0.5
_MAX_OUTLINE_DEPTH: Final = 9


async def run_explain(call: ToolRequest, arguments: ExplainArguments) -> McpReply:
    """Explain a file or a declaration."""
    handle = await call.open(arguments.repository)
    subject = arguments.name.strip() or arguments.file_path.strip()
    if handle.indexing_job is not None:
        return await build_pending_reply(call, handle, subject, key="definitions", subject=subject)
    return await call.run(partial(_explain_name if arguments.name.strip() else _explain_file, handle, arguments))


def _explain_name(handle: RepositoryHandle, arguments: ExplainArguments) -> McpReply:
    engine, cleaner = handle.engine, handle.make_cleaner()
    name = arguments.name.strip()
    declarations = find_declarations(engine.graph, name)
    limit, next_call = _RELATION_LIMITS[arguments.detail_level], _NEXT_CALLS[arguments.detail_level]
    related = find_related_parts(engine, name, _DECLARATION_RELATIONS, cleaner, limit=limit, next_call=next_call)
    first = declarations[0]
    hit = next(
        (candidate for candidate in engine.definition(first.qualified_name) if str(candidate.path) == first.path), None
    )
    if arguments.detail_level == "detailed" or hit is None:
        budget = max(MIN_TOKENS, int(arguments.max_tokens * _CODE_SHARE))
        parts = build_definition_parts(engine, declarations, cleaner, budget)
    else:
        parts = [build_hit_part(hit, cleaner, lines=_BRIEF_LINES, key="definitions")]
    name, path = cleaner.clean_line(first.name), cleaner.clean_line(first.path) or "no file of this repository"
    return McpReply(
        facts={
            "repository": handle.name,
            "subject": name,
            "kind": first.kind,
            **_describe_hit(hit, cleaner),
            "fits": _format_fit(related.counts, name),
            "definitions": [],
            "neighbours": [],
            "counts": related.counts,
        },
        intro=[
            f"{format_code_span(name)}, {first.kind} in {path} ({handle.name})",
            *_keep_unshown_summary(_describe_hit(hit, cleaner).get("summary", ""), parts),
            _format_fit(related.counts, name),
        ],
        parts=[*parts, *related.parts],
        notes=related.notes,
        describe_next_call=lambda _: "coderag_symbol with one relation at a time.",
        max_tokens=arguments.max_tokens,
    )


def _explain_file(handle: RepositoryHandle, arguments: ExplainArguments) -> McpReply:
    engine, cleaner = handle.engine, handle.make_cleaner()
    path = strip_line_range(normalize_place(handle.repository.root, arguments.file_path))
    try:
        entries = engine.graph.outline(path)
    except UnknownNameError as error:
        refuse_path(engine, path, error)
    path = next((declaration.path for declaration in find_declarations(engine.graph, path) if declaration.path), path)
    hit = _find_file_hit(handle, path)
    limit, next_call = _RELATION_LIMITS[arguments.detail_level], _NEXT_CALLS[arguments.detail_level]
    related = find_related_parts(engine, path, _FILE_RELATIONS, cleaner, limit=limit, next_call=next_call)
    lines = list(_flatten_outline(entries, 0 if arguments.detail_level == "brief" else _MAX_OUTLINE_DEPTH))
    return McpReply(
        facts={
            "repository": handle.name,
            "subject": path,
            "kind": "file",
            **_describe_hit(hit, cleaner, is_file=True),
            "fits": _format_fit(related.counts, path),
            "outline": [],
            "neighbours": [],
            "counts": related.counts,
        },
        intro=[
            f"{cleaner.clean_line(path)}, a file of {handle.name}",
            *(f"{key}: {value}" for key, value in _describe_hit(hit, cleaner, is_file=True).items()),
            _format_fit(related.counts, path),
        ],
        parts=[*(_build_outline_part(path, depth, entry, cleaner) for depth, entry in lines), *related.parts],
        notes=related.notes,
        describe_next_call=lambda _: f"coderag_context with file_path={path}.",
        max_tokens=arguments.max_tokens,
    )


def format_outline(graph: "CodeGraph", path: str, cleaner: Cleaner) -> list[str]:
    """Format all declarations of a file, one per line, nested ones indented.

    Raises:
        UnknownNameError: The file is not indexed.
    """
    entries = _flatten_outline(graph.outline(path), _MAX_OUTLINE_DEPTH)
    return [_build_outline_part(path, depth, entry, cleaner).text for depth, entry in entries]


def _keep_unshown_summary(summary: str, parts: Iterable[ReplyPart]) -> list[str]:
    """Return a summary unless one of the parts contains it."""
    return [summary] if summary and not any(summary in part.full_text for part in parts) else []


def _describe_hit(hit: SearchHit | None, cleaner: Cleaner, *, is_file: bool = False) -> dict[str, str]:
    """Return language, role and summary of a hit; a hit that is only a part of its file has no summary."""
    if hit is None:
        return {}
    summary = "" if is_file and hit.kind != "module" else cleaner.clean_line(hit.summary)
    values = {"language": hit.language, "role": hit.role, "summary": summary}
    return {key: value for key, value in values.items() if value}


def _find_file_hit(handle: RepositoryHandle, path: str) -> SearchHit | None:
    """Find the hit that represents a file: its module chunk, else its first chunk."""
    try:
        hits = handle.engine.search(path, top_k=3, filters=Filters(paths=(path,)))
    except InvalidQueryError:  # a path without a searchable word
        return None
    return next((hit for hit in hits if hit.kind == "module"), hits[0] if hits else None)


def _format_fit(counts: dict[str, int], name: str) -> str:
    counts_text = format_counts(counts)
    return (
        f"How it fits: {counts_text}."
        if counts_text
        else (f"How it fits: no use of {name} could be resolved, and no other line mentions it.")
    )


def _flatten_outline(
    entries: Iterable[OutlineEntry], max_depth: int, depth: int = 0
) -> Iterator[tuple[int, OutlineEntry]]:
    for entry in entries:
        yield depth, entry
        if depth < max_depth:
            yield from _flatten_outline(entry.children, max_depth, depth + 1)


def _build_outline_part(path: str, depth: int, entry: OutlineEntry, cleaner: Cleaner) -> ReplyPart:
    name = cleaner.clean_line(entry.qualified_name)
    data = {
        "path": path,
        "start_line": entry.start_line,
        "end_line": entry.end_line,
        "name": name,
        "kind": entry.kind,
        "depth": depth,
    }
    holds = f" (holds {len(entry.children)})" if entry.children else ""
    text = f"{'  ' * depth}- {entry.kind} {format_code_span(name)} {entry.start_line}-{entry.end_line}{holds}"
    return ReplyPart(text, data, key="outline", title="Outline")


EXPLAIN = ToolDefinition(
    "coderag_explain",
    "Explain a file or symbol",
    "Get an overview of one file or name: outline, signature, summary, who calls and tests it, how it fits in. "
    "Call it instead of reading a whole file. detailed adds code, nested declarations and longer lists.",
    ExplainArguments,
    ExplainResult,
    run_explain,
)
