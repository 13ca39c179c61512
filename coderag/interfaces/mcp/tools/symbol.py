"""``coderag_symbol``: definition and neighbours of a symbol."""

from functools import partial
from typing import cast

from coderag.interfaces.mcp.arguments import MAX_NEIGHBOURS, MIN_TOKENS, SymbolArguments
from coderag.interfaces.mcp.paths import normalize_place
from coderag.interfaces.mcp.pending_reply import build_pending_reply
from coderag.interfaces.mcp.relations import (
    build_definition_parts,
    find_declarations,
    find_related_parts,
    format_counts,
)
from coderag.interfaces.mcp.replies import McpReply
from coderag.interfaces.mcp.reply_types import SymbolResult
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.interfaces.mcp.result_parts import build_unused_part
from coderag.interfaces.mcp.tool import ToolDefinition, ToolRequest
from coderag.retrieval.mentions.wording import list_unused_notes
from coderag.schema.graph_queries import GraphQuery

_DEFINITION_SHARE = 0.4  # of the tokens, if there are neighbours as well


async def run_symbol(call: ToolRequest, arguments: SymbolArguments) -> McpReply:
    """Return the definition and the neighbours of a symbol."""
    handle = await call.open(arguments.repository)
    if handle.indexing_job is not None:
        return await build_pending_reply(call, handle, arguments.name, key="definitions", name=arguments.name)
    return await call.run(partial(_build_reply, handle, arguments))


def _build_reply(handle: RepositoryHandle, arguments: SymbolArguments) -> McpReply:
    cleaner, graph = handle.make_cleaner(), handle.engine.graph
    name = normalize_place(handle.repository.root, arguments.name)
    if "unused" in arguments.relations:
        return _build_unused_reply(handle, arguments, name)
    declarations = find_declarations(graph, name)
    relations = cast(
        "list[GraphQuery]", [relation for relation in arguments.relations if relation not in {"definition", "unused"}]
    )
    related = find_related_parts(
        handle.engine,
        name,
        relations,
        cleaner,
        depth=arguments.depth,
        limit=arguments.limit,
        next_call=_suggest_narrowing(arguments.limit),
    )
    parts = []
    if "definition" in arguments.relations:
        share = _DEFINITION_SHARE if relations else 1.0
        parts = build_definition_parts(
            handle.engine, declarations, cleaner, max(MIN_TOKENS, int(arguments.max_tokens * share))
        )
    first = declarations[0]
    counts = format_counts(related.counts)
    return McpReply(
        facts={
            "repository": handle.name,
            "name": cleaner.clean_line(first.name),
            "definitions": [],
            "neighbours": [],
            "counts": related.counts,
        },
        intro=[f"`{cleaner.clean_line(first.name)}` ({first.kind}) in {handle.name}{f': {counts}' if counts else ''}"],
        parts=[*parts, *related.parts],
        notes=related.notes,
        describe_next_call=lambda _: "the same call with fewer relations, a lower limit, or depth 1.",
        max_tokens=arguments.max_tokens,
    )


def _build_unused_reply(handle: RepositoryHandle, arguments: SymbolArguments, name: str) -> McpReply:
    """Return the declarations of a file or folder that nothing is known to use."""
    cleaner = handle.make_cleaner()
    report = handle.engine.unused("" if name in (".", "/") else name, limit=arguments.limit)
    where = cleaner.clean_line(report.path or "the repository")
    return McpReply(
        facts={"repository": handle.name, "name": where, "unused": [], "counts": {"unused": report.total}},
        intro=[f"{report.total} declarations of {where} have no known use ({handle.name})"],
        parts=[build_unused_part(declaration, cleaner) for declaration in report.results],
        notes=[cleaner.clean_line(note) for note in list_unused_notes(report)],
        describe_next_call=lambda _: "the same call for one folder or file.",
        max_tokens=arguments.max_tokens,
    )


def _suggest_narrowing(limit: int) -> str:
    return "a higher limit" if limit < MAX_NEIGHBOURS else "one relation at a time, of a narrower name"


SYMBOL = ToolDefinition(
    "coderag_symbol",
    "Look up a symbol",
    "Get a function, class, file or other name with its code and what is connected with it: callers, callees, implementations, "
    "subclasses, bases, importers, tests, references, impact (all that may break), or unused (dead code of a file or folder). "
    "Call it before you change or rename something. Returns places with the line of evidence, or the lines that mention the "
    "name where nothing is resolved; an ambiguous name gets its candidates.",
    SymbolArguments,
    SymbolResult,
    run_symbol,
)
