"""Requests to every route of a team server beside those of the workspace, and messages to its MCP endpoint."""

from collections.abc import Iterator
from typing import Any

from coderag.interfaces.rest.app import PREFIX
from coderag.interfaces.server.app import ROUTE_ACTIONS
from coderag.interfaces.server.health_routes import HEALTH_PATHS
from tests.support.composed_worlds import get_job_id
from tests.support.hosted_worlds import IDS, WORDS, Sent, World, list_tool_calls

_UNKNOWN = "f" * 32
_REPOSITORY_BODIES: dict[str, Any] = {
    "PATCH /server/repositories/{repository_id}": {"interval_minutes": 5},
    "POST /server/users": {"name": "Eve", "email": "eve@example.org"},
    "POST /server/teams": {"name": "new"},
    "POST /server/repositories": {"name": "new", "url": "https://git.example.org/new.git"},
}
_PAGE_PATHS = ("/", "/index.html", "/settings", "/assets/none.js", "/nowhere", "/api/v1/nowhere", "/api/v1/server/none")


def list_server_requests(world: World, chosen: int) -> Iterator[Sent]:
    """Yield a request for every route that is not of the workspace, about a repository that may be visible or hidden."""
    name = world.get_name(chosen)
    values = {
        "{repository_id}": IDS[chosen],
        "{job_id}": get_job_id(chosen),
        "{user_id}": "{bob}",
        "{team_id}": "{team}",
        "{key_id}": _UNKNOWN,
        "{session_id}": _UNKNOWN,
        "{grant_id}": _UNKNOWN,
        "{credential_id}": _UNKNOWN,
    }
    bodies = _REPOSITORY_BODIES | {
        "POST /server/keys": {"name": "laptop", "repositories": [name]},
        "POST /server/agent-tokens": {"repositories": [name]},
        "PUT /server/teams/{team_id}/grants": {"repository": name, "level": "read"},
        "POST /server/users/{user_id}/keys": {"name": "laptop", "repositories": [name]},
    }
    queries = {"GET /server/jobs": f"?repository={name}", "GET /server/audit": f"?repository={name}"}
    for route in ROUTE_ACTIONS:
        method, _, template = route.partition(" ")
        if template.startswith("/.well-known"):
            yield Sent(route, method, template)
        if not template.startswith("/server/"):
            continue
        for placeholder, value in values.items():
            template = template.replace(placeholder, value)
        body = bodies.get(route, {} if method in ("POST", "PUT", "PATCH") else None)
        yield Sent(route, method, f"{PREFIX}{template}", body)
        if route in queries:
            yield Sent(route, method, f"{PREFIX}{template}{queries[route]}")
        if method in ("POST", "PUT", "PATCH"):
            yield Sent(route, method, f"{PREFIX}{template}", {"unknown": name})
    yield Sent("POST /hooks/{repository_id}", "POST", f"/hooks/{IDS[chosen]}", {})
    yield Sent("GET /web/session", "GET", "/web/session")
    yield Sent("POST /web/session", "POST", "/web/session", {"key": name})
    yield Sent("DELETE /web/session", "DELETE", "/web/session")
    yield Sent("GET /web/oidc/begin", "GET", "/web/oidc/begin")
    yield Sent("GET /web/oidc/callback", "GET", "/web/oidc/callback?state=x&code=y")
    yield Sent("GET /openapi.json", "GET", "/openapi.json")
    yield Sent("GET /health", "GET", f"{PREFIX}/health")
    for path in (*HEALTH_PATHS, *_PAGE_PATHS):
        yield Sent(f"GET {path}", "GET", path)
    # What a handler refuses before it looks at a repository.
    yield Sent("POST /search", "POST", f"{PREFIX}/search", {"root": name, "query": "x", "unknown": 1})
    yield Sent("POST /search", "PUT", f"{PREFIX}/search", {"root": name})
    yield Sent("POST /graph/{question}", "POST", f"{PREFIX}/graph/none", {"root": name, "name": "x"})


def list_mcp_messages(world: World, question: str, chosen: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield messages of MCP: lists, resources, prompts, completions and a call of every tool."""
    name, word = world.get_name(chosen), WORDS[chosen]
    for listed in ("tools", "resources", "resources/templates", "prompts"):
        yield f"{listed}/list", {}
    for uri in ("coderag://repositories", f"coderag://{name}/status", f"coderag://{name}/map"):
        yield "resources/read", {"uri": uri}
    yield "resources/subscribe", {"uri": f"coderag://{name}/status"}
    yield "prompts/get", {"name": "explain_module", "arguments": {"path": f"{word}/core.py", "repository": name}}
    yield (
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "explain_module"},
            "argument": {"name": "repository", "value": name[:2]},
        },
    )
    for tool, arguments in list_tool_calls(world, question, chosen):
        yield "tools/call", {"name": tool, "arguments": arguments}
    yield "tools/call", {"name": "nothing", "arguments": {"repository": name}}
