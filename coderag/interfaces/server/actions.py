"""Action of every route and tool: what a caller's role, scopes and grants must allow.

A route or tool without an entry is not served, and a test fails the build.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from coderag.server.access.roles import Action

_REST: Final[Mapping[Action, tuple[str, ...]]] = {
    Action.PUBLIC: ("GET /health",),
    Action.REPOSITORIES_LIST: ("GET /repositories",),
    Action.REPOSITORY_READ: (
        "POST /ask",
        "GET /tree",
        "GET /files",
        "GET /file",
        "GET /file/links",
        "GET /symbols",
        "GET /declaration",
        "POST /chunks",
        "POST /changes",
        "GET /freshness",
        "GET /freshness/events",
        "POST /graph/path",
        "POST /graph/cycles",
        "POST /graph/hotspots",
        "POST /graph/outline",
        "POST /graph/mentions",
        "POST /graph/unused",
        "POST /graph/{question}",
        "POST /graph/view/overview",
        "POST /graph/view/neighbourhood",
        "POST /graph/view/arrangement",
        "POST /graph/view/node",
        "POST /graph/view/suggestions",
        "POST /graph/view/mermaid",
        "GET /history",
        "GET /history/blame",
        "GET /history/authors",
        "GET /history/co-changes",
        "GET /history/commit",
        "GET /jobs",
        "GET /jobs/{job_id}",
        "GET /jobs/{job_id}/events",
        "GET /items",
        "GET /items/{id:path}",
        "POST /search/preview",
        "GET /search/options",
        "POST /experiment",
        "GET /projection",
        "GET /projection/points",
        "POST /projection/points",
        "POST /projection/similarity",
        "POST /projection/marks",
        "POST /repositories",
        "GET /status",
        "POST /search",
        "POST /search/text",
        "POST /explain",
        "POST /context",
        "DELETE /sessions/{session}",
        "POST /read",
        "POST /definition",
        "GET /statistics",
        "GET /coverage",
    ),
    Action.REPOSITORY_CONVERSE: (
        "POST /chat",
        "GET /chat",
        "GET /chat/{thread}",
        "GET /chat/{thread}/export",
        "DELETE /chat/{thread}",
        "POST /feedback",
    ),
    Action.REPOSITORY_INDEX: ("POST /index", "DELETE /jobs/{job_id}"),
    Action.REPOSITORY_ADMINISTER: (
        "GET /feedback",
        "GET /feedback/export",
        "DELETE /feedback/{case}",
        "GET /settings",
    ),
    # Questions are recorded by the audit, as its policy says; repositories are removed by the administration.
    Action.LOCAL: ("GET /queries", "DELETE /queries", "POST /queries/replay", "DELETE /repositories"),
}

REST_ACTIONS: Final[Mapping[str, Action]] = MappingProxyType(
    {route: action for action, routes in _REST.items() for route in routes}
)
"""Action of each route of `coderag.interfaces.rest`, by method and path below its prefix."""

TOOL_ACTIONS: Final[Mapping[str, Action]] = MappingProxyType(
    {
        "coderag_search": Action.REPOSITORY_READ,
        "coderag_context": Action.REPOSITORY_READ,
        "coderag_explain": Action.REPOSITORY_READ,
        "coderag_symbol": Action.REPOSITORY_READ,
        "coderag_diff": Action.REPOSITORY_READ,
        "coderag_history": Action.REPOSITORY_READ,
        "coderag_docs": Action.REPOSITORY_READ,
        "coderag_backlog": Action.REPOSITORY_READ,
        "coderag_status": Action.REPOSITORY_READ,
        "coderag_index": Action.REPOSITORY_INDEX,
        "search_codebase": Action.REPOSITORY_READ,
    }
)
"""Action of each MCP tool."""
