"""Rejection of keys and passwords in files that git keeps or that others can read."""

from collections.abc import Iterator, Mapping

from pydantic import (
    BaseModel,
    SecretStr,
)

from coderag.config.file_names import COMMITTED_FILE, LOCAL_FILE
from coderag.config.settings_file import (
    SettingsFile,
    is_readable_by_others,
)
from coderag.config.source_sections import SECTIONS_BY_SYSTEM, RemoteSourceSection
from coderag.errors import ConfigurationError


def reject_exposed_secrets(file: SettingsFile, model: type[BaseModel]) -> None:
    """Refuse a key or password in a file that is committed to git or readable by others.

    Raises:
        ConfigurationError: With file, line and setting, never the secret.
    """
    secret_keys = (*_find_secret_keys(model), *_find_source_secrets(file))
    written = next((keys for keys in secret_keys if file.has_written(keys)), None)
    if written is None:
        return
    name = ".".join(written)
    place = f"{file.path.name}, line {file.find_line(written)}: {name}"
    if file.path.name == COMMITTED_FILE:
        file_setting = {"api_key": f"{name}_file", "token": f"{name.removesuffix('token')}credential_file"}.get(
            written[-1]
        )
        key_file = f", or name a file that holds it in {file_setting}" if file_setting else ""
        hint = f"Write ${{NAME}} to take it from the environment, move it to {LOCAL_FILE}{key_file}."
        raise ConfigurationError(f"{place}: secrets do not belong in this file, which is committed to git", hint=hint)
    if is_readable_by_others(file.path):
        raise ConfigurationError(f"{place}: others can read this file", hint=f"Run `chmod 600 {file.path}`.")


def _find_source_secrets(file: SettingsFile) -> Iterator[tuple[str, ...]]:
    """Yield the keys of secrets of the sources that a file names."""
    sources = file.values.get("sources")
    for name, section in sources.items() if isinstance(sources, Mapping) else ():
        model = SECTIONS_BY_SYSTEM.get(str(section.get("system"))) if isinstance(section, Mapping) else None
        for secret in _find_secret_keys(model or RemoteSourceSection):
            yield ("sources", name, *secret)


def _find_secret_keys(model: type[BaseModel], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the keys of secret settings."""
    for name, field in model.model_fields.items():
        if field.annotation is SecretStr:
            yield (*above, name)
        elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _find_secret_keys(field.annotation, (*above, name))
