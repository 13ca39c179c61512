"""What the settings files of a repository that is not marked trusted may say: only what restricts (docs/trust.md).

One table says it for every setting, with the reason. A setting that the table lacks is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, SecretStr, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from coderag.config.file_names import FILE_NAMES
from coderag.config.settings_file import SettingsFile, read_settings_files, told_if_closed

_LONGEST_SHOWN: Final = 200


class Restriction(NamedTuple):
    """Something of a repository that is not used, because the repository is not marked trusted.

    Attributes:
        place: The file and the line.
        key: The setting; empty if it is the whole file or folder.
        value: What it would be, as it is written; never a secret.
        reason: Why it is not for the repository to say.
    """

    place: str
    key: str
    value: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {f'{self.key}: ' if self.key else ''}{self.reason}"


@dataclass(frozen=True, slots=True)
class Rule:
    """Which values of a setting a stranger may choose, and why no others.

    Attributes:
        reason: Of what is left out; of what is allowed, why it does no harm.
        anything: Whether every value that the setting can have is allowed.
        up_to_default: Whether numbers up to the default are.
        only: The values that are, if neither holds.
    """

    reason: str
    anything: bool = False
    up_to_default: bool = False
    only: tuple[object, ...] = ()

    def allows(self, field: FieldInfo, value: object) -> bool:
        """Whether a value may be used; one that the setting cannot have may, to be refused with the usual message."""
        if self.anything or value == field.default:
            return True
        if not (self.up_to_default or self.only):
            return False
        kind: Any = field.annotation
        try:
            checked = TypeAdapter(kind).validate_python(value)
        except ValidationError:
            return True
        if self.up_to_default:
            return checked is not None and checked <= field.default
        return checked in self.only


def _any(reason: str) -> Rule:
    return Rule(reason, anything=True)


def _less(reason: str) -> Rule:
    return Rule(reason, up_to_default=True)


def _only(*values: object, why: str) -> Rule:
    return Rule(why, only=values)


RULES: Final[Mapping[str, Rule]] = {
    "version": _any("the format of the file"),
    "project": Rule("on a server for many repositories, the name says whose conversations and graph are meant"),
    "ingestion.max_file_bytes": _less("larger files take memory and time"),
    "ingestion.generated": _any("leaves files out"),
    "ingestion.exclude": _any("leaves files out"),
    "ingestion.chunk": _any("cuts its own files, within bounds"),
    "ingestion.workers": Rule(
        "processes are this machine's; without them, a file that ends its parser ends the program"
    ),
    "ingestion.transformations": Rule("names code that is imported and run"),
    "embedding": Rule("decides which program or server gets the code, with which key, and what that costs"),
    "llm": Rule("decides which server gets the code and the questions, with which key, and what that costs"),
    "summaries.batch": Rule("decides what requests to a server cost"),
    "summaries.commit_every": Rule("decides how often the index is written"),
    "summaries.max_cost": _any("limits what is spent"),
    "summaries.count_results": _only(False, why="has a file written for each search"),
    "chat.memory": _only("none", why="names a server that gets the conversations"),
    "chat.url": Rule("names a server that gets the conversations"),
    "chat.history_tokens": _less("longer prompts cost more"),
    "chat.confirm_tokens": _any("asks before a long prompt is sent; the default never does"),
    "reranker": Rule("decides which program or server gets the code and the questions"),
    "search.fusion": _any("orders results"),
    "search.rrf_k": _any("orders results"),
    "search.top_k": _any("is bounded, at 200"),
    "search.max_per_file": _any("is bounded, at 100"),
    "search.token_budget": _less("longer contexts and prompts cost more"),
    "search.expand_depth": _any("is bounded, at 5"),
    "search.max_related": _any("is bounded, at 100"),
    "search.disabled_signals": _any("orders results"),
    "search.weights": _any("orders results"),
    "search.rewrite": _only("none", why="sends questions to the language model once more"),
    "storage.directory": Rule("decides where files are written and what index is believed"),
    "storage.cache_bytes": _less("takes space on the disk"),
    "graph": Rule("names a server that gets the code graph, and its password"),
    "privacy.obfuscate_paths": _only(True, why="would show paths to servers"),
    "privacy.redact_secrets": _only(True, why="would send secrets to servers"),
    "privacy.key": Rule("whoever knows the key can undo the hashes of paths"),
    "telemetry.traces": _only("none", why="has questions and places sent elsewhere"),
    "telemetry.queries": _only(False, why="puts the text of questions into what is sent"),
    "service.autostart": _only(False, why="starts a process that stays"),
    "service.tools": _any("chooses how many tools an agent is shown"),
    "service": Rule("the service is for all repositories of this user"),
}
"""By setting or whole section; the longest name that fits decides."""

_LINK: Final = "is a link, and could lead to a file of this user"
_NOBODY_SAID: Final = Rule("is not known to be harmless")
_ENVIRONMENT: Final = "takes a value from the environment of this user"


def rule_for(keys: tuple[str, ...]) -> Rule:
    """Return the rule of a setting; what has none is not allowed."""
    names = (".".join(keys[:length]) for length in range(len(keys), 0, -1))
    return next((RULES[name] for name in names if name in RULES), _NOBODY_SAID)


def read_restricted(root: Path, model: type[BaseModel]) -> tuple[list[SettingsFile], tuple[Restriction, ...]]:
    """Return the settings files of a repository without what a stranger may not say, and what that was.

    Keys that there are not stay, so that they are refused as usual. Nothing is taken from the environment.

    Args:
        root: Folder of the repository.
        model: The settings.

    Raises:
        ConfigurationError: As `coderag.config.settings_file.read_settings_files`.
    """
    with told_if_closed(root):
        links = [name for name in FILE_NAMES if (root / name).is_symlink()]
    found = [Restriction(name, "", str((root / name).readlink()), _LINK) for name in links]
    names = [name for name in FILE_NAMES if name not in links]
    kept = [
        replace(file, values=_kept(file, file.values, model, (), found))
        for file in read_settings_files(root, names, fill_in=False)
    ]
    gone = {(one.place, one.key) for one in found}
    return [_without_lines(file, gone) for file in kept], tuple(found)


def _kept(
    file: SettingsFile,
    values: Mapping[str, Any],
    model: type[BaseModel],
    above: tuple[str, ...],
    found: list[Restriction],
) -> dict[str, Any]:
    kept = {}
    for name, value in values.items():
        keys, field = (*above, name), model.model_fields.get(name)
        section = _section_of(field)
        if field is None or (section is not None and not isinstance(value, Mapping)):
            kept[name] = value  # refused as usual
        elif section is not None:
            kept[name] = _kept(file, value, section, keys, found)
        elif reason := _objection(file, keys, field, value):
            found.append(Restriction(_locate_value(file, keys), ".".join(keys), _shown(field, value), reason))
        else:
            kept[name] = value
    return kept


def _section_of(field: FieldInfo | None) -> type[BaseModel] | None:
    kind: Any = field.annotation if field is not None else None
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _objection(file: SettingsFile, keys: tuple[str, ...], field: FieldInfo, value: object) -> str:
    """Return why a value is not used; empty if it is."""
    rule = rule_for(keys)
    if not rule.allows(field, value):
        return rule.reason
    takes_environment = any(filled[: len(keys)] == keys for filled in file.filled_in)
    return _ENVIRONMENT if takes_environment else ""


def _locate_value(file: SettingsFile, keys: tuple[str, ...]) -> str:
    return f"{file.path.name}, line {file.line_of(keys)}"


def _shown(field: FieldInfo, value: object) -> str:
    """Return a value as a person may see it: `value` is what is written, where nothing is filled in yet."""
    if field.annotation is SecretStr and not (isinstance(value, str) and value.startswith("${")):
        return "(a secret)"
    text = str(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]} ..."


def _without_lines(file: SettingsFile, gone: set[tuple[str, str]]) -> SettingsFile:
    """Return the file without the lines of what is left out, so that no fault elsewhere is said to be there."""
    removed = [keys for keys in file.lines if (_locate_value(file, keys), ".".join(keys)) in gone]
    lines = {keys: line for keys, line in file.lines.items() if not any(keys[: len(one)] == one for one in removed)}
    filled = {
        keys: text for keys, text in file.filled_in.items() if not any(keys[: len(one)] == one for one in removed)
    }
    return replace(file, lines=lines, filled_in=filled)
