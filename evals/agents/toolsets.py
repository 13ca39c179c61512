"""Tools of an arm: their definitions and calls, whoever serves them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

ARMS: Final = ("mcp", "grep")
Arm = Literal["mcp", "grep"]

MAX_REPLY_CHARS: Final = 24_000
"""Maximum length of a reply of the tools for grepping and reading; replies of CodeRAG's MCP tools have the same limit."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """Tool as an agent gets it.

    Attributes:
        parameters: JSON schema of its arguments.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CallReply:
    """Reply of a tool: its text, or the message of an error."""

    text: str
    is_error: bool = False


class Toolset(Protocol):
    """Tools of an arm for one repository.

    Attributes:
        instructions: Advice of the tools' author to the agent; empty if there is none.
        definitions: The tools.
    """

    @property
    def instructions(self) -> str: ...  # noqa: D102  # see above

    @property
    def definitions(self) -> Sequence[ToolSpec]: ...  # noqa: D102  # see above

    def call(self, tool: str, arguments: Mapping[str, Any]) -> CallReply:
        """Call a tool. Wrong names and arguments are errors of the reply, not exceptions."""
        ...
