"""Supported coding agents, with the location and format of their MCP server configuration.

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

InstallScope = Literal["user", "project"]
Entry = Mapping[str, Any]

SERVER_NAME: Final = "coderag"
"""Name of our server in every configuration."""


@dataclass(frozen=True, slots=True)
class CodingAgent:
    """A coding agent.

    Attributes:
        name: Name on the command line.
        title: Product name.
        keys: Path of the server table in the file.
        make_entry: Builds the entry from a command with its arguments.
        find_user_file: Returns the user's configuration file.
        project_file: Configuration file relative to the project root; empty if there is none.
        list_signs: Returns files and folders that exist if the agent is installed.
        program: Its executable, which also indicates an installation.
        is_toml: Whether the file is TOML; otherwise JSON, whose comments are preserved.
    """

    name: str
    title: str
    keys: tuple[str, ...]
    make_entry: Callable[[Sequence[str]], Entry]
    find_user_file: Callable[[], Path]
    project_file: str
    list_signs: Callable[[], Sequence[Path]]
    program: str
    is_toml: bool = False

    @property
    def instructions_file(self) -> str:
        """The project's instruction file that the agent reads."""
        return "CLAUDE.md" if self.name == "claude-code" else "AGENTS.md"

    def is_installed(self) -> bool:
        """Return whether the agent seems to be installed on this machine."""
        return any(path.exists() for path in self.list_signs()) or shutil.which(self.program) is not None

    def find_file(self, scope: InstallScope, root: Path) -> Path:
        """Return the file to write.

        Raises:
            ConfigurationError: The agent has no configuration for this scope.
        """
        if scope == "user":
            return self.find_user_file()
        if not self.project_file:
            message = f"{self.title} has no project configuration"
            raise ConfigurationError(message, hint="Install it for all projects with --scope user.")
        path = root / self.project_file
        variant = path.with_suffix(".jsonc")
        return variant if self.name == "opencode" and variant.is_file() and not path.is_file() else path


def find_agent(name: str) -> CodingAgent:
    """Return the agent of a name.

    Raises:
        InvalidQueryError: There is none.
    """
    canonical = _ALIASES.get(name.lower(), name.lower())
    match = next((agent for agent in AGENTS if agent.name == canonical), None)
    if match is None:
        raise InvalidQueryError(f"unknown agent {name!r}", hint=f"Supported agents: {', '.join(_list_names())}.")
    return match


def _list_names() -> list[str]:
    return [agent.name for agent in AGENTS]


def _find_home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise ConfigurationError("the home folder cannot be determined", hint="Set HOME.") from error


def _resolve_folder(variable: str, default: Path) -> Path:
    """Return the folder that an environment variable names, resolved as the agent does."""
    value = os.environ.get(variable, "").strip()
    return Path(value).expanduser() if value else default


def _find_claude_file() -> Path:
    return _resolve_folder("CLAUDE_CONFIG_DIR", _find_home()) / ".claude.json"


def find_claude_folder() -> Path:
    """Return the user's Claude Code folder, which holds the skills."""
    return _resolve_folder("CLAUDE_CONFIG_DIR", _find_home() / ".claude")


def _find_codex_folder() -> Path:
    return _resolve_folder("CODEX_HOME", _find_home() / ".codex")


def _find_vscode_folder() -> Path:
    if sys.platform == "darwin":
        return _find_home() / "Library" / "Application Support" / "Code" / "User"
    if sys.platform == "win32":
        return _resolve_folder("APPDATA", _find_home() / "AppData" / "Roaming") / "Code" / "User"
    return _resolve_folder("XDG_CONFIG_HOME", _find_home() / ".config") / "Code" / "User"


def _find_opencode_folder() -> Path:
    return _resolve_folder("XDG_CONFIG_HOME", _find_home() / ".config") / "opencode"


def _find_opencode_file() -> Path:
    folder = _find_opencode_folder()
    variant = folder / "opencode.jsonc"
    return variant if variant.is_file() and not (folder / "opencode.json").is_file() else folder / "opencode.json"


def _make_plain_entry(command: Sequence[str]) -> Entry:
    return {"command": command[0], "args": list(command[1:])}


def _make_typed_entry(command: Sequence[str]) -> Entry:
    return {"type": "stdio", **_make_plain_entry(command)}


def _make_opencode_entry(command: Sequence[str]) -> Entry:
    return {"type": "local", "command": list(command), "enabled": True}


AGENTS: Final = (
    CodingAgent(
        "claude-code", "Claude Code", ("mcpServers",), _make_typed_entry, _find_claude_file, ".mcp.json",
        lambda: (_find_claude_file(), find_claude_folder()), "claude",
    ),
    CodingAgent(
        "codex", "Codex", ("mcp_servers",), _make_plain_entry,
        lambda: _find_codex_folder() / "config.toml", ".codex/config.toml",
        lambda: (_find_codex_folder(),), "codex", is_toml=True,
    ),
    CodingAgent(
        "cursor", "Cursor", ("mcpServers",), _make_plain_entry,
        lambda: _find_home() / ".cursor" / "mcp.json", ".cursor/mcp.json",
        lambda: (_find_home() / ".cursor",), "cursor",
    ),
    CodingAgent(
        "vscode", "VS Code", ("servers",), _make_typed_entry, lambda: _find_vscode_folder() / "mcp.json", ".vscode/mcp.json",
        lambda: (_find_vscode_folder(),), "code",
    ),
    CodingAgent(
        "opencode", "OpenCode", ("mcp",), _make_opencode_entry, _find_opencode_file, "opencode.json",
        lambda: (_find_opencode_folder(),), "opencode",
    ),
    CodingAgent(
        "windsurf", "Windsurf", ("mcpServers",), _make_plain_entry,
        lambda: _find_home() / ".codeium" / "windsurf" / "mcp_config.json", "",
        lambda: (_find_home() / ".codeium" / "windsurf",), "windsurf",
    ),
    CodingAgent(
        "gemini", "Gemini CLI", ("mcpServers",), _make_plain_entry, lambda: _find_home() / ".gemini" / "settings.json",
        ".gemini/settings.json", lambda: (_find_home() / ".gemini" / "settings.json",), "gemini",
    ),
)  # fmt: skip
"""In display order."""

_ALIASES: Final = {"claude": "claude-code", "code": "vscode", "vs-code": "vscode", "gemini-cli": "gemini"}
