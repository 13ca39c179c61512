import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.sources.files.openapi import OpenAPIError, is_openapi, render_openapi

PETS = """\
openapi: 3.1.0
info: {title: Pets, version: "2.0", description: All about pets.}
servers: [{url: https://api.example/v2}]
paths:
  /pets/{id}:
    parameters:
      - $ref: '#/components/parameters/Id'
    get:
      summary: Read a pet
      operationId: readPet
      tags: [pets]
      responses:
        '200': {description: The pet, content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
        404: {$ref: '#/components/responses/Missing'}
    put:
      deprecated: true
      requestBody:
        required: true
        content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Pet'}}}}
components:
  parameters:
    Id: {name: id, in: path, required: true, description: Its number., schema: {type: integer, format: int64}}
  responses:
    Missing: {description: There is none}
  schemas:
    Pet:
      description: An animal.
      required: [name]
      properties:
        name: {type: string, description: "What it\\nanswers to."}
        kind: {enum: [cat, dog]}
        friend: {oneOf: [{$ref: '#/components/schemas/Pet'}, {type: 'null'}]}
"""


def render(text: str, path: str = "api.yaml") -> tuple[str, str]:
    rendered = render_openapi(text.encode(), path)
    assert rendered is not None
    return rendered


def test_operations_and_schemas_have_headings_of_their_own() -> None:
    title, text = render(PETS)

    assert title == "Pets 2.0"
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "## GET /pets/{id}", "## PUT /pets/{id}", "## Schema Pet",
    ]  # fmt: skip
    for line in (
        "All about pets.",
        "Servers: https://api.example/v2",
        "Read a pet",
        "- Operation: readPet",
        "- `id` (path, integer (int64), required): Its number.",
        "- 200: The pet (Pet)",
        "- 404: There is none",
        "- Deprecated: yes",
        "Request body, required:",
        "- `application/json`: array of Pet",
        "- `name` (string, required): What it answers to.",
        "- `kind` (one of cat, dog)",
        "- `friend` (Pet or null)",
    ):
        assert line in text.splitlines()


def test_swagger_2_as_json_is_rendered() -> None:
    document = {
        "swagger": "2.0",
        "info": {"title": "Old"},
        "host": "h.example",
        "basePath": "/v1",
        "paths": {"/a": {"post": {"parameters": [{"in": "query", "name": "q", "type": "string"}], "responses": {}}}},
        "definitions": {"A": {"type": "object", "properties": {"b": {"type": "boolean"}}}},
    }
    title, text = render(json.dumps(document), "old.json")

    assert title == "Old"
    assert "Servers: h.example/v1" in text
    assert "- `q` (query, string)" in text
    assert "- `b` (boolean)" in text


def test_circular_references_end() -> None:
    paths = "paths:\n  /a: {$ref: '#/paths/~1a'}\n"
    text = f"openapi: 3.0.0\n{paths}components:\n  schemas:\n    A: {{$ref: '#/components/schemas/A'}}\n"

    assert "## Schema A" in render(text)[1]


def test_references_to_other_files_are_not_read() -> None:
    text = "openapi: 3.0.0\npaths:\n  /a:\n    get:\n      responses: {200: {$ref: 'file:///etc/passwd'}}\n"

    assert "root:" not in render(text)[1]


def test_other_documents_are_none() -> None:
    assert render_openapi(b"- openapi: no\n", "a.yaml") is None
    assert not is_openapi(b"kind: Service\n")
    assert is_openapi(b'{"openapi": "3.0.0"}')
    assert is_openapi(b'{\n  "swagger" : "2.0"}')


@pytest.mark.parametrize(
    ("text", "path"),
    [("openapi: [", "a.yaml"), ('{"openapi": ', "a.json"), ("openapi: !!python/object:os.x {}", "a.yml")],
)
def test_document_that_cannot_be_parsed_is_an_error(text: str, path: str) -> None:
    with pytest.raises(OpenAPIError, match="not valid"):
        render_openapi(text.encode(), path)


KEYS = ("$ref", "get", "paths", "schema", "properties", "items", "allOf", "type", "A", "responses")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(0, 3)
    | st.sampled_from(["#/paths", "#/components/schemas/A", "a", "object"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=12,
)


@given(paths=JSON, components=JSON, info=JSON)
def test_documents_of_any_shape_are_rendered(paths: object, components: object, info: object) -> None:
    document = {"openapi": "3.0.0", "info": info, "paths": paths, "components": components, "servers": components}

    assert render_openapi(json.dumps(document).encode(), "a.json") is not None
