"""The tools of the MCP server as an agent calls them, and which lines of the repository the text of a reply shows."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from mcp import Client
from mcp_types import CallToolResult, TextContent

from coderag.errors import InvalidQueryError
from coderag.interfaces.mcp.server import make_server
from coderag.workspace.engines import get_index_folder
from coderag.workspace.registry import Registry
from coderag.workspace.workspace import Workspace, WorkspaceOptions

from ..repository import Repository  # noqa: TID252  # installed, it has another name
from .grepping import Files
from .spending import Line, written


@dataclass(frozen=True, slots=True)
class Told:
    """A reply.

    Attributes:
        lines: All of its text, which is what is paid for.
        results: The places that it is about.
    """

    lines: Sequence[Line]
    results: Sequence[Mapping[str, Any]]


class Tools:
    """The tools for one repository. Each call is a session with the server, over the protocol but in this process."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        workspace = Workspace(
            WorkspaceOptions(watch=False),
            registry=Registry(get_index_folder(repository.rag) / "known.json"),  # not among the user's own
            open_engine=lambda *_, **__: repository.rag,
        )
        self._server = make_server(workspace, default_root=repository.root)

    def call(self, name: str, **arguments: str | int) -> Told:
        """Return the reply of a tool.

        Raises:
            InvalidQueryError: It refuses the call.
        """
        result = asyncio.run(self._called(name, arguments))
        text = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
        if result.is_error or result.structured_content is None:
            raise InvalidQueryError(f"{name} does not answer: {text}")
        data = result.structured_content
        return Told(list(told_lines(text, data, self.repository)), data["results"])

    async def _called(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        async with Client(self._server) as client:
            return await client.call_tool(name, arguments)


def told_lines(text: str, data: Mapping[str, Any], files: Files) -> Iterator[Line]:
    """Yield all lines of a reply's text; those of code with their place, where the file has them.

    Args:
        text: Of the reply.
        data: The same for programs: it says which lines of which files the code in the text is.
        files: What it is about.

    Raises:
        ValueError: The text lacks code that the data has.
    """
    at = 0
    for place in [*data["results"], *data.get("related", ())]:
        if "code" not in place or place.get("detail") == "line":  # that is a summary, in a heading
            continue
        start = text.index(f"\n{place['code']}\n", at) + 1
        yield from map(written, text[at : start - 1].split("\n"))
        numbers = _numbers(place, files)
        for row, line in enumerate(place["code"].split("\n")):
            yield written(line, (place["path"], numbers[row]) if row in numbers else None)
        at = start + len(place["code"]) + 1
    yield from map(written, text[at:].split("\n"))


def _numbers(place: Mapping[str, Any], files: Files) -> Mapping[int, int]:
    """Return which line of its file each row of a place's code is; marks of gaps, and what was redacted, are none."""
    first = place["start_line"]
    whole = [line.strip() for line in files.lines(place["path"])[first - 1 : place["end_line"]]]
    shown = [line.strip() for line in place["code"].split("\n")]
    blocks = SequenceMatcher(None, whole, shown, autojunk=False).get_matching_blocks()
    return {block.b + step: first + block.a + step for block in blocks for step in range(block.size)}
