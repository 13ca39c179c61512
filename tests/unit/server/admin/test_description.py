"""The description of the routes of the administration, together with that of the other routes."""

from operator import attrgetter
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from coderag.interfaces.rest.app import PREFIX, make_app
from coderag.interfaces.rest.openapi import build_openapi
from coderag.interfaces.server.admin.router import _MODULES, router
from coderag.workspace.workspace import Workspace


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    app = FastAPI(generate_unique_id_function=attrgetter("name"))
    app.include_router(router, prefix=PREFIX)
    return build_openapi(app)


def test_no_two_routes_have_the_same_name() -> None:
    with Workspace() as workspace:
        others = [route.name for route in make_app(workspace).routes if isinstance(route, APIRoute)]
    own = [route.name for module in _MODULES for route in module.router.routes if isinstance(route, APIRoute)]
    assert len(own) == len(set(own))
    assert not set(own) & set(others)


def test_every_route_and_parameter_is_described(description: dict[str, Any]) -> None:
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], (method, path)
            assert operation["description"], (method, path)
            for parameter in operation.get("parameters", []):
                assert parameter["description"], (method, path, parameter["name"])


def test_every_field_of_a_request_is_described_and_bounded(description: dict[str, Any]) -> None:
    bodies = {name: model for name, model in description["components"]["schemas"].items() if name.endswith("Body")}
    assert len(bodies) == 12
    for name, model in bodies.items():
        assert model["additionalProperties"] is False
        for field, schema in model["properties"].items():
            assert schema["description"], (name, field)
            for option in schema.get("anyOf", [schema]):
                if option.get("type") == "string" and "enum" not in option and "const" not in option:
                    assert "maxLength" in option, (name, field)
                if option.get("type") == "array":
                    assert "maxItems" in option, (name, field)
                if option.get("type") == "integer":
                    assert "maximum" in option, (name, field)
