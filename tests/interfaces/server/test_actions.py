"""Every route and tool has an action, and nothing is served without one."""

from collections.abc import Iterator

import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute

import coderag.interfaces.rest as rest_package
from coderag.interfaces.mcp.server import _TOOLS
from coderag.interfaces.rest.strict_route import StrictRoute, get_route_name
from coderag.interfaces.server import resource_metadata, sign_in_routes, webhook_routes
from coderag.interfaces.server.actions import REST_ACTIONS, TOOL_ACTIONS
from coderag.interfaces.server.admin import router as administration
from coderag.interfaces.server.app import ROUTE_ACTIONS
from coderag.server.access.roles import Action
from tests.support.routers import list_routers

ADMINISTRATION = administration._MODULES
OTHERS = (webhook_routes, sign_in_routes, resource_metadata)


def list_routes(routers: "list[APIRouter]") -> Iterator[APIRoute]:
    for router in routers:
        yield from (route for route in router.routes if hasattr(route, "path"))


REST_ROUTES = list(list_routes(list_routers(rest_package)))
ALL_ROUTES = [*REST_ROUTES, *list_routes([module.router for module in (*ADMINISTRATION, *OTHERS)])]


@pytest.mark.parametrize("route", ALL_ROUTES, ids=get_route_name)
def test_route_is_behind_the_gate_and_has_an_action(route):
    assert isinstance(route, StrictRoute)
    assert get_route_name(route) in ROUTE_ACTIONS


def test_no_action_is_of_a_route_that_is_gone():
    assert {*ROUTE_ACTIONS} == {get_route_name(route) for route in ALL_ROUTES}
    assert {*REST_ACTIONS} == {get_route_name(route) for route in REST_ROUTES}


def test_every_tool_has_an_action():
    names = {tool.name for tools in _TOOLS.values() for tool in tools}
    assert {*TOOL_ACTIONS} == names


def test_only_these_routes_need_no_sign_in():
    public = {route for route, action in ROUTE_ACTIONS.items() if action is Action.PUBLIC}
    assert public == {
        "GET /health",
        "POST /hooks/{repository_id}",
        "GET /web/session",
        "POST /web/session",
        "DELETE /web/session",
        "GET /web/oidc/begin",
        "GET /web/oidc/callback",
        "GET /.well-known/oauth-protected-resource",
        "GET /.well-known/oauth-protected-resource/mcp",
    }
