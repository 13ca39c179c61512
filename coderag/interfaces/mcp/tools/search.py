"""``coderag_search``: locations for a question, or of a text."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from coderag.interfaces.mcp.arguments import MAX_RANKED_RESULTS, SearchArguments
from coderag.interfaces.mcp.paging import fetch_page
from coderag.interfaces.mcp.pending_reply import build_pending_reply
from coderag.interfaces.mcp.progress import format_progress
from coderag.interfaces.mcp.replies import McpReply
from coderag.interfaces.mcp.reply_types import SearchResult
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.interfaces.mcp.result_parts import build_hit_part, format_verdict, suggest_next_steps, to_verdict_fields
from coderag.interfaces.mcp.tool import ToolDefinition, ToolRequest
from coderag.interfaces.mcp.tools.text_search import build_text_reply
from coderag.schema.vocabulary import Evidence

if TYPE_CHECKING:
    from coderag.workspace.results import RepositoryVerdict, WorkspaceHits
    from coderag.workspace.workspace import Workspace


async def run_search(call: ToolRequest, arguments: SearchArguments) -> McpReply:
    """Return the locations for a query."""
    handles = [await call.open(name) for name in arguments.repository or [""]]
    ready = [handle for handle in handles if handle.indexing_job is None]
    if not ready:
        return await build_pending_reply(call, handles[0], arguments.query, top_k=arguments.top_k)
    if arguments.mode != "hybrid":
        reply = await call.run(partial(build_text_reply, ready, arguments))
    elif len(ready) == 1:
        reply = await call.run(partial(_search_one, ready[0], arguments))
    else:
        workspace = await call.repositories.get_workspace()
        reply = await call.run(partial(_search_federated, workspace, ready, arguments))
    reply.notes += [
        f"{handle.name} is not searched yet ({format_progress(handle.indexing_job)})."
        for handle in handles
        if handle.indexing_job
    ]
    reply.max_tokens = arguments.max_tokens
    reply.describe_next_call = lambda shown_count: f"the same call with offset={arguments.offset + shown_count}."
    return reply


def _search_one(handle: RepositoryHandle, arguments: SearchArguments) -> McpReply:
    engine, cleaner = handle.engine, handle.make_cleaner()
    hits = engine.search(arguments.query, top_k=arguments.top_k, filters=arguments.filters)
    page = fetch_page(
        hits,
        lambda top_k: engine.search(arguments.query, top_k=top_k, filters=arguments.filters),
        lambda hit: (hit.path, hit.start_line),
        arguments.offset,
    )
    return McpReply(
        facts={"repository": handle.name, **to_verdict_fields(hits.evidence, hits.confidence), "results": []},
        intro=[f"{format_verdict(hits.evidence, hits.confidence)}, {len(page)} results in {handle.name}"],
        parts=[
            build_hit_part(hit, cleaner, lines=arguments.snippet_lines, number=number, query=arguments.query)
            for number, hit in enumerate(page, arguments.offset + 1)
        ],
        notes=[
            *suggest_next_steps(hits.evidence, hits.not_indexed, cleaner),
            *(f"{cleaner.clean_line(note)}." for note in hits.notes),
            *_suggest_more(arguments, hits.evidence, len(page)),
        ],
    )


def _search_federated(
    workspace: "Workspace", handles: Sequence[RepositoryHandle], arguments: SearchArguments
) -> McpReply:
    roots = [entry.repository.root for entry in handles]

    def search_all(top_k: int) -> "WorkspaceHits":
        return workspace.search(arguments.query, roots, top_k=top_k, filters=arguments.filters)

    first = search_all(arguments.top_k)
    page = fetch_page(
        first.hits[: arguments.top_k],
        lambda max_results: search_all(max_results).hits,
        lambda entry: (entry.root, entry.hit.path, entry.hit.start_line),
        arguments.offset,
    )
    cleaners = {str(entry.repository.root): entry.make_cleaner() for entry in handles}
    best = max((entry for entry in first.verdicts if not entry.error), key=lambda entry: entry.confidence, default=None)
    verdict = to_verdict_fields(best.evidence, best.confidence) if best else {}
    notes = [f"{cleaners[best.root].clean_line(note)}." for note in best.notes] if best else []
    return McpReply(
        facts={**verdict, "results": []},
        intro=[f"{len(page)} results in {', '.join(entry.name for entry in handles)}"],
        parts=[
            build_hit_part(
                entry.hit,
                cleaners[entry.root],
                lines=arguments.snippet_lines,
                number=number,
                query=arguments.query,
                repository=entry.repository,
            )
            for number, entry in enumerate(page, arguments.offset + 1)
        ],
        notes=[*map(_format_verdict, first.verdicts), *notes, *_suggest_next_page(arguments, len(page))],
    )


def _format_verdict(verdict: "RepositoryVerdict") -> str:
    return (
        f"{verdict.repository}: {verdict.error or f'evidence {verdict.evidence} (confidence {verdict.confidence:.2f})'}"
    )


def _suggest_more(arguments: SearchArguments, evidence: Evidence, shown_count: int) -> list[str]:
    """Suggest next steps after a page; none for results that do not answer, as later ones will not either."""
    if not shown_count and not arguments.offset and arguments.filters:
        return ["Nothing that the filters let through has to do with it, or they let nothing through."]
    return [] if evidence == "not_found" else _suggest_next_page(arguments, shown_count)


def _suggest_next_page(arguments: SearchArguments, shown_count: int) -> list[str]:
    """Suggest the next page if there may be more results."""
    end = arguments.offset + arguments.top_k
    return (
        [f"There may be more: the same call with offset={end}."]
        if shown_count == arguments.top_k and end < MAX_RANKED_RESULTS
        else []
    )


SEARCH = ToolDefinition(
    "coderag_search",
    "Search code",
    "Find where something is in this project's code: by question, name, error text or snippet; mode exact or regex for every "
    "occurrence. Returns ranked places (path, lines, kind, name, first lines of code) and how well they answer. "
    "Use it instead of grep. To read and understand code call coderag_context.",
    SearchArguments,
    SearchResult,
    run_search,
)
