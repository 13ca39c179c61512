"""``coderag_backlog``: tickets by question, by id, or as a list."""

from functools import partial

from coderag.interfaces.mcp.arguments import BacklogArguments
from coderag.interfaces.mcp.item_parts import build_hit_part, build_list_part, build_text_parts, clean_notes
from coderag.interfaces.mcp.replies import McpReply
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.interfaces.mcp.tool import ToolDefinition, ToolRequest
from coderag.interfaces.mcp.verdicts import suggest_next_steps, to_verdict_fields
from coderag.schema.item_search import ItemFilters

_OVERHEAD_TOKENS = 400  # of a reply, besides the text of a ticket


async def run_backlog(call: ToolRequest, arguments: BacklogArguments) -> McpReply:
    """Return one ticket, the tickets for a question, or a list of them; no index of the code is needed."""
    repository = await call.find(arguments.repository)
    return await call.run(partial(_reply, RepositoryHandle(repository), arguments))


def _reply(handle: RepositoryHandle, arguments: BacklogArguments) -> McpReply:
    if arguments.id.strip():
        return _get_ticket(handle, arguments)
    return _search_tickets(handle, arguments) if arguments.query.strip() else _list_tickets(handle, arguments)


def _get_ticket(handle: RepositoryHandle, arguments: BacklogArguments) -> McpReply:
    cleaner = handle.make_cleaner()
    page_tokens = max(arguments.max_tokens - _OVERHEAD_TOKENS, arguments.max_tokens // 2)
    page = handle.engine.items.get(arguments.id, page=arguments.page, page_tokens=max(page_tokens, 200))
    notes = [f"More: page={page.page + 1} of {page.pages}."] if page.page < page.pages else []
    return McpReply(
        facts={"repository": handle.name},
        parts=build_text_parts(page, cleaner),
        notes=notes,
        max_tokens=arguments.max_tokens,
    )


def _search_tickets(handle: RepositoryHandle, arguments: BacklogArguments) -> McpReply:
    cleaner = handle.make_cleaner()
    results = handle.engine.items.search(arguments.query, limit=arguments.limit, filters=_build_filters(arguments))
    notes = [
        *suggest_next_steps(results.evidence, (), cleaner),
        *clean_notes(results.notes, cleaner),
    ]
    return McpReply(
        facts={"repository": handle.name, **to_verdict_fields(results.evidence, results.confidence), "items": []},
        parts=[build_hit_part(hit, cleaner) for hit in results.hits],
        notes=notes,
        describe_next_call=lambda _: "the same call with a lower limit, or with the id of one ticket.",
        max_tokens=arguments.max_tokens,
    )


def _list_tickets(handle: RepositoryHandle, arguments: BacklogArguments) -> McpReply:
    cleaner = handle.make_cleaner()
    listing = handle.engine.items.list_items(
        filters=_build_filters(arguments), limit=arguments.limit, offset=arguments.offset
    )
    more = [f"More: offset={listing.next_offset}."] if listing.next_offset else []
    return McpReply(
        facts={"repository": handle.name, "total": listing.total, "items": []},
        intro=[f"{listing.total:,} ticket{'s' * (listing.total != 1)}, last modified first"],
        parts=[build_list_part(item, cleaner) for item in listing.items],
        notes=[*more, *clean_notes(listing.notes, cleaner)],
        describe_next_call=lambda count: f"offset={arguments.offset + count}.",
        max_tokens=arguments.max_tokens,
    )


def _build_filters(arguments: BacklogArguments) -> ItemFilters:
    return ItemFilters(
        scope="backlog", types=tuple(arguments.types), states=tuple(arguments.states), tags=tuple(arguments.tags)
    )


BACKLOG = ToolDefinition(
    "coderag_backlog",
    "Search the backlog",
    "Find tickets (issues, stories, bugs) by question, one by id, or a list: text, status, links and address. "
    "Call it for why something is wanted or what is planned; for behaviour trust the code.",
    BacklogArguments,
    run_backlog,
)
