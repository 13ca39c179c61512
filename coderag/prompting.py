"""Loading of prompts: Markdown files with version and variables in front matter. No prompt text in Python.

A line ``<!-- user -->`` ends the rules, which are sent in the role ``system``; the task with its data follows. A project
may override a prompt with a file of the same name in ``.coderag/prompts/`` (docs/prompts.md).
"""

import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any, Final

import yaml

from coderag.errors import ConfigurationError
from coderag.schema.prompts import ModelPrompt

_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n(.*)\Z", re.DOTALL)
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_USER_MARKER = re.compile(r"^<!-- user -->\s*$", re.MULTILINE)
_MAX_PROMPT_BYTES = 100_000  # bytes of a project's own prompt


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt template. Variables are in double braces.

    Attributes:
        version: Incremented with every change of the text.
        variables: Exactly the names that `render` requires.
        source: File of the project's override; empty for the packaged prompt.
        purpose: Purpose in a line; optional in an override.
    """

    name: str
    version: int
    variables: frozenset[str]
    template: str
    source: str = ""
    purpose: str = ""

    @property
    def parts(self) -> tuple[str, str]:
        """Templates of the rules, empty if there is no marker, and of the task with its data."""
        *rules, task = _USER_MARKER.split(self.template, maxsplit=1)
        return "".join(rules), task

    @property
    def key(self) -> str:
        """Identifier of this text, part of the key of everything cached that the prompt produced."""
        return f"{self.name}-{self.version}-{sha256(self.template.encode()).hexdigest()[:12]}"

    def render(self, **values: str) -> ModelPrompt:
        """Fill in the variables; braces inside the values are kept.

        Raises:
            ConfigurationError: A variable is missing or unknown.
        """
        if values.keys() != self.variables:
            mismatched = ", ".join(sorted(values.keys() ^ self.variables))
            raise ConfigurationError(f"prompt {self.name!r}: missing or unknown variables: {mismatched}")
        rules, task = (_VARIABLE.sub(lambda match: values[match[1]], part).strip() for part in self.parts)
        return ModelPrompt(user=task + "\n", system=rules)


class Prompts:
    """Prompts of a repository: the packaged ones, or the project's overrides.

    Args:
        folder: Folder of the project's overrides, a file ``<name>.md`` each; None or a missing folder has none.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._own: dict[str, tuple[tuple[int, int], Prompt]] = {}

    def load(self, name: str) -> Prompt:
        """Return a prompt; an override is read again when its file has changed.

        Raises:
            ConfigurationError: There is no such prompt, or the override cannot be used.
        """
        packaged = load_prompt(name)
        path = self.get_path(name)
        if path is None:
            return packaged
        try:
            if not path.is_file():
                return packaged
            state = path.stat()
            written = state.st_mtime_ns, state.st_size
            if name not in self._own or self._own[name][0] != written:
                self._own[name] = written, _load_own_prompt(path, packaged)
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
        return self._own[name][1]

    def get_path(self, name: str) -> Path | None:
        """Return the path of a prompt's override, existing or not."""
        return self.folder / f"{name}.md" if self.folder else None

    def list_overridden(self) -> list[str]:
        """Return the names of the overridden prompts, sorted."""
        own_names = self._list_files()
        return [name for name in list_prompt_names() if name in own_names]

    def list_unknown(self) -> list[str]:
        """Return the sorted names of the project's files that match no prompt and so are never read."""
        return sorted(self._list_files().difference(list_prompt_names()))

    def _list_files(self) -> set[str]:
        if self.folder is None:
            return set()
        try:
            return {path.stem for path in self.folder.glob("*.md") if path.is_file()}
        except OSError as error:
            raise ConfigurationError(f"{self.folder} cannot be read: {error.strerror}") from error


PACKAGED: Final = Prompts()
"""The packaged prompts, without overrides."""


@cache
def load_prompt(name: str) -> Prompt:
    """Load the packaged prompt ``prompts/<name>.md``.

    Raises:
        ConfigurationError: There is no such prompt, or its variables differ from its front matter.
    """
    return _parse_prompt(name, _read_prompt_file(name))


def read_prompt_text(name: str) -> str:
    """Return the packaged file of a prompt, front matter included. Raises as `load_prompt`."""
    return _read_prompt_file(name)


def list_prompt_names() -> list[str]:
    """Return the names of all packaged prompts, sorted."""
    return sorted(path.name.removesuffix(".md") for path in _list_prompt_files() if path.name.endswith(".md"))


def _load_own_prompt(path: Path, packaged: Prompt) -> Prompt:
    """Load a project's override of a prompt.

    Raises:
        ConfigurationError: It is too long, not UTF-8, has no front matter, differs in its variables from the packaged
            prompt, or has data among the rules.
    """
    with path.open("rb") as file:
        data = file.read(_MAX_PROMPT_BYTES + 1)
    if len(data) > _MAX_PROMPT_BYTES:
        raise ConfigurationError(f"{path} is longer than the limit of {_MAX_PROMPT_BYTES:,} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not UTF-8 text") from error
    prompt = _parse_prompt(packaged.name, text.replace("\r\n", "\n"), str(path))
    if prompt.variables != packaged.variables:
        needed = ", ".join(sorted(packaged.variables)) or "none"
        message = f"{path}: the variables must be those of the packaged prompt: {needed}"
        raise ConfigurationError(message, hint=_build_packaged_hint(packaged.name))
    if misplaced := _find_variables(prompt.parts[0]) - _find_variables(packaged.parts[0]):
        names = ", ".join(f"{{{{{name}}}}}" for name in sorted(misplaced))
        message = f"{path}: {names} must come after the line <!-- user -->: it is data, not a rule"
        raise ConfigurationError(message, hint=_build_packaged_hint(packaged.name))
    return prompt


def _build_packaged_hint(name: str) -> str:
    return f"`coderag prompts show {name} --packaged` shows the packaged text for comparison."


def _find_variables(template: str) -> set[str]:
    return set(_VARIABLE.findall(template))


def _parse_prompt(name: str, text: str, source: str = "") -> Prompt:
    location = source or f"prompt {name!r}"
    match = _FRONT_MATTER.match(text)
    if match is None:
        message = f"{location} has no front matter"
        raise ConfigurationError(message, hint="Begin the file with a line ---, version:, variables:, and a line ---.")
    header = _parse_header(match[1], location)
    template = match[2].strip() + "\n"
    variables = frozenset(map(str, header["variables"]))
    if variables != _find_variables(template):
        mismatched = ", ".join(sorted(variables ^ _find_variables(template)))
        raise ConfigurationError(f"{location}: the variables of the text and the front matter differ: {mismatched}")
    return Prompt(name, header["version"], variables, template, source, str(header.get("purpose", "")))


def _parse_header(text: str, location: str) -> dict[str, Any]:
    """Parse the front matter.

    Raises:
        ConfigurationError: It has no version, or no list of variables.
    """
    try:
        header = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # ValueError: an impossible date
        raise ConfigurationError(f"{location}: its front matter is not valid YAML") from error
    is_mapping = isinstance(header, dict)
    if not is_mapping or type(header.get("version")) is not int or not isinstance(header.get("variables"), list):
        message = f"{location}: its front matter must have a version and a list of variables"
        raise ConfigurationError(message, hint="For example version: 1 and variables: [question, evidence].")
    fields: dict[str, Any] = header
    return fields


def _read_prompt_file(name: str) -> str:
    """Read the file of a packaged prompt, installed or in a checkout."""
    try:
        return next(path for path in _list_prompt_files() if path.name == f"{name}.md").read_text(encoding="utf-8")
    except StopIteration:
        raise ConfigurationError(f"there is no prompt {name!r}") from None


def _list_prompt_files() -> list[Path]:
    """Return the packaged prompt files: installed, or those of a checkout."""
    try:
        return [Path(str(path)) for path in resources.files("coderag.prompts").iterdir()]
    except ModuleNotFoundError:
        return list((Path(__file__).parent.parent / "prompts").iterdir())
