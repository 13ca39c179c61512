"""``coderag_backlog``: tickets, once a source of them can be configured."""

from coderag.interfaces.mcp.arguments import BacklogArguments
from coderag.interfaces.mcp.replies import McpReply
from coderag.interfaces.mcp.reply_types import BacklogResult
from coderag.interfaces.mcp.tool import ToolDefinition, ToolRequest

_NOTE = (
    "No backlog source is configured: this version of CodeRAG reads no ticket system, so there is nothing to list here and "
    "nothing is known of tickets. Do not guess them. Next: the ticket system's own tools, or coderag_search with the words of "
    "the ticket for the code it is about."
)


async def run_backlog(_: ToolRequest, arguments: BacklogArguments) -> McpReply:
    """Reply that no source of tickets is configured."""
    return McpReply(
        facts={"action": arguments.action, "configured": False, "items": []},
        intro=[f"backlog {arguments.action}: 0 items"],
        notes=[_NOTE],
    )


BACKLOG = ToolDefinition(
    "coderag_backlog",
    "Look up tickets",
    "Search, get or list tickets of this project's backlog. Until a backlog source is configured it says so and returns none.",
    BacklogArguments,
    BacklogResult,
    run_backlog,
)
