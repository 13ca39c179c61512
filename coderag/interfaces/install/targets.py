"""What can be put somewhere: an entry in an agent's configuration, a block of a document, a file of its own."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from coderag.errors import ConfigurationError
from coderag.interfaces.install import json_entry, toml_entry
from coderag.interfaces.install.agents import SERVER, Agent, Scope

_BEGIN: Final = "<!-- coderag:begin (written by `coderag install --instructions`, removed by --uninstall) -->"
_END: Final = "<!-- coderag:end -->"
_BLOCK: Final = re.compile(r"(?:\r?\n)?<!-- coderag:begin\b.*?<!-- coderag:end -->[ \t]*(?:\r?\n|\Z)", re.DOTALL)


class _Format(NamedTuple):
    """What a format of files can do with an entry at a path of names."""

    entry_of: Callable[[str, Sequence[str]], object]
    with_entry: Callable[[str, Sequence[str], Mapping[str, Any]], str]
    without_entry: Callable[[str, Sequence[str]], str]


_JSON: Final = _Format(json_entry.entry_of, json_entry.with_entry, json_entry.without_entry)
_TOML: Final = _Format(toml_entry.entry_of, toml_entry.with_entry, toml_entry.without_entry)


class Target(Protocol):
    """Something that is put into a file, or that is one.

    Attributes:
        title: Whose it is, for people.
        name: The same, for programs.
        path: The file.
        within: The folder that the file must be in behind all links; None if it may be anywhere.
    """

    @property
    def title(self) -> str: ...  # noqa: D102  # see above
    @property
    def name(self) -> str: ...  # noqa: D102  # see above
    @property
    def path(self) -> Path: ...  # noqa: D102  # see above
    @property
    def within(self) -> Path | None: ...  # noqa: D102  # see above

    def added(self, text: str) -> str:
        """Return the file's text with it; the same text if it is there already.

        Raises:
            ConfigurationError: The text is not valid; the message says in which line.
        """
        ...

    def removed(self, text: str) -> str | None:
        """Return the file's text without it; None if the file is to go. Raises as `added`."""
        ...


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """Our entry among the servers of an agent."""

    agent: Agent
    path: Path
    command: tuple[str, ...]
    within: Path | None = None

    @property
    def title(self) -> str:
        """The agent."""
        return self.agent.title

    @property
    def name(self) -> str:
        """The agent."""
        return self.agent.name

    def added(self, text: str) -> str:
        """Return the text with our entry; what else stands in an entry of that name stays."""
        keys = self._keys(text)
        old = self._format.entry_of(text, keys)
        wanted = dict(self.agent.entry(self.command))
        if len(keys) > len(self.agent.keys) + 1:
            wanted.pop("enabled", None)
        known: dict[str, Any] = old if isinstance(old, dict) else {}
        if known and all(known.get(name) == value for name, value in wanted.items()):
            return text
        if self.agent.is_toml:
            known = {name: value for name, value in known.items() if not isinstance(value, dict)}
        return self._format.with_entry(text, keys, {**known, **wanted})

    def removed(self, text: str) -> str | None:
        """Return the text without our entry."""
        keys = self._keys(text)
        return text if self._format.entry_of(text, keys) is None else self._format.without_entry(text, keys)

    def configured(self, text: str) -> list[str] | None:
        """Return the command that the agent starts, with its arguments; None if our entry is not there."""
        entry = self._format.entry_of(text, self._keys(text))
        if not isinstance(entry, dict):
            return None
        start, arguments = entry.get("command"), entry.get("args") or []
        words = [*start, *arguments] if isinstance(start, list) else [start, *arguments]
        return words if all(isinstance(word, str) for word in words) else None

    def snippet(self) -> str:
        """Return what the file would hold if nothing else were in it."""
        return self._format.with_entry("", self._keys(""), self.agent.entry(self.command))

    @property
    def _format(self) -> "_Format":
        return _TOML if self.agent.is_toml else _JSON

    def _keys(self, text: str) -> Sequence[str]:
        """Return the path of our entry; OpenCode from version 2 on has its servers one level deeper."""
        keys = (*self.agent.keys, SERVER)
        if self.agent.name != "opencode":
            return keys
        servers = json_entry.entry_of(text, (*self.agent.keys, "servers"))
        is_later = isinstance(servers, dict) and "type" not in servers and "command" not in servers
        return (*self.agent.keys, "servers", SERVER) if is_later else keys


@dataclass(frozen=True, slots=True)
class InstructionBlock:
    """A block between marks in a document that agents read."""

    path: Path
    within: Path | None = None

    @property
    def title(self) -> str:
        """The document."""
        return self.path.name

    @property
    def name(self) -> str:
        """Its kind."""
        return "instructions"

    def added(self, text: str) -> str:
        """Return the text with the block at its end, or in place of an earlier one."""
        newline = "\r\n" if "\r\n" in text else "\n"
        block = f"{_BEGIN}\n{data_text('instructions.md').strip()}\n{_END}\n".replace("\n", newline)
        found = _BLOCK.search(text)
        if found is not None:
            lead = newline if found[0].startswith(("\n", "\r\n")) else ""
            return text[: found.start()] + lead + block + text[found.end() :]
        if not text.strip():
            return text + block
        return text + ("" if text.endswith("\n") else newline) + newline + block

    def removed(self, text: str) -> str | None:
        """Return the text without the block."""
        return _BLOCK.sub("", text)


@dataclass(frozen=True, slots=True)
class SkillFile:
    """The skill for Claude Code: a folder with one file."""

    path: Path
    within: Path | None = None

    @property
    def title(self) -> str:
        """What it is."""
        return "skill of Claude Code"

    @property
    def name(self) -> str:
        """Its kind."""
        return "skill"

    def added(self, text: str) -> str:
        """Return the skill; another text there would be replaced."""
        del text
        return data_text("skill.md")

    def removed(self, text: str) -> str | None:
        """Return that the file is to go.

        Raises:
            ConfigurationError: Somebody changed it.
        """
        if text != data_text("skill.md"):
            raise ConfigurationError(
                "it was changed since it was written", hint="Delete it by hand if nobody needs it."
            )
        return None


def skill_path(scope: Scope, root: Path, config_folder: Path) -> Path:
    """Return where the skill is: in the user's folder of Claude Code, or in that of the project."""
    folder = config_folder if scope == "user" else root / ".claude"
    return folder / "skills" / SERVER / "SKILL.md"


def data_text(name: str) -> str:
    """Return one of our texts for agents."""
    return resources.files("coderag.interfaces.install").joinpath(name).read_text(encoding="utf-8")


def shown(command: Sequence[str]) -> str:
    """Return a command as one line."""
    return " ".join(word if word.isprintable() and " " not in word else json.dumps(word) for word in command)
