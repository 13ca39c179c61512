"""Validation errors of settings, by source (argument, variable, or file and line) and key."""

import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from pydantic import (
    BaseModel,
    ValidationError,
)

from coderag.config.environment import ENVIRONMENT_PREFIX
from coderag.config.settings_file import (
    ALL_KEYS_HINT,
    SettingsFile,
    find_variable,
)
from coderag.config.source_sections import SECTIONS_BY_SYSTEM


def collect_environment_names(model: type[BaseModel], prefix: str = ENVIRONMENT_PREFIX) -> set[str]:
    """List all environment variables of settings."""
    names = set()
    for name, field in model.model_fields.items():
        names.add(prefix + name.upper())
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            names |= collect_environment_names(field.annotation, f"{prefix}{name.upper()}__")
    return names


_MESSAGES: Final = {
    "extra_forbidden": "no such key",
    "model_type": "expected a section, of lines 'key: value'",
    "dict_type": "expected a section, of lines 'key: value'",
    "tuple_type": 'expected a list, such as ["a", "b"]',
    "missing": "this key is required",
    "union_tag_not_found": "the key 'system' is required",
}
"""Texts that replace pydantic's messages about Python types."""


def explain_error(error: ValidationError, files: list[SettingsFile], arguments: Mapping[str, Any]) -> str:
    """Format each validation error with its source (argument, variable, or file and line), key and message."""
    messages = []
    for detail in error.errors():
        keys = _drop_tag(detail["loc"])
        text = _MESSAGES.get(detail["type"]) or detail["msg"].lower()
        messages.append(f"{_locate_value(keys, files, arguments)}: {text}")
    return "; ".join(messages)


def _drop_tag(location: Sequence[int | str]) -> tuple[str, ...]:
    """Return the keys of a location, without the system that pydantic puts between the name of a source and its keys."""
    keys = [str(key) for key in location if key != "[key]"]
    return tuple(
        keys[:2] + keys[3:] if keys[:1] == ["sources"] and keys[2:3] and keys[2] in SECTIONS_BY_SYSTEM else keys
    )


def suggest_fix(error: ValidationError, model: type[BaseModel]) -> str:
    """Suggest the key most similar to a misspelt one, or the file that explains all."""
    for detail in error.errors():
        *parent_keys, name = _drop_tag(detail["loc"])
        known_keys = _list_keys(model, parent_keys) if detail["type"] == "extra_forbidden" else ()
        if matches := get_close_matches(name, known_keys, n=1):
            return f"Did you mean {'.'.join([*parent_keys, *matches])}?"
    return ALL_KEYS_HINT


def _list_keys(model: type[BaseModel], section: list[str]) -> list[str]:
    """List the keys of a section; none if its keys are not fixed."""
    if section[:1] == ["sources"]:
        return sorted({key for model in SECTIONS_BY_SYSTEM.values() for key in model.model_fields})
    for key in section:
        field = model.model_fields.get(key)
        if field is None or not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            return []
        model = field.annotation
    return list(model.model_fields)


def _locate_value(keys: tuple[str, ...], files: list[SettingsFile], arguments: Mapping[str, Any]) -> str:
    """Return the source that sets the value of a key, by priority."""
    name = ".".join(keys)
    if _contains(arguments, keys):
        return f"argument {name}"
    if variable := find_variable(ENVIRONMENT_PREFIX, keys):
        return f"environment variable {variable}: {name}"
    place = next((f"{file.path.name}, line {line}: " for file in reversed(files) if (line := file.find_line(keys))), "")
    return f"{place}{name}"


def is_given(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> bool:
    """Return whether a setting is given in the arguments or by its own variable."""
    return _contains(arguments, keys) or ENVIRONMENT_PREFIX + "__".join(keys).upper() in os.environ


def _contains(values: Any, keys: tuple[str, ...]) -> bool:  # noqa: ANN401  # nested values
    """Return whether nested values have a value at a key, or a plain value instead of a section on the way."""
    for key in keys:
        if not isinstance(values, Mapping):
            return True
        if key not in values:
            return False
        values = values[key]
    return True
