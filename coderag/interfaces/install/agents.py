"""The agents that CodeRAG can be put into: where each keeps its servers, and in what form.

Sources: code.claude.com/docs/en/mcp; developers.openai.com/codex/mcp; cursor.com/docs/context/mcp;
code.visualstudio.com/docs/copilot/reference/mcp-configuration; opencode.ai/docs/mcp-servers, of version 2
opencode.ai/v2/docs/mcp-servers; docs.windsurf.com/windsurf/cascade/mcp; geminicli.com/docs/tools/mcp-server.
"""

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from coderag.errors import ConfigurationError, InvalidQueryError

Scope = Literal["user", "project"]
Entry = Mapping[str, Any]

SERVER: Final = "coderag"
"""The name of our server in every configuration."""


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent.

    Attributes:
        name: To call it by on the command line.
        title: As it calls itself.
        keys: Where in the file its servers are, by name.
        entry: Makes what is written there of a command with its arguments.
        user_file: Returns the file of this user.
        project_file: The file of a project, seen from its root; empty if there is none.
        signs: Returns files and folders that are there where the agent is.
        program: Its command, which may be there instead.
        is_toml: Whether the file is TOML; else it is JSON, in which comments are left alone.
    """

    name: str
    title: str
    keys: tuple[str, ...]
    entry: Callable[[Sequence[str]], Entry]
    user_file: Callable[[], Path]
    project_file: str
    signs: Callable[[], Sequence[Path]]
    program: str
    is_toml: bool = False

    @property
    def document(self) -> str:
        """The file of a project that the agent reads as instructions."""
        return "CLAUDE.md" if self.name == "claude-code" else "AGENTS.md"

    def is_here(self) -> bool:
        """Whether the agent seems to be installed on this machine."""
        return any(path.exists() for path in self.signs()) or shutil.which(self.program) is not None

    def file(self, scope: Scope, root: Path) -> Path:
        """Return the file to write.

        Raises:
            ConfigurationError: The agent has none of that scope.
        """
        if scope == "user":
            return self.user_file()
        if not self.project_file:
            message = f"{self.title} has no configuration of projects"
            raise ConfigurationError(message, hint="Install it for all projects: --scope user.")
        path = root / self.project_file
        variant = path.with_suffix(".jsonc")
        return variant if self.name == "opencode" and variant.is_file() and not path.is_file() else path


def agent_named(name: str) -> Agent:
    """Return the agent of a name.

    Raises:
        InvalidQueryError: There is none.
    """
    wanted = _OTHER_NAMES.get(name.lower(), name.lower())
    found = next((agent for agent in AGENTS if agent.name == wanted), None)
    if found is None:
        raise InvalidQueryError(f"there is no agent {name!r}", hint=f"There are: {', '.join(_names())}.")
    return found


def _names() -> list[str]:
    return [agent.name for agent in AGENTS]


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise ConfigurationError("the home folder cannot be determined", hint="Set HOME.") from error


def _folder_of(variable: str, default: Path) -> Path:
    """Return the folder that a variable of the agent's names, as the agent itself would."""
    value = os.environ.get(variable, "").strip()
    return Path(value).expanduser() if value else default


def _claude_file() -> Path:
    return _folder_of("CLAUDE_CONFIG_DIR", _home()) / ".claude.json"


def claude_folder() -> Path:
    """Return this user's folder of Claude Code, in which skills are."""
    return _folder_of("CLAUDE_CONFIG_DIR", _home() / ".claude")


def _codex_folder() -> Path:
    return _folder_of("CODEX_HOME", _home() / ".codex")


def _vscode_folder() -> Path:
    if sys.platform == "darwin":
        return _home() / "Library" / "Application Support" / "Code" / "User"
    if sys.platform == "win32":
        return _folder_of("APPDATA", _home() / "AppData" / "Roaming") / "Code" / "User"
    return _folder_of("XDG_CONFIG_HOME", _home() / ".config") / "Code" / "User"


def _opencode_folder() -> Path:
    return _folder_of("XDG_CONFIG_HOME", _home() / ".config") / "opencode"


def _opencode_file() -> Path:
    folder = _opencode_folder()
    variant = folder / "opencode.jsonc"
    return variant if variant.is_file() and not (folder / "opencode.json").is_file() else folder / "opencode.json"


def _plain(command: Sequence[str]) -> Entry:
    return {"command": command[0], "args": list(command[1:])}


def _typed(command: Sequence[str]) -> Entry:
    return {"type": "stdio", **_plain(command)}


def _opencode(command: Sequence[str]) -> Entry:
    return {"type": "local", "command": list(command), "enabled": True}


AGENTS: Final = (
    Agent(
        "claude-code", "Claude Code", ("mcpServers",), _typed, _claude_file, ".mcp.json",
        lambda: (_claude_file(), claude_folder()), "claude",
    ),
    Agent(
        "codex", "Codex", ("mcp_servers",), _plain, lambda: _codex_folder() / "config.toml", ".codex/config.toml",
        lambda: (_codex_folder(),), "codex", is_toml=True,
    ),
    Agent(
        "cursor", "Cursor", ("mcpServers",), _plain, lambda: _home() / ".cursor" / "mcp.json", ".cursor/mcp.json",
        lambda: (_home() / ".cursor",), "cursor",
    ),
    Agent(
        "vscode", "VS Code", ("servers",), _typed, lambda: _vscode_folder() / "mcp.json", ".vscode/mcp.json",
        lambda: (_vscode_folder(),), "code",
    ),
    Agent(
        "opencode", "OpenCode", ("mcp",), _opencode, _opencode_file, "opencode.json",
        lambda: (_opencode_folder(),), "opencode",
    ),
    Agent(
        "windsurf", "Windsurf", ("mcpServers",), _plain,
        lambda: _home() / ".codeium" / "windsurf" / "mcp_config.json", "",
        lambda: (_home() / ".codeium" / "windsurf",), "windsurf",
    ),
    Agent(
        "gemini", "Gemini CLI", ("mcpServers",), _plain, lambda: _home() / ".gemini" / "settings.json",
        ".gemini/settings.json", lambda: (_home() / ".gemini" / "settings.json",), "gemini",
    ),
)  # fmt: skip
"""In the order they are shown."""

_OTHER_NAMES: Final = {"claude": "claude-code", "code": "vscode", "vs-code": "vscode", "gemini-cli": "gemini"}
