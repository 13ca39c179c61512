"""OpenAPI description, with the common form of all errors."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from coderag.engine.chat import Approval
from coderag.errors import CodeRAGError
from coderag.interfaces.error_table import ERROR_TABLE
from coderag.interfaces.rest.chat_bodies import ThreadReply
from coderag.interfaces.rest.problems import PROBLEM_TYPE, Problem
from coderag.schema.answers import AnswerEvent

TITLE: Final = "CodeRAG"
DESCRIPTION: Final = """\
Code search, context within a token budget, answers with checked citations, and the code graph.

Lines are 1-based, ranges inclusive; paths are relative to the repository's root, with `/`. Under `coderag serve`, every
request needs the token of the service: `Authorization: Bearer ...`.
"""
TAGS: Final = [
    {"name": "search", "description": "Search, context and definitions."},
    {"name": "feedback", "description": "Verdicts on results, which become golden questions."},
    {"name": "answers", "description": "Answers with checked citations."},
    {"name": "graph", "description": "Calls, imports, inheritance, overrides and tests."},
    {"name": "browsing", "description": "Folders, files, chunks, and declarations between callers and callees."},
    {"name": "projection", "description": "Embedding map: chunks in the plane, similar ones together."},
    {"name": "items", "description": "Mirrored pages and tickets of documentation and backlog systems."},
    {"name": "history", "description": "Commits, blame, authors and co-change; reviews of changes."},
    {"name": "repositories", "description": "Repositories and their index status."},
    {"name": "indexing", "description": "Indexing jobs."},
    {"name": "queries", "description": "Recent searches and questions."},
]

_REQUEST_STATUSES: Final = (400, 401, 403, 404, 405, 413, 415, 421, 422, 429, 500)
"""Statuses of requests refused before the engine, and of internal errors."""

_TOKEN_SCHEME: Final = "token"  # noqa: S105  # name of a security scheme
_MODEL_REF: Final = "#/components/schemas/{model}"


def build_openapi(app: FastAPI) -> dict[str, Any]:
    """Build the OpenAPI description of an app, once."""
    if app.openapi_schema is None:
        description = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
        )
        components = description["components"]
        _complete_models(components["schemas"])
        components["responses"] = _build_error_responses()
        components["securitySchemes"] = {
            _TOKEN_SCHEME: {"type": "http", "scheme": "bearer", "description": "Token of the service."}
        }
        description["security"] = [{_TOKEN_SCHEME: []}, {}]
        errors = {status: {"$ref": f"#/components/responses/{status}"} for status in components["responses"]}
        for operations in description["paths"].values():
            for operation in operations.values():
                operation["responses"].update(errors)
        app.openapi_schema = description
    return app.openapi_schema


def _complete_models(schemas: dict[str, Any]) -> None:
    """Add the models of errors and events, and move attribute descriptions from docstrings to the fields."""
    for model in (Problem, AnswerEvent, Approval, ThreadReply):
        model_schema = TypeAdapter(model).json_schema(mode="serialization", ref_template=_MODEL_REF)
        schemas.update({**model_schema.pop("$defs", {}), model.__name__: model_schema} | schemas)
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for schema in schemas.values():
        _replace_tuples(schema)
        schema["description"], meanings = split_description(schema.get("description", ""))
        for name, meaning in meanings.items():
            schema["properties"].get(name, {}).setdefault("description", meaning)


def _replace_tuples(schema: dict[str, Any]) -> None:
    """Describe homogeneous tuples as fixed-size lists, as client generators know no other form."""
    for value in schema.values():
        if isinstance(value, dict):
            _replace_tuples(value)
    items = schema.get("prefixItems", [])
    if items and all(item == items[0] for item in items):
        schema["items"] = schema.pop("prefixItems")[0]


def split_description(text: str) -> tuple[str, dict[str, str]]:
    """Split a docstring into the description of the class and those of its attributes."""
    head, _, attributes = text.replace("``", "`").partition("\n\nAttributes:\n")
    meanings = {}
    for entry in re.split(r"\n(?=    \S)", attributes):
        names, _, meaning = entry.partition(":")
        for name in names.split(","):
            meanings[name.strip()] = " ".join(meaning.split())
    meanings.pop("", None)
    return head, meanings


def _build_error_responses() -> Mapping[str, Any]:
    """Build the responses of all error statuses."""
    error_names: dict[int, list[str]] = {status: [] for status in _REQUEST_STATUSES}
    for kind, row in ERROR_TABLE.items():
        error_names.setdefault(row.status, []).append(kind.__name__)
    content = {PROBLEM_TYPE: {"schema": {"$ref": _MODEL_REF.format(model=Problem.__name__)}}}
    return {
        str(status): {"description": _describe_status(status, names), "content": content}
        for status, names in sorted(error_names.items())
    }


def _describe_status(status: int, names: list[str]) -> str:
    phrase = HTTPStatus(status).phrase
    own = [name for name in names if name != CodeRAGError.__name__]
    return f"{phrase}: {', '.join(own)}" if own else phrase
