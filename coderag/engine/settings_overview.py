"""Overview of the settings in force: each with its source, and never with a secret."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from coderag.config.environment import ENVIRONMENT_PREFIX
from coderag.config.file_names import COMMITTED_FILE, LOCAL_FILE
from coderag.config.restrictions import Restriction, SettingRule, find_rule, read_restricted
from coderag.config.setting_texts import find_section, format_choices, format_value, mask_addresses
from coderag.config.settings import Settings
from coderag.config.settings_file import SettingsFile, read_settings_files
from coderag.config.trust import find_trust_file, find_trusted_ancestor
from coderag.models.redaction.redactor import get_redactor
from coderag.schema.effective_settings import (
    EffectiveSetting,
    EffectiveSettings,
    IgnoredSetting,
    SettingsFileState,
    SettingSource,
    SettingsSection,
)

_FILE_SOURCES: Final[Mapping[str, SettingSource]] = {COMMITTED_FILE: "committed file", LOCAL_FILE: "local file"}
_FILES: Final = (
    (COMMITTED_FILE, "settings that belong to the repository and that git keeps"),
    (LOCAL_FILE, "settings of this machine and secrets, which git does not keep"),
    (".coderagignore", "files that are not indexed, in gitignore syntax"),
)

Keys = tuple[str, ...]


def describe_settings(root: Path, settings: Settings) -> EffectiveSettings:
    """Describe the settings of a repository.

    Args:
        root: Folder of the repository.
        settings: Its settings in force.

    Raises:
        ConfigurationError: A settings file was changed meanwhile and is invalid.
    """
    files = read_settings_files(root) if settings.trusted else read_restricted(root, Settings)[0]
    sources = _Sources(settings, Settings.load(root, trusted=settings.trusted), files)
    trusted_by = find_trusted_ancestor(root)
    return EffectiveSettings(
        root=str(root),
        trusted=settings.trusted,
        trusted_by=str(trusted_by) if trusted_by else "",
        trust_file=str(find_trust_file()),
        files=[SettingsFileState(name, purpose, (root / name).is_file()) for name, purpose in _FILES],
        sections=list(_describe_sections(sources, Settings, ())),
        ignored=[_to_ignored(restriction) for restriction in settings.restrictions],
    )


@dataclass(frozen=True, slots=True)
class _Sources:
    """Sources of the settings, highest priority first.

    Attributes:
        in_force: The settings in force.
        loaded: The settings that files and environment give.
        files: The settings files, in merging order.
    """

    in_force: Settings
    loaded: Settings
    files: Sequence[SettingsFile]

    def find_source(self, keys: Keys, default: object) -> tuple[SettingSource, str]:
        """Find the source of a value, and its place."""
        value = _get_value(self.in_force, keys)
        if value != _get_value(self.loaded, keys):
            return "argument", ""
        if variable := _find_variable(keys):
            return "environment", variable
        if file := self._find_file(keys):
            return _FILE_SOURCES[file.path.name], f"{file.path.name}, line {file.find_line(keys)}"
        return ("default", "") if value == default else ("restriction", "")

    def read_value(self, keys: Keys, source: SettingSource) -> Any:  # noqa: ANN401  # any setting
        """Return a value; what a file takes from the environment stands as it is written, such as ``${NAME}``."""
        value = _get_value(self.in_force, keys)
        file = self._find_file(keys) if source in _FILE_SOURCES.values() else None
        if file is None or isinstance(value, SecretStr):
            return value
        if isinstance(value, (tuple, list)):
            return [file.filled_in.get((*keys, str(index)), item) for index, item in enumerate(value)]
        return file.filled_in.get(keys, value)

    def _find_file(self, keys: Keys) -> SettingsFile | None:
        return next((file for file in reversed(self.files) if _has_value(file.values, keys)), None)


def _describe_sections(sources: _Sources, model: type[BaseModel], parents: Keys) -> Iterator[SettingsSection]:
    """Yield a section, unless it only has other sections, and those."""
    fields = model.model_fields
    own = [
        _describe_setting(sources, (*parents, name), field)
        for name, field in fields.items()
        if find_section(field) is None
    ]
    if own:
        description = (model.__doc__ or "").partition("\n")[0].replace("``", "") if parents else ""
        yield SettingsSection(".".join(parents), description, own)
    for name, field in fields.items():
        if section := find_section(field):
            yield from _describe_sections(sources, section, (*parents, name))


def _describe_setting(sources: _Sources, keys: Keys, field: FieldInfo) -> EffectiveSetting:
    default = field.get_default(call_default_factory=True)
    source, place = sources.find_source(keys, default)
    text = format_value(sources.read_value(keys, source))
    masked = _mask(text)
    return EffectiveSetting(
        key=".".join(keys),
        value=masked,
        default=format_value(default),
        source=source,
        place=place,
        variable=_build_variable(keys),
        choices=format_choices(field),
        description=field.description or "",
        is_secret=field.annotation is SecretStr,
        is_masked=masked != text,
        rule=_format_rule(find_rule(keys)),
    )


def _get_value(settings: BaseModel, keys: Keys) -> Any:  # noqa: ANN401  # any setting
    value: Any = settings
    for key in keys:
        value = getattr(value, key)
    return value


def _has_value(values: Any, keys: Keys) -> bool:  # noqa: ANN401  # nested values
    for key in keys:
        if not isinstance(values, Mapping) or values.get(key) is None:
            return False
        values = values[key]
    return True


def _build_variable(keys: Keys) -> str:
    return ENVIRONMENT_PREFIX + "__".join(keys).upper()


def _find_variable(keys: Keys) -> str:
    """Find the variable that sets a key, itself or as a part of its section; empty if there is none."""
    for length in range(len(keys), 0, -1):
        variable = _build_variable(keys[:length])
        if (text := os.environ.get(variable)) is not None and (
            length == len(keys) or _has_value(_parse_section(text), keys[length:])
        ):
            return variable
    return ""


def _parse_section(text: str) -> Any:  # noqa: ANN401  # any JSON value
    try:
        return json.loads(text)
    except ValueError:
        return None


def _mask(text: str) -> str:
    return get_redactor().redact(mask_addresses(text)).text if text else ""


def _format_rule(rule: SettingRule) -> str:
    if rule.allows_any:
        return ""
    if rule.allows_up_to_default:
        return f"only up to the default: {rule.reason}"
    if rule.allowed_values:
        return f"only {', '.join(map(format_value, rule.allowed_values))}: {rule.reason}"
    return f"not allowed: {rule.reason}"


def _to_ignored(restriction: Restriction) -> IgnoredSetting:
    return IgnoredSetting(restriction.place, restriction.key, _mask(restriction.value), restriction.reason)
