"""``run_search_codebase``: the one tool of the profile ``single``."""

from functools import partial
from typing import Any

from coderag.interfaces.mcp.arguments import SingleArguments
from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.context_reply import build_context_reply
from coderag.interfaces.mcp.pending_reply import build_pending_reply
from coderag.interfaces.mcp.places import format_file_lines
from coderag.interfaces.mcp.replies import MAX_REPLY_CHARS, McpReply, ReplyPart
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.interfaces.mcp.tool import ToolDefinition, ToolRequest
from coderag.schema.search import SearchHit

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
    shown = {(record.get("path"), record.get("name")) for part in reply.parts for record in part.records}
    cleaner = handle.make_cleaner()
    records = [_to_record(hit, cleaner) for hit in handle.engine.search(arguments.query, top_k=_MAX_PLACES)]
    others = [record for record in records if (record["path"], record["name"]) not in shown]
    reply.parts += [
        ReplyPart(line, part, key="places", title="Further places") for line, part in format_file_lines(others)
    ]
    reply.describe_next_call = lambda _: (
        "search_codebase with a narrower question, or your own file tools at the places above."
    )
    return reply


def _to_record(hit: SearchHit, cleaner: Cleaner) -> dict[str, Any]:
    return {
        "path": cleaner.clean_line(str(hit.path)),
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "name": cleaner.clean_line(hit.qualified_name),
        "kind": hit.kind,
    }


SINGLE = ToolDefinition(
    "search_codebase",
    "Search the codebase",
    "Get the code of this project that answers a question, task or bug report, with related code and how it hangs together, "
    "packed into max_tokens. Call it before grep or reading files. Returns code with paths and lines, further places, and how "
    "well they answer.",
    SingleArguments,
    run_search_codebase,
)
