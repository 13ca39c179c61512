"""Installation targets: an entry in an agent's configuration, a block in a document, a separate file."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from coderag.errors import ConfigurationError
from coderag.interfaces.install import json_entry, toml_entry
from coderag.interfaces.install.agents import SERVER_NAME, CodingAgent, InstallScope

_BEGIN: Final = "<!-- coderag:begin (written by `coderag install --instructions`, removed by --uninstall) -->"
_END: Final = "<!-- coderag:end -->"
_BLOCK: Final = re.compile(r"(?:\r?\n)?<!-- coderag:begin\b.*?<!-- coderag:end -->[ \t]*(?:\r?\n|\Z)", re.DOTALL)


class _EntryFormat(NamedTuple):
    """Operations of a file format on the entry at a key path."""

    read_entry: Callable[[str, Sequence[str]], object]
    set_entry: Callable[[str, Sequence[str], Mapping[str, Any]], str]
    remove_entry: Callable[[str, Sequence[str]], str]


_JSON: Final = _EntryFormat(json_entry.read_entry, json_entry.set_entry, json_entry.remove_entry)
_TOML: Final = _EntryFormat(toml_entry.read_entry, toml_entry.set_entry, toml_entry.remove_entry)


class InstallTarget(Protocol):
    """An item that is installed into a file, or as a file.

    Attributes:
        title: Display name.
        name: Identifier in JSON output.
        path: The file.
        within: Folder that must contain the resolved file; None for no limit.
    """

    @property
    def title(self) -> str: ...  # noqa: D102  # see above
    @property
    def name(self) -> str: ...  # noqa: D102  # see above
    @property
    def path(self) -> Path: ...  # noqa: D102  # see above
    @property
    def within(self) -> Path | None: ...  # noqa: D102  # see above

    def insert(self, text: str) -> str:
        """Return the file's text with the item, unchanged if it is already there.

        Raises:
            ConfigurationError: The text is invalid; the message has the line.
        """
        ...

    def remove(self, text: str) -> str | None:
        """Return the file's text without the item; None deletes the file. Raises as `insert`."""
        ...


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """Our entry in the server configuration of an agent."""

    agent: CodingAgent
    path: Path
    command: tuple[str, ...]
    within: Path | None = None

    @property
    def title(self) -> str:
        """The name of the agent."""
        return self.agent.title

    @property
    def name(self) -> str:
        """The name of the agent."""
        return self.agent.name

    def insert(self, text: str) -> str:
        """Return the text with our entry, keeping other keys of an existing entry."""
        keys = self._find_keys(text)
        current = self._format.read_entry(text, keys)
        new_entry = dict(self.agent.make_entry(self.command))
        if len(keys) > len(self.agent.keys) + 1:
            new_entry.pop("enabled", None)
        old_entry: dict[str, Any] = current if isinstance(current, dict) else {}
        if old_entry and all(old_entry.get(name) == value for name, value in new_entry.items()):
            return text
        if self.agent.is_toml:
            old_entry = {name: value for name, value in old_entry.items() if not isinstance(value, dict)}
        return self._format.set_entry(text, keys, {**old_entry, **new_entry})

    def remove(self, text: str) -> str | None:
        """Return the text without our entry."""
        keys = self._find_keys(text)
        return text if self._format.read_entry(text, keys) is None else self._format.remove_entry(text, keys)

    def parse_command(self, text: str) -> list[str] | None:
        """Return the configured command with its arguments; None if our entry is missing."""
        entry = self._format.read_entry(text, self._find_keys(text))
        if not isinstance(entry, dict):
            return None
        start, arguments = entry.get("command"), entry.get("args") or []
        words = [*start, *arguments] if isinstance(start, list) else [start, *arguments]
        return words if all(isinstance(word, str) for word in words) else None

    def format_snippet(self) -> str:
        """Return the text of a file that holds only our entry."""
        return self._format.set_entry("", self._find_keys(""), self.agent.make_entry(self.command))

    @property
    def _format(self) -> "_EntryFormat":
        return _TOML if self.agent.is_toml else _JSON

    def _find_keys(self, text: str) -> Sequence[str]:
        """Return the key path of our entry; from version 2 on OpenCode nests its servers one level deeper."""
        keys = (*self.agent.keys, SERVER_NAME)
        if self.agent.name != "opencode":
            return keys
        servers = json_entry.read_entry(text, (*self.agent.keys, "servers"))
        is_later = isinstance(servers, dict) and "type" not in servers and "command" not in servers
        return (*self.agent.keys, "servers", SERVER_NAME) if is_later else keys


@dataclass(frozen=True, slots=True)
class InstructionBlock:
    """A marked block in a document that agents read."""

    path: Path
    within: Path | None = None

    @property
    def title(self) -> str:
        """The name of the document."""
        return self.path.name

    @property
    def name(self) -> str:
        """The kind of target."""
        return "instructions"

    def insert(self, text: str) -> str:
        """Return the text with the block at its end, or in place of an earlier one."""
        newline = "\r\n" if "\r\n" in text else "\n"
        block = f"{_BEGIN}\n{read_data_text('instructions.md').strip()}\n{_END}\n".replace("\n", newline)
        match = _BLOCK.search(text)
        if match is not None:
            lead = newline if match[0].startswith(("\n", "\r\n")) else ""
            return text[: match.start()] + lead + block + text[match.end() :]
        if not text.strip():
            return text + block
        return text + ("" if text.endswith("\n") else newline) + newline + block

    def remove(self, text: str) -> str | None:
        """Return the text without the block."""
        return _BLOCK.sub("", text)


@dataclass(frozen=True, slots=True)
class SkillFile:
    """The Claude Code skill, a folder with one file."""

    path: Path
    within: Path | None = None

    @property
    def title(self) -> str:
        """The display name."""
        return "skill of Claude Code"

    @property
    def name(self) -> str:
        """The kind of target."""
        return "skill"

    def insert(self, text: str) -> str:
        """Return the text of the skill, replacing any other."""
        del text
        return read_data_text("skill.md")

    def remove(self, text: str) -> str | None:
        """Return None, which deletes the file.

        Raises:
            ConfigurationError: The file was edited since.
        """
        if text != read_data_text("skill.md"):
            raise ConfigurationError(
                "it was edited since it was written", hint="Delete it by hand if it is not needed."
            )
        return None


def find_skill_path(scope: InstallScope, root: Path, config_folder: Path) -> Path:
    """Return the path of the skill in the Claude Code folder of the user or project."""
    folder = config_folder if scope == "user" else root / ".claude"
    return folder / "skills" / SERVER_NAME / "SKILL.md"


def read_data_text(name: str) -> str:
    """Read a packaged text for agents."""
    return resources.files("coderag.interfaces.install").joinpath(name).read_text(encoding="utf-8")


def format_command(command: Sequence[str]) -> str:
    """Format a command as one line, quoting where needed."""
    return " ".join(word if word.isprintable() and " " not in word else json.dumps(word) for word in command)
