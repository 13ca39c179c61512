"""``coderag_context``: code for a question or a location, packed into a token budget."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from coderag.errors import InvalidQueryError
from coderag.interfaces.mcp.arguments import ContextArguments
from coderag.interfaces.mcp.context_reply import build_context_reply
from coderag.interfaces.mcp.paths import normalize_place, refuse_path, strip_line_range
from coderag.interfaces.mcp.pending_reply import build_pending_reply
from coderag.interfaces.mcp.replies import MAX_REPLY_CHARS, McpReply, ReplyPart
from coderag.interfaces.mcp.reply_types import ContextResult
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.interfaces.mcp.result_parts import build_neighbour_part
from coderag.interfaces.mcp.tool import ToolDefinition, ToolRequest
from coderag.schema.graph import GraphNeighbour
from coderag.schema.search import Filters

_MAX_PACKED_TOKENS: Final = MAX_REPLY_CHARS // 3
"""Maximum tokens of a packed context: code has about three characters per token."""

_MAX_SESSION_TOKENS: Final = MAX_REPLY_CHARS // 4
"""A size that certainly fits: code that a session counts as shown must have been shown."""

_MAX_RELATED = 12
_TYPE_KINDS: Final = frozenset({"class", "interface", "struct", "trait", "enum", "type_alias"})


async def run_context(call: ToolRequest, arguments: ContextArguments) -> McpReply:
    """Return the code for a question or of a file."""
    handle = await call.open(arguments.repository)
    if handle.indexing_job is not None:
        return await build_pending_reply(call, handle, arguments.query or strip_line_range(arguments.file_path))
    return await call.run(partial(_pack_context if arguments.query.strip() else _read_place, handle, arguments))


def _pack_context(handle: RepositoryHandle, arguments: ContextArguments) -> McpReply:
    engine, max_tokens = handle.engine, _MAX_SESSION_TOKENS if arguments.session else _MAX_PACKED_TOKENS
    path = strip_line_range(normalize_place(handle.repository.root, arguments.file_path)) if arguments.file_path else ""
    context = engine.context(
        arguments.query,
        token_budget=min(arguments.max_tokens, max_tokens),
        filters=Filters(paths=(path,)) if path else None,
        session=arguments.session or None,
    )
    excluded_relations = [] if arguments.include_tests else ["test_for"]
    excluded_relations += [] if arguments.include_interfaces else ["base", "interface_of"]
    reply = build_context_reply(handle, context, max_tokens=arguments.max_tokens, excluded_relations=excluded_relations)
    if arguments.include_tests:
        names = [item.name for section in context.sections if section.name == "primary" for item in section.items]
        shown_paths = {part.data.get("path") for part in reply.parts}
        reply.parts += _find_test_parts(handle, names, shown_paths)
    return reply


def _read_place(handle: RepositoryHandle, arguments: ContextArguments) -> McpReply:
    engine, place = handle.engine, normalize_place(handle.repository.root, arguments.file_path)
    try:
        context = engine.read([place], token_budget=min(arguments.max_tokens, _MAX_PACKED_TOKENS))
    except InvalidQueryError as error:
        refuse_path(engine, place, error)
    reply = build_context_reply(handle, context, max_tokens=arguments.max_tokens)
    reply.intro = [f"{handle.make_cleaner().clean_line(place)} in {handle.name}"]
    for field in ("evidence", "confidence"):  # there was no search
        del reply.facts[field]
    path = strip_line_range(place)
    if arguments.include_tests:
        reply.parts += _find_test_parts(handle, [path], {path})
    if arguments.include_interfaces:
        reply.parts += _find_base_parts(handle, path)
    return reply


def _find_test_parts(handle: RepositoryHandle, names: Iterable[str], shown_paths: set[str | None]) -> list[ReplyPart]:
    graph = handle.engine.graph.permissive
    tests = [test for name in list(names)[:3] if name for test in graph.tests(name) if test.path not in shown_paths]
    return _build_related_parts(handle, tests, "test_for")


def _find_base_parts(handle: RepositoryHandle, path: str) -> list[ReplyPart]:
    graph = handle.engine.graph.permissive
    types = [entry.qualified_name for entry in graph.outline(path) if entry.kind in _TYPE_KINDS]
    return _build_related_parts(handle, [base for name in types for base in graph.bases(f"{path}::{name}")], "base")


def _build_related_parts(
    handle: RepositoryHandle, neighbours: Sequence[GraphNeighbour], relation: str
) -> list[ReplyPart]:
    """Build parts of related neighbours, each once, without their code."""
    cleaner, seen, parts = handle.make_cleaner(), set[tuple[str, str]](), list[ReplyPart]()
    for neighbour in neighbours:
        if (neighbour.path, neighbour.qualified_name) in seen or not neighbour.path or len(parts) == _MAX_RELATED:
            continue
        seen.add((neighbour.path, neighbour.qualified_name))
        part = build_neighbour_part(neighbour, relation, cleaner)
        place_fields = {
            key: part.data[key] for key in ("path", "start_line", "end_line", "name", "kind") if key in part.data
        }
        data = {**place_fields, "relation": relation, "related_to": cleaner.clean_line(neighbour.via)}
        parts.append(
            ReplyPart(part.text, data, key="related", title="Tests" if relation == "test_for" else "Base types")
        )
    return parts


CONTEXT = ToolDefinition(
    "coderag_context",
    "Get code for a question",
    "Get the code you need to understand or change something: what answers the question, with related code and how it hangs "
    "together, packed into max_tokens. Call it first for a task. With file_path alone it reads that file or place. "
    "Returns code with paths and lines, and how well it answers.",
    ContextArguments,
    ContextResult,
    run_context,
)
