"""In-process calls of MCP tools, and the repository lines that the text of a reply shows."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from mcp import Client
from mcp_types import CallToolResult, TextContent

from coderag.errors import InvalidQueryError
from coderag.interfaces.mcp.replies import DATA_KEY
from coderag.interfaces.mcp.server import make_server
from coderag.workspace.engines import get_index_folder
from coderag.workspace.registry import Registry
from coderag.workspace.workspace import Workspace, WorkspaceOptions

from ..repository import Repository  # noqa: TID252  # installed, it has another name
from .grepping import Files
from .spending import Line, make_line


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """Reply of a tool.

    Attributes:
        lines: All lines of its text; all of them cost tokens.
        results: Results in its data.
    """

    lines: Sequence[Line]
    results: Sequence[Mapping[str, Any]]


class McpTools:
    """MCP tools for one repository. Each call is a session over the protocol, within this process."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        workspace = Workspace(
            WorkspaceOptions(watch=False),
            registry=Registry(get_index_folder(repository.rag) / "known.json"),  # keeps the user's registry untouched
            open_engine=lambda *_, **__: repository.rag,
        )
        self._server = make_server(workspace, default_root=repository.root)

    def call(self, name: str, **arguments: str | int) -> ToolOutput:
        """Call a tool.

        Raises:
            InvalidQueryError: The tool returns an error.
        """
        result = asyncio.run(self._call_async(name, arguments))
        text = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
        data = (result.meta or {}).get(DATA_KEY)
        if result.is_error or data is None:
            raise InvalidQueryError(f"{name} failed: {text}")
        return ToolOutput(list(locate_reply_lines(text, data, self.repository)), data["results"])

    async def _call_async(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        async with Client(self._server) as client:
            return await client.call_tool(name, arguments)


def locate_reply_lines(text: str, data: Mapping[str, Any], files: Files) -> Iterator[Line]:
    """Yield all lines of a reply's text; lines of code have their place if the file has them.

    Args:
        text: Text of the reply.
        data: Data of the reply, with the path and lines of each piece of code.
        files: Files of the repository.

    Raises:
        ValueError: The text lacks code of the data.
    """
    at = 0
    for place in [*data["results"], *data.get("related", ())]:
        for number in place.get("lines", ()):  # each behind its number
            start = text.index(f"\n  {number}: ", max(at - 1, 0)) + 1
            yield from map(make_line, text[at:start].splitlines())
            end = text.index("\n", start)
            yield make_line(text[start:end], (place["path"], number))
            at = end + 1
        if "code" not in place or place.get("detail") == "line":  # a summary in a heading, not code
            continue
        start = text.index(f"\n{place['code']}\n", at) + 1
        yield from map(make_line, text[at : start - 1].split("\n"))
        numbers = _match_line_numbers(place, files)
        for row, line in enumerate(place["code"].split("\n")):
            yield make_line(line, (place["path"], numbers[row]) if row in numbers else None)
        at = start + len(place["code"]) + 1
    yield from map(make_line, text[at:].split("\n"))


def _match_line_numbers(place: Mapping[str, Any], files: Files) -> Mapping[int, int]:
    """Return the file's line number for each row of a result's code; gap marks and redacted rows have none."""
    first = place["start_line"]
    expected = [line.strip() for line in files.read_lines(place["path"])[first - 1 : place["end_line"]]]
    displayed = [line.strip() for line in place["code"].split("\n")]
    blocks = SequenceMatcher(None, expected, displayed, autojunk=False).get_matching_blocks()
    return {block.b + step: first + block.a + step for block in blocks for step in range(block.size)}
