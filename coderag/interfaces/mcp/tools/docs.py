"""``coderag_docs``: search in documentation, that of the repository and that which is mirrored from elsewhere."""

from functools import partial

from coderag.interfaces.mcp.arguments import DocsArguments
from coderag.interfaces.mcp.hit_parts import HitSource, HitWriter
from coderag.interfaces.mcp.item_parts import build_hit_part, clean_notes
from coderag.interfaces.mcp.pending_reply import build_pending_reply
from coderag.interfaces.mcp.replies import McpReply
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.interfaces.mcp.tool import ToolDefinition, ToolRequest
from coderag.interfaces.mcp.verdicts import suggest_next_steps, to_verdict_fields
from coderag.schema.item_search import ItemFilters, ItemResults
from coderag.schema.search import Filters, SearchHit

_LINES_PER_SECTION = 60


async def run_docs(call: ToolRequest, arguments: DocsArguments) -> McpReply:
    """Return documentation sections for a question, filled up with other sections if there are few."""
    handle = await call.open(arguments.repository)
    if handle.indexing_job is not None:
        return await build_pending_reply(call, handle, arguments.query, top_k=arguments.top_k)
    return await call.run(partial(_search_docs, handle, arguments))


def _search_docs(handle: RepositoryHandle, arguments: DocsArguments) -> McpReply:
    cleaner = handle.make_cleaner()
    source = HitSource(handle.engine.graph, cleaner)
    hits = handle.engine.search(arguments.query, top_k=arguments.top_k, filters=Filters(roles=("docs",)))
    results: list[SearchHit] = list(hits)
    if len(results) < arguments.top_k:
        seen_ids = {hit.chunk_id for hit in results}
        sections = handle.engine.search(arguments.query, top_k=arguments.top_k, filters=Filters(kinds=("section",)))
        results += [hit for hit in sections if hit.chunk_id not in seen_ids][: arguments.top_k - len(results)]
    items = _search_items(handle, arguments)
    notes = [] if items.evidence == "found" else suggest_next_steps(hits.evidence, hits.not_indexed, cleaner)
    notes += clean_notes(items.notes, cleaner)
    item_parts = [build_hit_part(hit, cleaner) for hit in items.hits]
    if not results and not item_parts:
        notes.append("There are no documents about it. Next: coderag_search finds it in the code.")
    parts = HitWriter(_LINES_PER_SECTION).build_parts([(source, hit) for hit in results], arguments.query)
    is_item_better = items.confidence > hits.confidence
    best = items if is_item_better else hits
    return McpReply(
        facts={"repository": handle.name, **to_verdict_fields(best.evidence, best.confidence), "results": []},
        parts=[*item_parts, *parts] if is_item_better else [*parts, *item_parts],
        notes=notes,
        describe_next_call=lambda _: (
            "the same call with a lower top_k, or coderag_context with file_path of one section."
        ),
        max_tokens=arguments.max_tokens,
    )


def _search_items(handle: RepositoryHandle, arguments: DocsArguments) -> ItemResults:
    """Search the mirrored pages; nothing is opened if no source of documentation is configured."""
    items = handle.engine.items
    if not items.has_sources("documentation"):
        return ItemResults(arguments.query)
    return items.search(arguments.query, limit=arguments.top_k, filters=ItemFilters(scope="documentation"))


DOCS = ToolDefinition(
    "coderag_docs",
    "Search documentation",
    "Find what this project's documents say (README, docs, guides, mirrored pages): sections with text and places. "
    "Call it for intentions, setup, configuration and conventions; for behaviour trust the code (coderag_context).",
    DocsArguments,
    run_docs,
)
