"""Replies while a repository is indexed for the first time."""

from functools import partial

from coderag.errors import InvalidQueryError
from coderag.interfaces.mcp.hit_parts import HitSource, HitWriter
from coderag.interfaces.mcp.progress import format_progress
from coderag.interfaces.mcp.replies import McpReply, ReplyPart
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.interfaces.mcp.tool import ToolRequest

_MAX_RESULTS = 10


async def build_pending_reply(
    call: ToolRequest,
    handle: RepositoryHandle,
    query: str,
    *,
    top_k: int = _MAX_RESULTS,
    key: str = "results",
    **facts: str,
) -> McpReply:
    """Build a reply from a quick keyword scan of the files, with the progress of indexing.

    Args:
        call: The call.
        handle: The repository, which is being indexed.
        query: Query; may be a name or a path.
        top_k: Maximum number of results.
        key: Key of the list in the data that holds them.
        facts: Additional data.
    """
    assert handle.indexing_job is not None
    state = format_progress(handle.indexing_job)
    parts = await call.run(partial(_find_preview_parts, handle, query, top_k, key))
    return McpReply(
        facts={"repository": handle.name, "indexing": state, key: [], **facts},
        intro=[f"{handle.name} is being indexed for the first time ({state})."],
        parts=parts,
        notes=[f"{'These are' if parts else 'Nothing yet:'} results of a quick pass by words. Ask again in a moment."],
    )


def _find_preview_parts(handle: RepositoryHandle, query: str, top_k: int, key: str) -> list[ReplyPart]:
    source = HitSource(None, handle.make_cleaner())
    try:
        hits = handle.repository.find_preview_hits(query, top_k)
    except InvalidQueryError:  # a path without a searchable word
        return []
    return HitWriter(key=key).build_parts([(source, hit) for hit in hits], query)
