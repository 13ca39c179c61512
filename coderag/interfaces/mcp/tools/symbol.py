"""``coderag_symbol``: what a name is, and what is connected with it."""

from functools import partial

from coderag.interfaces.mcp.arguments import LEAST_TOKENS, MOST_NEIGHBOURS, SymbolArguments
from coderag.interfaces.mcp.missing import as_place
from coderag.interfaces.mcp.pending import pending_reply
from coderag.interfaces.mcp.relations import counted, declarations_of, definition_parts, related_to
from coderag.interfaces.mcp.replies import Reply
from coderag.interfaces.mcp.repositories import Opened
from coderag.interfaces.mcp.structures import Symbol
from coderag.interfaces.mcp.tool import Call, ToolDefinition

_DEFINITION_SHARE = 0.4  # of the tokens, if there are neighbours as well


async def symbol(call: Call, asked: SymbolArguments) -> Reply:
    """Return the definition and the neighbours of a name."""
    opened = await call.open(asked.repository)
    if opened.indexing is not None:
        return await pending_reply(call, opened, asked.name, key="definitions", name=asked.name)
    return await call.run(partial(_told, opened, asked))


def _told(opened: Opened, asked: SymbolArguments) -> Reply:
    cleaner, graph = opened.cleaner(), opened.engine.graph
    name = as_place(opened.repository.root, asked.name)
    declared = declarations_of(graph, name)
    relations = [relation for relation in asked.relations if relation != "definition"]
    related = related_to(graph, name, relations, cleaner, depth=asked.depth, limit=asked.limit, more=_more(asked.limit))
    parts = []
    if "definition" in asked.relations:
        share = _DEFINITION_SHARE if relations else 1.0
        parts = definition_parts(opened.engine, declared, cleaner, max(LEAST_TOKENS, int(asked.max_tokens * share)))
    first = declared[0]
    counts = counted(related.counts)
    return Reply(
        facts={
            "repository": opened.name,
            "name": cleaner.line(first.name),
            "definitions": [],
            "neighbours": [],
            "counts": related.counts,
        },
        intro=[f"`{cleaner.line(first.name)}` ({first.kind}) in {opened.name}{f': {counts}' if counts else ''}"],
        parts=[*parts, *related.parts],
        notes=related.notes,
        more=lambda _: "the same call with fewer relations, a lower limit, or depth 1.",
        max_tokens=asked.max_tokens,
    )


def _more(limit: int) -> str:
    return "a higher limit" if limit < MOST_NEIGHBOURS else "one relation at a time, of a narrower name"


SYMBOL = ToolDefinition(
    "coderag_symbol",
    "Look up a symbol",
    "Get a function, class, file or other name with its code and what is connected with it: callers, callees, implementations, "
    "subclasses, bases, importers, tests, references, or impact (all that may break). Call it before you change or rename "
    "something. Returns places with the line of evidence; an ambiguous name gets its candidates.",
    SymbolArguments,
    Symbol,
    symbol,
)
