"""``run_search_codebase``: the one tool of the profile ``single``."""

from dataclasses import replace
from functools import partial

from coderag.interfaces.mcp.arguments import SingleArguments
from coderag.interfaces.mcp.context_reply import build_context_reply
from coderag.interfaces.mcp.pending_reply import build_pending_reply
from coderag.interfaces.mcp.replies import MAX_REPLY_CHARS, McpReply
from coderag.interfaces.mcp.reply_types import ContextResult
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.interfaces.mcp.result_parts import build_hit_part
from coderag.interfaces.mcp.tool import ToolDefinition, ToolRequest

_MAX_PLACES = 10
_PLACES_SHARE = 0.15  # of the tokens


async def run_search_codebase(call: ToolRequest, arguments: SingleArguments) -> McpReply:
    """Return the code for a question and further locations."""
    handle = await call.open(arguments.repository)
    if handle.indexing_job is not None:
        return await build_pending_reply(call, handle, arguments.query)
    return await call.run(partial(_build_reply, handle, arguments))


def _build_reply(handle: RepositoryHandle, arguments: SingleArguments) -> McpReply:
    budget = max(200, int(min(arguments.max_tokens, MAX_REPLY_CHARS // 3) * (1 - _PLACES_SHARE)))
    reply = build_context_reply(
        handle, handle.engine.context(arguments.query, token_budget=budget), max_tokens=arguments.max_tokens
    )
    shown_places = {(part.data.get("path"), part.data.get("name")) for part in reply.parts}
    cleaner = handle.make_cleaner()
    for hit in handle.engine.search(arguments.query, top_k=_MAX_PLACES):
        part = build_hit_part(hit, cleaner, lines=0, key="places")
        if (part.data["path"], part.data.get("name")) not in shown_places:
            reply.parts.append(replace(part, title="Further places"))
    reply.describe_next_call = lambda _: (
        "search_codebase with a narrower question, or your own file tools at the places above."
    )
    return reply


SINGLE = ToolDefinition(
    "search_codebase",
    "Search the codebase",
    "Get the code of this project that answers a question, task or bug report, with related code and how it hangs together, "
    "packed into max_tokens. Call it before grep or reading files. Returns code with paths and lines, further places, and how "
    "well they answer.",
    SingleArguments,
    ContextResult,
    run_search_codebase,
)
