"""``coderag_context``: the code for a question or of a place, packed into a budget."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from coderag.errors import InvalidQueryError
from coderag.interfaces.mcp.arguments import ContextArguments
from coderag.interfaces.mcp.contexts import context_reply
from coderag.interfaces.mcp.missing import as_place, path_of, refuse_path
from coderag.interfaces.mcp.pending import pending_reply
from coderag.interfaces.mcp.places import neighbour_part
from coderag.interfaces.mcp.replies import MOST_CHARACTERS, Part, Reply
from coderag.interfaces.mcp.repositories import Opened
from coderag.interfaces.mcp.structures import Context
from coderag.interfaces.mcp.tool import Call, ToolDefinition
from coderag.schema.graph import GraphNeighbour
from coderag.schema.search import Filters

_MOST_PACKED: Final = MOST_CHARACTERS // 3
"""Tokens that a context is packed into, at most: code has about three characters a token."""

_MOST_IN_SESSION: Final = MOST_CHARACTERS // 4
"""As much as surely fits: what a session counts as shown must have been shown."""

_MOST_RELATED = 12
_TYPES: Final = frozenset({"class", "interface", "struct", "trait", "enum", "type_alias"})


async def context(call: Call, asked: ContextArguments) -> Reply:
    """Return the code for a question, or that of a file."""
    opened = await call.open(asked.repository)
    if opened.indexing is not None:
        return await pending_reply(call, opened, asked.query or path_of(asked.file_path))
    return await call.run(partial(_packed if asked.query.strip() else _read, opened, asked))


def _packed(opened: Opened, asked: ContextArguments) -> Reply:
    engine, most = opened.engine, _MOST_IN_SESSION if asked.session else _MOST_PACKED
    path = path_of(as_place(opened.repository.root, asked.file_path)) if asked.file_path else ""
    packed = engine.context(
        asked.query,
        token_budget=min(asked.max_tokens, most),
        filters=Filters(paths=(path,)) if path else None,
        session=asked.session or None,
    )
    without = [] if asked.include_tests else ["test_for"]
    without += [] if asked.include_interfaces else ["base", "interface_of"]
    reply = context_reply(opened, packed, max_tokens=asked.max_tokens, without=without)
    if asked.include_tests:
        names = [item.name for section in packed.sections if section.name == "primary" for item in section.items]
        shown = {part.data.get("path") for part in reply.parts}
        reply.parts += _tests(opened, names, shown)
    return reply


def _read(opened: Opened, asked: ContextArguments) -> Reply:
    engine, place = opened.engine, as_place(opened.repository.root, asked.file_path)
    try:
        read = engine.read([place], token_budget=min(asked.max_tokens, _MOST_PACKED))
    except InvalidQueryError as error:
        refuse_path(engine, place, error)
    reply = context_reply(opened, read, max_tokens=asked.max_tokens)
    reply.intro = [f"{opened.cleaner().line(place)} in {opened.name}"]
    for verdict in ("evidence", "confidence"):  # nothing was searched for
        del reply.facts[verdict]
    path = path_of(place)
    if asked.include_tests:
        reply.parts += _tests(opened, [path], {path})
    if asked.include_interfaces:
        reply.parts += _bases(opened, path)
    return reply


def _tests(opened: Opened, names: Iterable[str], shown: set[str | None]) -> list[Part]:
    graph = opened.engine.graph.permissive
    found = [test for name in list(names)[:3] if name for test in graph.tests(name) if test.path not in shown]
    return _listed(opened, found, "test_for")


def _bases(opened: Opened, path: str) -> list[Part]:
    graph = opened.engine.graph.permissive
    types = [entry.qualified_name for entry in graph.outline(path) if entry.kind in _TYPES]
    return _listed(opened, [base for name in types for base in graph.bases(f"{path}::{name}")], "base")


def _listed(opened: Opened, found: Sequence[GraphNeighbour], relation: str) -> list[Part]:
    """Return neighbours as related places, each once, without their code."""
    cleaner, places, parts = opened.cleaner(), set[tuple[str, str]](), list[Part]()
    for one in found:
        if (one.path, one.qualified_name) in places or not one.path or len(parts) == _MOST_RELATED:
            continue
        places.add((one.path, one.qualified_name))
        part = neighbour_part(one, relation, cleaner)
        kept = {key: part.data[key] for key in ("path", "start_line", "end_line", "name", "kind") if key in part.data}
        data = {**kept, "relation": relation, "related_to": cleaner.line(one.via)}
        parts.append(Part(part.text, data, key="related", title="Tests" if relation == "test_for" else "Base types"))
    return parts


CONTEXT = ToolDefinition(
    "coderag_context",
    "Get code for a question",
    "Get the code you need to understand or change something: what answers the question, with related code and how it hangs "
    "together, packed into max_tokens. Call it first for a task. With file_path alone it reads that file or place. "
    "Returns code with paths and lines, and how well it answers.",
    ContextArguments,
    Context,
    context,
)
