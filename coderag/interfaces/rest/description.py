"""The description of the interface: OpenAPI, with every error in its one form."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from coderag.errors import CodeRAGError
from coderag.interfaces._errors import ERROR_TABLE
from coderag.interfaces.rest.problems import PROBLEM_TYPE, Problem
from coderag.schema.answers import AnswerEvent

TITLE: Final = "CodeRAG"
DESCRIPTION: Final = """\
The right code for a question: search, context within a token budget, answers with checked citations, the code graph.

Lines count from 1, and both ends belong to a range; paths are relative to the repository's root, with `/`. Where it is served
by `coderag serve`, every request needs the token of the service: `Authorization: Bearer ...`.
"""
TAGS: Final = [
    {"name": "search", "description": "Search, context, and where names are declared."},
    {"name": "answers", "description": "Answers with checked citations."},
    {"name": "graph", "description": "Who calls, imports, extends, overrides and tests what."},
    {"name": "repositories", "description": "The repositories, and what is indexed of them."},
    {"name": "indexing", "description": "Runs of indexing."},
]

_OF_REQUESTS: Final = (400, 401, 403, 404, 405, 413, 415, 422, 429, 500)
"""Statuses of what is refused before the engine sees it, or of a fault."""

_TOKEN: Final = "token"  # noqa: S105  # name of a scheme
_MODELS: Final = "#/components/schemas/{model}"


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the description of an app, made once."""
    if app.openapi_schema is None:
        described = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
        )
        parts = described["components"]
        _complete_models(parts["schemas"])
        parts["responses"] = _errors()
        parts["securitySchemes"] = {
            _TOKEN: {"type": "http", "scheme": "bearer", "description": "Token of the service."}
        }
        described["security"] = [{_TOKEN: []}, {}]
        errors = {reply: {"$ref": f"#/components/responses/{reply}"} for reply in parts["responses"]}
        for operations in described["paths"].values():
            for operation in operations.values():
                operation["responses"].update(errors)
        app.openapi_schema = described
    return app.openapi_schema


def _complete_models(schemas: dict[str, Any]) -> None:
    """Add the models that only errors and events have, and tell each field's meaning with the field."""
    for model in (Problem, AnswerEvent):
        made = TypeAdapter(model).json_schema(mode="serialization", ref_template=_MODELS)
        schemas.update({**made.pop("$defs", {}), model.__name__: made} | schemas)
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for schema in schemas.values():
        _without_tuples(schema)
        schema["description"], told = split_description(schema.get("description", ""))
        for name, meaning in told.items():
            schema["properties"].get(name, {}).setdefault("description", meaning)


def _without_tuples(schema: dict[str, Any]) -> None:
    """Describe tuples of one type as lists of a fixed size: what makes clients of descriptions knows no other."""
    for part in schema.values():
        if isinstance(part, dict):
            _without_tuples(part)
    places = schema.get("prefixItems", [])
    if places and all(place == places[0] for place in places):
        schema["items"] = schema.pop("prefixItems")[0]


def split_description(text: str) -> tuple[str, dict[str, str]]:
    """Return what a docstring says of a class, and what it says of each attribute, as plain sentences."""
    head, _, attributes = text.replace("``", "`").partition("\n\nAttributes:\n")
    meanings = {}
    for entry in re.split(r"\n(?=    \S)", attributes):
        names, _, meaning = entry.partition(":")
        for name in names.split(","):
            meanings[name.strip()] = " ".join(meaning.split())
    meanings.pop("", None)
    return head, meanings


def _errors() -> Mapping[str, Any]:
    """Return what is said of each status of an error."""
    kinds: dict[int, list[str]] = {status: [] for status in _OF_REQUESTS}
    for kind, row in ERROR_TABLE.items():
        kinds.setdefault(row.status, []).append(kind.__name__)
    content = {PROBLEM_TYPE: {"schema": {"$ref": _MODELS.format(model=Problem.__name__)}}}
    return {
        str(status): {"description": _meaning(status, names), "content": content}
        for status, names in sorted(kinds.items())
    }


def _meaning(status: int, names: list[str]) -> str:
    phrase = HTTPStatus(status).phrase
    own = [name for name in names if name != CodeRAGError.__name__]
    return f"{phrase}: {', '.join(own)}" if own else phrase
