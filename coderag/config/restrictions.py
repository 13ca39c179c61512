"""Restrictions on the settings files of untrusted repositories (docs/trust.md).

One table has the rule of every setting, with the reason. A setting without a rule is ignored.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, SecretStr, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from coderag.config.file_names import FILE_NAMES
from coderag.config.settings_file import SettingsFile, read_settings_files, translate_permission_error

_MAX_VALUE_CHARS: Final = 200


class Restriction(NamedTuple):
    """A setting or file that is ignored because the repository is not trusted.

    Attributes:
        place: File and line.
        key: The setting; empty for a whole file or folder.
        value: Its value as written; never a secret.
        reason: Why an untrusted repository may not set it.
    """

    place: str
    key: str
    value: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {f'{self.key}: ' if self.key else ''}{self.reason}"


@dataclass(frozen=True, slots=True)
class SettingRule:
    """Rule for a setting in an untrusted repository.

    Attributes:
        reason: Why values are ignored, or why allowed ones are harmless.
        allows_any: Whether all values are allowed.
        allows_up_to_default: Whether numbers up to the default are allowed.
        allowed_values: Allowed values, if neither holds.
    """

    reason: str
    allows_any: bool = False
    allows_up_to_default: bool = False
    allowed_values: tuple[object, ...] = ()

    def is_allowed(self, field: FieldInfo, value: object) -> bool:
        """Return whether a value may be used; invalid values may, so that validation rejects them as usual."""
        if self.allows_any or value == field.default:
            return True
        if not (self.allows_up_to_default or self.allowed_values):
            return False
        annotation: Any = field.annotation
        try:
            checked = TypeAdapter(annotation).validate_python(value)
        except ValidationError:
            return True
        if self.allows_up_to_default:
            return checked is not None and checked <= field.default
        return checked in self.allowed_values


def _allow_any(reason: str) -> SettingRule:
    return SettingRule(reason, allows_any=True)


def _allow_up_to_default(reason: str) -> SettingRule:
    return SettingRule(reason, allows_up_to_default=True)


def _allow_only(*values: object, reason: str) -> SettingRule:
    return SettingRule(reason, allowed_values=values)


RULES: Final[Mapping[str, SettingRule]] = {
    "version": _allow_any("the format of the file"),
    "project": SettingRule("on a server for many repositories, the name says whose conversations and graph are meant"),
    "sources": SettingRule("names servers, folders and programs whose contents are mirrored, and credentials for them"),
    "ingestion.max_file_bytes": _allow_up_to_default("larger files take memory and time"),
    "ingestion.generated": _allow_any("leaves files out"),
    "ingestion.exclude": _allow_any("leaves files out"),
    "ingestion.chunk": _allow_any("cuts its own files, within bounds"),
    "ingestion.workers": SettingRule(
        "processes are this machine's; without them, a file that ends its parser ends the program"
    ),
    "ingestion.transformations": SettingRule("names code that is imported and run"),
    "embedding": SettingRule("decides which program or server gets the code, with which key, and what that costs"),
    "llm": SettingRule("decides which server gets the code and the questions, with which key, and what that costs"),
    "summaries.batch": SettingRule("decides what requests to a server cost"),
    "summaries.commit_every": SettingRule("decides how often the index is written"),
    "summaries.max_cost": _allow_any("limits what is spent"),
    "summaries.count_results": _allow_only(False, reason="has a file written for each search"),
    "chat.memory": _allow_only("none", reason="names a server that gets the conversations"),
    "chat.url": SettingRule("names a server that gets the conversations"),
    "chat.history_tokens": _allow_up_to_default("longer prompts cost more"),
    "chat.confirm_tokens": _allow_any("asks before a long prompt is sent; the default never does"),
    "reranker": SettingRule("decides which program or server gets the code and the questions"),
    "search.top_k": _allow_any("is bounded, at 200"),
    "search.max_per_file": _allow_any("is bounded, at 100"),
    "search.token_budget": _allow_up_to_default("longer contexts and prompts cost more"),
    "search.expand_depth": _allow_any("is bounded, at 5"),
    "search.max_related": _allow_any("is bounded, at 100"),
    "search.disabled_signals": _allow_any("orders results"),
    "search.weights": _allow_any("orders results"),
    "search.rewrite": _allow_only("none", reason="sends questions to the language model once more"),
    "storage.directory": SettingRule("decides where files are written and what index is believed"),
    "storage.cache_bytes": _allow_up_to_default("takes space on the disk"),
    "storage": SettingRule(
        "names a server that gets the index or that an index is believed from, and credentials for it"
    ),
    "graph": SettingRule("names a server that gets the code graph, and its password"),
    "lineage.enabled": _allow_any("reads the commits of the repository itself"),
    "lineage.since": _allow_any("limits the commits that are read"),
    "privacy.mask_people": _allow_only(True, reason="would show the names of people"),
    "privacy.obfuscate_paths": _allow_only(True, reason="would show paths to servers"),
    "privacy.redact_secrets": _allow_only(True, reason="would send secrets to servers"),
    "privacy.key": SettingRule("whoever knows the key can undo the hashes of paths"),
    "telemetry.traces": _allow_only("none", reason="has questions and places sent elsewhere"),
    "telemetry.queries": _allow_only(False, reason="puts the text of questions into what is sent"),
    "service.autostart": _allow_only(False, reason="starts a process that stays"),
    "service.record_queries": _allow_only(False, reason="has questions and their results written beside the index"),
    "service.tools": _allow_any("chooses how many tools an agent is shown"),
    "web.projection": _allow_any("chooses how the embedding map is drawn"),
    "service": SettingRule("the service is for all repositories of this user"),
}
"""Rules by setting or section; the longest matching name applies."""

_LINK_REASON: Final = "is a link, and could lead to a file of this user"
_DEFAULT_RULE: Final = SettingRule("is not known to be harmless")
_ENVIRONMENT_REASON: Final = "takes a value from the environment of this user"


def find_rule(keys: tuple[str, ...]) -> SettingRule:
    """Find the rule of a setting; without one it is not allowed."""
    names = (".".join(keys[:length]) for length in range(len(keys), 0, -1))
    return next((RULES[name] for name in names if name in RULES), _DEFAULT_RULE)


def read_restricted(root: Path, model: type[BaseModel]) -> tuple[list[SettingsFile], tuple[Restriction, ...]]:
    """Read the settings files of an untrusted repository without restricted settings, and those restrictions.

    Unknown keys are kept, so that validation rejects them. Nothing is taken from the environment.

    Args:
        root: Folder of the repository.
        model: The settings model.

    Raises:
        ConfigurationError: As `coderag.config.settings_file.read_settings_files`.
    """
    with translate_permission_error(root):
        links = [name for name in FILE_NAMES if (root / name).is_symlink()]
    restrictions = [Restriction(name, "", str((root / name).readlink()), _LINK_REASON) for name in links]
    names = [name for name in FILE_NAMES if name not in links]
    allowed_files = [
        replace(file, values=_keep_allowed(file, file.values, model, (), restrictions))
        for file in read_settings_files(root, names, fill_in=False)
    ]
    removed_keys = {(restriction.place, restriction.key) for restriction in restrictions}
    return [_drop_lines(file, removed_keys) for file in allowed_files], tuple(restrictions)


def _keep_allowed(
    file: SettingsFile,
    values: Mapping[str, Any],
    model: type[BaseModel],
    parent_keys: tuple[str, ...],
    restrictions: list[Restriction],
) -> dict[str, Any]:
    allowed = {}
    for name, value in values.items():
        keys, field = (*parent_keys, name), model.model_fields.get(name)
        section = _get_section(field)
        if field is None or (section is not None and not isinstance(value, Mapping)):
            allowed[name] = value  # validation rejects it
        elif section is not None:
            allowed[name] = _keep_allowed(file, value, section, keys, restrictions)
        elif reason := _find_objection(file, keys, field, value):
            restrictions.append(
                Restriction(_locate_value(file, keys), ".".join(keys), _format_value(field, value), reason)
            )
        else:
            allowed[name] = value
    return allowed


def _get_section(field: FieldInfo | None) -> type[BaseModel] | None:
    annotation: Any = field.annotation if field is not None else None
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _find_objection(file: SettingsFile, keys: tuple[str, ...], field: FieldInfo, value: object) -> str:
    """Return the reason why a value is ignored; empty if it is used."""
    rule = find_rule(keys)
    if not rule.is_allowed(field, value):
        return rule.reason
    takes_environment = any(filled[: len(keys)] == keys for filled in file.filled_in)
    return _ENVIRONMENT_REASON if takes_environment else ""


def _locate_value(file: SettingsFile, keys: tuple[str, ...]) -> str:
    return f"{file.path.name}, line {file.find_line(keys)}"


def _format_value(field: FieldInfo, value: object) -> str:
    """Format a value for display: as written, before environment variables are filled in."""
    if field.annotation is SecretStr and not (isinstance(value, str) and value.startswith("${")):
        return "(a secret)"
    text = ", ".join(map(str, value)) if isinstance(value, Mapping) else str(value)  # a mapping may hold secrets
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]} ..."


def _drop_lines(file: SettingsFile, removed_keys: set[tuple[str, str]]) -> SettingsFile:
    """Drop the lines of ignored settings, so that errors elsewhere are not attributed to them."""
    prefixes = [keys for keys in file.lines if (_locate_value(file, keys), ".".join(keys)) in removed_keys]
    lines = {
        keys: line for keys, line in file.lines.items() if not any(keys[: len(prefix)] == prefix for prefix in prefixes)
    }
    filled = {
        keys: text
        for keys, text in file.filled_in.items()
        if not any(keys[: len(prefix)] == prefix for prefix in prefixes)
    }
    return replace(file, lines=lines, filled_in=filled)
