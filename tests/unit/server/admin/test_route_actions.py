"""The table of routes and actions, enforced for every role."""

import pytest
from fastapi.routing import APIRoute

from coderag.interfaces.server.admin.router import _MODULES, ROUTE_ACTIONS
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Role
from tests.unit.server.admin.conftest import Send

ID = "0" * 32
BODIES: dict[str, object] = {
    "POST /server/keys": {"name": "k"},
    "POST /server/agent-tokens": {"repositories": ["shop"]},
    "POST /server/users": {"name": "Ann", "email": "ann@example.org"},
    "PATCH /server/users/{user_id}": {},
    "POST /server/users/{user_id}/keys": {"name": "k"},
    "POST /server/teams": {"name": "core"},
    "PATCH /server/teams/{team_id}": {},
    "PUT /server/teams/{team_id}/grants": {"repository": "shop", "level": "read"},
    "POST /server/repositories": {"name": "new", "url": "https://git.example.org/new.git"},
    "PATCH /server/repositories/{repository_id}": {},
    "PUT /server/repositories/{repository_id}/sources/{source}": {"system": "jira", "settings": {}, "token": "t"},
    "POST /server/credentials": {"name": "c", "kind": "token", "host": "git.example.org", "secret": "abc"},
}


def list_routes() -> set[str]:
    routes = [route for module in _MODULES for route in module.router.routes if isinstance(route, APIRoute)]
    return {f"{method} {route.path}" for route in routes for method in route.methods}


def test_every_route_has_an_action_and_every_action_a_route() -> None:
    assert list_routes() == set(ROUTE_ACTIONS)


@pytest.mark.parametrize("role", list(Role))
def test_a_role_is_refused_exactly_what_the_table_does_not_give_it(
    send: Send, principals: dict[Role, Principal], role: Role
) -> None:
    for route, action in ROUTE_ACTIONS.items():
        method, _, path = route.partition(" ")
        for name in ("user", "team", "repository", "credential", "job", "key", "session", "grant"):
            path = path.replace(f"{{{name}_id}}", ID)
        path = path.replace("{source}", "wiki")
        options = {"json": BODIES[route]} if route in BODIES else {}
        reply = send(role, method, path.removeprefix("/server"), **options)
        is_refused = reply.status_code == 403
        assert is_refused == (not principals[role].may(action)), (route, reply.text)
        assert reply.status_code < 500, (route, reply.text)


def test_every_route_needs_a_sign_in(send: Send) -> None:
    for route in ROUTE_ACTIONS:
        method, _, path = route.partition(" ")
        reply = send(None, method, path.removeprefix("/server"))
        assert (reply.status_code, reply.json()["type"]) == (401, "AuthenticationError"), route


@pytest.mark.parametrize(
    ("method", "path", "body", "message"),
    [
        ("POST", "/users", {"name": "Ann", "email": "ann@example.org", "is_active": True}, "body.is_active"),
        ("POST", "/users", {"name": "Ann", "email": "ann@example.org", "role": "root"}, "body.role"),
        ("POST", "/users", {"name": "Ann", "email": "ann"}, "e-mail 'ann'"),
        ("POST", "/users", {"name": "ci", "kind": "service", "email": "a@b.example"}, "has no e-mail"),
        ("POST", "/users", {"name": "x" * 201, "email": "ann@example.org"}, "body.name"),
        ("POST", "/users", {"name": 5, "email": "ann@example.org"}, "body.name"),
        ("POST", "/keys", {"name": "k", "scopes": ["root"]}, "body.scopes"),
        ("POST", "/keys", {"name": "k", "expires_at": "2020-01-01T00:00:00Z"}, "has passed"),
        ("POST", "/keys", {"name": "k", "expires_at": 5}, "a time is a text"),
        ("POST", "/keys", {"name": "k", "expires_at": "9" * 50}, "at most 40 characters"),
        ("POST", "/keys", {"name": "k", "expires_at": "0001-01-01T00:00:00+23:59"}, "out of range"),
        ("POST", "/keys", {"name": "k", "repositories": []}, "body.repositories"),
        ("POST", "/repositories", {"name": "x", "url": "file:///etc"}, "URL"),
        (
            "POST",
            "/repositories",
            {"name": "x", "url": "https://git.example.org/x", "interval_minutes": -1},
            "interval",
        ),
        ("GET", "/users?cursor=x", None, "invalid cursor"),
        ("GET", "/jobs?cursor=yesterday", None, "invalid cursor"),
        ("GET", "/jobs?state=lost", None, "query.state"),
        ("GET", "/users?limit=0", None, "query.limit"),
        ("GET", "/users/not-an-id", None, "path.user_id"),
        ("GET", "/audit?since=yesterday", None, "query.since"),
    ],
)
def test_bad_input_is_a_problem_that_names_it(send: Send, method: str, path: str, body: object, message: str) -> None:
    reply = send(Role.OWNER, method, path, **({} if body is None else {"json": body}))
    assert reply.status_code == 422, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    assert message in reply.json()["detail"]
