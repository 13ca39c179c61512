"""The description of the REST interface: complete, bounded, and without anything from elsewhere."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from starlette.testclient import TestClient

from coderag.codegraph.graph import CodeGraph
from coderag.interfaces.cli.commands.graph.query_commands import QUERY_COMMANDS
from coderag.interfaces.error_table import ERROR_TABLE
from coderag.interfaces.rest.app import make_app
from coderag.interfaces.rest.openapi import split_description
from coderag.schema.graph_queries import DEPTHLESS_QUERIES, GraphQuery
from tests.interfaces.rest_server import FakeWorkspace


@pytest.fixture(scope="module")
def described() -> Any:
    return TestClient(make_app(FakeWorkspace())).get("/openapi.json").json()


def operations(described: Any) -> Iterator[tuple[str, Any]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", operation


def parts(schema: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all objects within a schema, with their places."""
    if isinstance(schema, dict):
        yield place, schema
        for name, part in schema.items():
            yield from parts(part, f"{place}/{name}")
    elif isinstance(schema, list):
        for number, part in enumerate(schema):
            yield from parts(part, f"{place}/{number}")


def requested(described: Any) -> Iterator[tuple[str, Any]]:
    """Yield what requests may say: the bodies and the parameters."""
    for name, schema in described["components"]["schemas"].items():
        if name.endswith("Body"):
            yield name, schema
    for label, operation in operations(described):
        for parameter in operation.get("parameters", ()):
            yield f"{label} {parameter['name']}", parameter["schema"]


def test_every_operation_says_what_it_does(described):
    lacking = [label for label, one in operations(described) if not (one.get("summary") and one.get("description"))]
    assert not lacking


def test_operations_have_names_of_their_own(described):
    names = [operation["operationId"] for _, operation in operations(described)]
    assert len(names) == len(set(names))


def test_every_text_that_a_request_may_have_is_bounded(described):
    unbounded = [
        f"{name}{place}"
        for name, schema in requested(described)
        for place, part in parts(schema)
        if part.get("type") == "string" and not ({"maxLength", "enum", "const"} & part.keys() or "oneOf" in place)
    ]
    assert not unbounded


def test_every_number_and_list_that_a_request_may_have_is_bounded(described):
    bounds = {"integer": {"maximum", "exclusiveMaximum"}, "array": {"maxItems"}}
    unbounded = [
        f"{name}{place}"
        for name, schema in requested(described)
        for place, part in parts(schema)
        if part.get("type") in bounds and not (bounds[part["type"]] & part.keys() or "oneOf" in place)
    ]
    assert not unbounded


def test_every_parameter_of_a_body_is_described(described):
    schemas = described["components"]["schemas"]
    silent = [
        f"{name}.{field}"
        for name, schema in schemas.items()
        if name.endswith("Body")
        for field, part in schema["properties"].items()
        if "description" not in json.dumps(part)
    ]
    assert not silent


def test_bodies_take_nothing_that_is_not_described(described):
    schemas = described["components"]["schemas"]
    assert all(schema["additionalProperties"] is False for name, schema in schemas.items() if name.endswith("Body"))


def test_every_status_of_the_table_of_errors_is_described_everywhere(described):
    statuses = {str(row.status) for row in ERROR_TABLE.values()}
    assert all(statuses <= operation["responses"].keys() for _, operation in operations(described))


def test_every_error_is_a_problem(described):
    contents = [list(reply["content"]) for reply in described["components"]["responses"].values()]
    assert contents == [["application/problem+json"]] * len(contents)


def test_every_reference_leads_somewhere(described):
    references = {part["$ref"] for _, part in parts(described) if isinstance(part.get("$ref"), str)}
    known = {
        f"#/components/{kind}/{name}" for kind in ("schemas", "responses") for name in described["components"][kind]
    }
    assert references <= known
    assert len(references) > 50


def test_every_model_is_a_schema(described):
    for schema in described["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_the_meaning_of_a_field_stands_with_the_field(described):
    hit = described["components"]["schemas"]["SearchHit"]
    assert hit["properties"]["score"]["description"] == "Higher is better; comparable only within one query."
    assert "Attributes" not in hit["description"]


def test_a_docstring_is_split_into_what_it_says_of_what():
    text = "A place.\n\nMore.\n\nAttributes:\n    path, line: Where\n        it is: ``a:1``.\n    kind: What."
    assert split_description(text) == (
        "A place.\n\nMore.",
        {"path": "Where it is: `a:1`.", "line": "Where it is: `a:1`.", "kind": "What."},
    )


def test_the_questions_to_the_graph_are_those_of_the_command_line(described):
    parameter = described["paths"]["/api/v1/graph/{question}"]["post"]["parameters"][0]
    assert parameter["schema"]["enum"] == [*GraphQuery.__args__]
    assert set(parameter["schema"]["enum"]) == {question.name for question in QUERY_COMMANDS}
    assert {question.name for question in QUERY_COMMANDS if not question.depth} == DEPTHLESS_QUERIES
    assert all(hasattr(CodeGraph, question.name) for question in QUERY_COMMANDS)


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/docs/oauth2-redirect"])
def test_no_page_that_loads_scripts_from_elsewhere_is_served(path):
    assert TestClient(make_app(FakeWorkspace())).get(path).status_code == 404
