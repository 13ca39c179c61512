"""``coderag_explain``: overview of a file or declaration and its relations."""

from functools import partial
from typing import Final

from coderag.errors import InvalidQueryError, UnknownNameError
from coderag.interfaces.mcp.arguments import MIN_TOKENS, ExplainArguments
from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.declarations import find_declarations
from coderag.interfaces.mcp.definition_parts import (
    build_definition_parts,
    build_description_parts,
    build_outline_parts,
    find_documentation,
)
from coderag.interfaces.mcp.paths import normalize_place, refuse_path, strip_line_range
from coderag.interfaces.mcp.pending_reply import build_pending_reply
from coderag.interfaces.mcp.relations import find_related_parts, format_counts
from coderag.interfaces.mcp.replies import McpReply
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.interfaces.mcp.tool import ToolDefinition, ToolRequest
from coderag.schema.search import Filters, SearchHit

_DECLARATION_RELATIONS: Final = ("callers", "callees", "bases", "subclasses", "tests", "documents")
_FILE_RELATIONS: Final = ("imports", "importers", "tests", "documents")
_RELATION_LIMITS: Final = {"brief": 5, "detailed": 20}
_NEXT_CALLS: Final = {
    "brief": f"detail_level detailed shows up to {_RELATION_LIMITS['detailed']} of each",
    "detailed": "coderag_symbol with one relation and a limit; imports stand at the head of the file",
}
_CODE_SHARE: Final = 0.5
_OUTLINE_DEPTHS: Final = {"brief": 1, "detailed": 9}
_MAX_OTHERS: Final = 8


async def run_explain(call: ToolRequest, arguments: ExplainArguments) -> McpReply:
    """Explain a file or a declaration."""
    handle = await call.open(arguments.repository)
    subject = arguments.name.strip() or arguments.file_path.strip()
    if handle.indexing_job is not None:
        return await build_pending_reply(call, handle, subject, key="definitions", subject=subject)
    return await call.run(partial(_explain_name if arguments.name.strip() else _explain_file, handle, arguments))


def _explain_name(handle: RepositoryHandle, arguments: ExplainArguments) -> McpReply:
    engine, cleaner = handle.engine, handle.make_cleaner()
    named = find_declarations(engine.graph, arguments.name.strip())
    limit, next_call = _RELATION_LIMITS[arguments.detail_level], _NEXT_CALLS[arguments.detail_level]
    related = find_related_parts(engine, named.name, _DECLARATION_RELATIONS, cleaner, limit=limit, next_call=next_call)
    first = named.declarations[0]
    parts = list(build_description_parts(engine, named.declarations, engine.definition(first.qualified_name), cleaner))
    if arguments.detail_level == "detailed":
        budget = max(MIN_TOKENS, int(arguments.max_tokens * _CODE_SHARE))
        parts += build_definition_parts(engine, named.declarations, cleaner, budget, "definition")
    name = cleaner.clean_line(first.name)
    others = [cleaner.clean_line(other.name) for other in named.others]
    remaining = f", {len(others) - _MAX_OTHERS} more" if len(others) > _MAX_OTHERS else ""
    return McpReply(
        facts={
            "repository": handle.name,
            "subject": name,
            "kind": first.kind,
            "definitions": [],
            "neighbours": [],
            "counts": related.counts,
        },
        intro=[
            *([] if first.path else [f"{name} is no declaration of this repository"]),
            *([f"{name}; also: {', '.join(others[:_MAX_OTHERS])}{remaining}"] if others else []),
        ],
        parts=[*parts, *related.parts],
        notes=[*_describe_missing_use(related.counts, name), *related.notes],
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
    declarations = find_declarations(engine.graph, path).declarations
    path = next((declaration.path for declaration in declarations if declaration.path), path)
    facts = _describe_file(_find_file_hit(handle, path), cleaner)
    limit, next_call = _RELATION_LIMITS[arguments.detail_level], _NEXT_CALLS[arguments.detail_level]
    related = find_related_parts(engine, path, _FILE_RELATIONS, cleaner, limit=limit, next_call=next_call)
    outline = build_outline_parts(
        path, entries, cleaner, depth=_OUTLINE_DEPTHS[arguments.detail_level], title="outline"
    )
    properties = ", ".join(facts[key] for key in ("language", "role") if key in facts)
    return McpReply(
        facts={
            "repository": handle.name,
            "subject": path,
            "kind": "file",
            **facts,
            "outline": [],
            "neighbours": [],
            "counts": related.counts,
        },
        intro=[
            f"{cleaner.clean_line(path)}{f' ({properties})' if properties else ''}",
            *([facts["documentation"]] if "documentation" in facts else []),
        ],
        parts=[*outline, *related.parts],
        notes=[*_describe_missing_use(related.counts, path), *related.notes],
        describe_next_call=lambda _: f"coderag_context with file_path={path}.",
        max_tokens=arguments.max_tokens,
    )


def _describe_file(hit: SearchHit | None, cleaner: Cleaner) -> dict[str, str]:
    """Return language, role and documentation of a file; a hit that is only a part of its file has none."""
    if hit is None:
        return {}
    documentation = find_documentation(hit, cleaner) if hit.kind == "module" else ""
    facts = {"language": hit.language, "role": hit.role, "documentation": documentation}
    return {key: fact for key, fact in facts.items() if fact}


def _find_file_hit(handle: RepositoryHandle, path: str) -> SearchHit | None:
    """Find the hit that represents a file: its module chunk, else its first chunk."""
    try:
        hits = handle.engine.search(path, top_k=3, filters=Filters(paths=(path,)))
    except InvalidQueryError:  # a path without a searchable word
        return None
    return next((hit for hit in hits if hit.kind == "module"), hits[0] if hits else None)


def _describe_missing_use(counts: dict[str, int], name: str) -> list[str]:
    return [] if format_counts(counts) else [f"No use of {name} could be resolved, and no other line mentions it."]


EXPLAIN = ToolDefinition(
    "coderag_explain",
    "Explain a file or symbol",
    "Overview of one file (outline) or name: signature, first sentence of documentation, members, who calls and tests it. "
    "Call it instead of reading a whole file.",
    ExplainArguments,
    run_explain,
)
