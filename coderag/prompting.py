"""Load prompts: one Markdown file each, with its version and its variables in front matter. No prompt text in Python."""

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import yaml

from coderag.errors import ConfigurationError

_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n(.*)\Z", re.DOTALL)
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt template. Its variables stand in double braces.

    Attributes:
        version: Raised with every change of the text; part of the key of everything cached that a prompt produced.
        variables: The names that `render` must be given, no more and no fewer.
    """

    name: str
    version: int
    variables: frozenset[str]
    template: str

    def render(self, **values: str) -> str:
        """Return the prompt with its variables filled in; braces inside the values stay as they are.

        Raises:
            ConfigurationError: A variable is missing or unknown.
        """
        if values.keys() != self.variables:
            wrong = ", ".join(sorted(values.keys() ^ self.variables))
            raise ConfigurationError(f"prompt {self.name!r}: missing or unknown variables: {wrong}")
        return _VARIABLE.sub(lambda match: values[match[1]], self.template)


@cache
def load_prompt(name: str) -> Prompt:
    """Return the prompt ``prompts/<name>.md``.

    Raises:
        ConfigurationError: There is no such prompt, or its variables are not those of its front matter.
    """
    match = _FRONT_MATTER.match(_read(name))
    if match is None:
        raise ConfigurationError(f"prompt {name!r} has no front matter")
    header = yaml.safe_load(match[1])
    template = match[2].strip() + "\n"
    variables = frozenset(header["variables"])
    if variables != set(_VARIABLE.findall(template)):
        raise ConfigurationError(f"prompt {name!r}: the text's variables are not those of its front matter")
    return Prompt(name, int(header["version"]), variables, template)


def _read(name: str) -> str:
    """Return the file's text: from the installed package, or from a checkout."""
    checkout = Path(__file__).parent.parent / "prompts" / f"{name}.md"
    try:
        return (resources.files("coderag.prompts") / f"{name}.md").read_text(encoding="utf-8")
    except (ModuleNotFoundError, FileNotFoundError):
        if checkout.is_file():
            return checkout.read_text(encoding="utf-8")
    raise ConfigurationError(f"there is no prompt {name!r}")
