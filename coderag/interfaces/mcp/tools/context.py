"""``coderag_context``: code for a question or a location, packed into a token budget."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from coderag.errors import InvalidQueryError
from coderag.interfaces.mcp.arguments import ContextArguments
from coderag.interfaces.mcp.context_reply import build_context_reply
from coderag.interfaces.mcp.paths import normalize_place, refuse_path, strip_line_range
from coderag.interfaces.mcp.pending_reply import build_pending_reply
from coderag.interfaces.mcp.places import format_file_lines, to_place_record
from coderag.interfaces.mcp.replies import MAX_REPLY_CHARS, McpReply, ReplyPart
from coderag.interfaces.mcp.repositories import RepositoryHandle
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
        token_budget=min(arguments.reply_tokens, max_tokens),
        filters=Filters(paths=(path,)) if path else None,
        session=arguments.session or None,
    )
    excluded_relations = [] if arguments.include_tests else ["test_for"]
    excluded_relations += [] if arguments.include_interfaces else ["base", "interface_of"]
    reply = build_context_reply(
        handle, context, max_tokens=arguments.reply_tokens, excluded_relations=excluded_relations
    )
    if arguments.include_tests:
        names = [item.name for section in context.sections if section.name == "primary" for item in section.items]
        shown_paths = {record.get("path") for part in reply.parts for record in part.records}
        reply.parts += _find_test_parts(handle, names, shown_paths)
    return reply


def _read_place(handle: RepositoryHandle, arguments: ContextArguments) -> McpReply:
    engine, place = handle.engine, normalize_place(handle.repository.root, arguments.file_path)
    try:
        context = engine.read([place], token_budget=min(arguments.reply_tokens, _MAX_PACKED_TOKENS))
    except InvalidQueryError as error:
        refuse_path(engine, place, error)
    reply = build_context_reply(handle, context, max_tokens=arguments.reply_tokens)
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
    cleaner, title = handle.make_cleaner(), "Tests" if relation == "test_for" else "Base types"
    unique = {(neighbour.path, neighbour.qualified_name): neighbour for neighbour in neighbours if neighbour.path}
    records = [
        {
            **to_place_record(neighbour, cleaner),
            "relation": relation,
            "related_to": cleaner.clean_line(neighbour.via),
        }
        for neighbour in list(unique.values())[:_MAX_RELATED]
    ]
    return [ReplyPart(line, part, key="related", title=title) for line, part in format_file_lines(records)]


CONTEXT = ToolDefinition(
    "coderag_context",
    "Get code for a question",
    "Get the code to understand or change something, when places alone are not enough: what answers the question and related "
    "code, packed into max_tokens. With file_path alone it reads that file or place.",
    ContextArguments,
    run_context,
)
