"""Load prompts: one Markdown file each, with its version and its variables in front matter. No prompt text in Python.

A line ``<!-- user -->`` ends the rules, which are sent in the role ``system``; what follows is the task with its data. A
project may have its own text of a prompt, in a file of the same name in ``.coderag/prompts/`` (docs/prompts.md).
"""

import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Final

import yaml

from coderag.errors import ConfigurationError
from coderag.schema import ModelPrompt

_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n(.*)\Z", re.DOTALL)
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_USER = re.compile(r"^<!-- user -->\s*$", re.MULTILINE)
_LONGEST = 100_000  # bytes of a project's own prompt


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt template. Its variables stand in double braces.

    Attributes:
        version: Raised with every change of the text.
        variables: The names that `render` must be given, no more and no fewer.
        source: The file of a project that it is from; empty for the package's own.
    """

    name: str
    version: int
    variables: frozenset[str]
    template: str
    source: str = ""

    @property
    def key(self) -> str:
        """What tells this text from all others: part of the key of everything cached that the prompt produced."""
        return f"{self.name}-{self.version}-{sha256(self.template.encode()).hexdigest()[:12]}"

    def render(self, **values: str) -> ModelPrompt:
        """Return the prompt with its variables filled in; braces inside the values stay as they are.

        Raises:
            ConfigurationError: A variable is missing or unknown.
        """
        if values.keys() != self.variables:
            wrong = ", ".join(sorted(values.keys() ^ self.variables))
            raise ConfigurationError(f"prompt {self.name!r}: missing or unknown variables: {wrong}")
        parts = [
            _VARIABLE.sub(lambda match: values[match[1]], part).strip()
            for part in _USER.split(self.template, maxsplit=1)
        ]
        return ModelPrompt(user=parts[-1] + "\n", system=parts[0] if len(parts) > 1 else "")


class Prompts:
    """The prompts of a repository: the package's, each replaced by the project's own text if there is one.

    Args:
        folder: Where the project's own prompts are, a file ``<name>.md`` each; None or no folder is none.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._own: dict[str, tuple[int, Prompt]] = {}

    def load(self, name: str) -> Prompt:
        """Return a prompt; a project's own is read again when its file has changed.

        Raises:
            ConfigurationError: There is no such prompt, or the project's own cannot be used.
        """
        packaged = load_prompt(name)
        path = self.folder / f"{name}.md" if self.folder else None
        if path is None or not path.is_file():
            return packaged
        try:
            written = path.stat().st_mtime_ns
            if name not in self._own or self._own[name][0] != written:
                self._own[name] = written, _own_prompt(path, packaged)
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
        return self._own[name][1]

    def overridden(self) -> list[str]:
        """Return the names of the prompts that the project has its own text of."""
        return [name for name in prompt_names() if self.folder and (self.folder / f"{name}.md").is_file()]


PACKAGED: Final = Prompts()
"""The package's prompts alone."""


@cache
def load_prompt(name: str) -> Prompt:
    """Return the package's prompt ``prompts/<name>.md``.

    Raises:
        ConfigurationError: There is no such prompt, or its variables are not those of its front matter.
    """
    return _parsed(name, _read(name))


def prompt_names() -> list[str]:
    """Return the names of all prompts of the package, sorted."""
    return sorted(path.name.removesuffix(".md") for path in _files() if path.name.endswith(".md"))


def _own_prompt(path: Path, packaged: Prompt) -> Prompt:
    """Return a project's own text of a prompt.

    Raises:
        ConfigurationError: It is too long, no text, has no front matter, or not the variables of the package's.
    """
    data = path.read_bytes()
    if len(data) > _LONGEST:
        raise ConfigurationError(f"{path} has {len(data):,} bytes; a prompt has {_LONGEST:,} at most")
    try:
        prompt = _parsed(packaged.name, data.decode("utf-8").replace("\r\n", "\n"), str(path))
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not UTF-8 text") from error
    if prompt.variables != packaged.variables:
        needed = ", ".join(sorted(packaged.variables))
        raise ConfigurationError(f"{path}: its variables must be those of the package's prompt: {needed}")
    return prompt


def _parsed(name: str, text: str, source: str = "") -> Prompt:
    where = source or f"prompt {name!r}"
    match = _FRONT_MATTER.match(text)
    if match is None:
        raise ConfigurationError(f"{where} has no front matter")
    try:
        header = yaml.safe_load(match[1])
        version, variables = int(header["version"]), frozenset(map(str, header["variables"]))
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{where}: its front matter must have a version and a list of variables") from error
    template = match[2].strip() + "\n"
    if variables != set(_VARIABLE.findall(template)):
        raise ConfigurationError(f"{where}: the text's variables are not those of its front matter")
    return Prompt(name, version, variables, template, source)


def _read(name: str) -> str:
    """Return the file's text: from the installed package, or from a checkout."""
    try:
        return next(path for path in _files() if path.name == f"{name}.md").read_text(encoding="utf-8")
    except StopIteration:
        raise ConfigurationError(f"there is no prompt {name!r}") from None


def _files() -> list[Path]:
    """Return the package's prompt files: those that are installed, or those of a checkout."""
    try:
        return [Path(str(path)) for path in resources.files("coderag.prompts").iterdir()]
    except ModuleNotFoundError:
        return list((Path(__file__).parent.parent / "prompts").iterdir())
