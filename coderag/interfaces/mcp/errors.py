"""Error texts for a model: what is wrong and what to do next, without tracebacks."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from mcp_types import INVALID_PARAMS, CallToolResult, TextContent
from pydantic import ValidationError

from coderag.errors import (
    AmbiguousNameError,
    CodeRAGError,
    IndexNotFoundError,
    UnknownNameError,
    UnknownRepositoryError,
)
from coderag.schema.chunks import format_location

_MAX_CANDIDATES = 12

_MENTIONS_COMMAND: Final = "`coderag graph mentions NAME` lists the lines with any other."
_TOOL_HINTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Use --exact to search for literal text.": "Use mode exact to search for literal text.",
        "`coderag status` lists indexed and skipped files.": "coderag_status lists indexed and skipped files.",
    }
)
"""Command-line hints, reworded for a model that has tools."""


def format_error(error: CodeRAGError) -> str:
    """Format an error of CodeRAG."""
    lines = [f"{error}."]
    if isinstance(error, AmbiguousNameError) and error.candidates:
        lines.append("Call again with one of these names:")
        for candidate in error.candidates[:_MAX_CANDIDATES]:
            place = format_location(candidate.path, candidate.start_line, candidate.end_line)
            lines.append(f"- `{candidate.name}` ({candidate.kind}, {place})")
        remaining = len(error.candidates) - _MAX_CANDIDATES
        lines += [f"- and {remaining} more"] if remaining > 0 else []
    elif isinstance(error, IndexNotFoundError):
        lines.append("Call coderag_index, then ask again.")
    elif error.hint:
        hint = error.hint.removesuffix(_MENTIONS_COMMAND).rstrip()
        lines.append(_TOOL_HINTS.get(hint, hint))
    is_code = isinstance(error, UnknownNameError) and not isinstance(error, UnknownRepositoryError)
    if is_code and not error.hint.startswith("Did you mean"):
        lines.append("coderag_search finds it by words, or with mode exact every place where it stands.")
    if error.retryable:
        lines.append("The same call may work in a moment.")
    return "\n".join(lines)


def format_invalid_arguments(tool: str, error: ValidationError, parameters: Iterable[str] = ()) -> str:
    """Format the validation errors of a call's arguments, one per line.

    Args:
        tool: Name of the tool.
        error: The validation error.
        parameters: Names of its parameters, listed if an unknown one was given.
    """
    lines = [f"{tool} was not run: its arguments do not match its schema."]
    for detail in error.errors(include_url=False, include_input=False):
        name = ".".join(str(part) for part in detail["loc"])
        message = "unknown parameter" if detail["type"] == "extra_forbidden" else detail["msg"]
        lines.append(f"- {name}: {message}" if name else f"- {message.removeprefix('Value error, ')}")
    if parameters and any(detail["type"] == "extra_forbidden" for detail in error.errors()):
        lines.append(f"It takes: {', '.join(parameters)}.")
    return "\n".join(lines)


def build_refusal(message_id: str | int, error: CodeRAGError) -> dict[str, Any]:
    """Build the reply to a call that is refused before a server sees it: a result with the error, for the model.

    Args:
        message_id: Id of the message.
        error: Reason of the refusal.
    """
    result = CallToolResult(content=[TextContent(text=format_error(error))], is_error=True)
    reply = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {"jsonrpc": "2.0", "id": message_id, "result": reply}


def build_error(message_id: str | int, error: CodeRAGError) -> dict[str, Any]:
    """Build the reply to another request that is refused before a server sees it: an error of the protocol.

    Args:
        message_id: Id of the message.
        error: Reason of the refusal.
    """
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": INVALID_PARAMS, "message": format_error(error)}}
