"""Keys of the systems' settings, on the command line and in its help."""

from collections.abc import Mapping, Sequence
from typing import Any, get_origin

import typer

from coderag.errors import ConfigurationError


def parse_keys(system: str, pairs: Sequence[str]) -> dict[str, Any]:
    """Parse arguments such as ``spaces=DOCS,ENG`` by the settings of a system; values are as in ``.coderag.yaml``.

    Raises:
        BadParameter: An argument has no ``=`` or another key, or a secret is written out.
    """
    import yaml

    from coderag.config.source_sections import SECTIONS_BY_SYSTEM

    fields = SECTIONS_BY_SYSTEM[system].model_fields
    values: dict[str, Any] = {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign or key not in fields or key == "system":
            known = ", ".join(name for name in fields if name != "system")
            raise typer.BadParameter(f"{pair!r} is not KEY=VALUE with a key of {system}: {known}.")
        if get_origin(fields[key].annotation) is tuple:
            values[key] = [part.strip() for part in text.split(",") if part.strip()]
            continue
        annotation = fields[key].annotation
        try:
            values[key] = text if annotation is str or _is_secret(annotation) else yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise typer.BadParameter(f"{pair!r}: the value is not valid YAML.") from error
    return values


def list_keys(system: str) -> list[tuple[str, str]]:
    """List the keys of a system with their descriptions, required ones first."""
    from coderag.config.source_sections import SECTIONS_BY_SYSTEM

    fields = {name: field for name, field in SECTIONS_BY_SYSTEM[system].model_fields.items() if name != "system"}
    ordered = sorted(fields.items(), key=lambda item: not item[1].is_required())
    return [(name, f"{field.description}{' Required.' if field.is_required() else ''}") for name, field in ordered]


def build_section(name: str, system: str, values: Mapping[str, Any]) -> Any:  # noqa: ANN401  # a section of any system
    """Build the section of a source as its settings would be loaded, with variables of the environment filled in.

    Raises:
        ConfigurationError: A value is invalid, or a variable is not set.
    """
    from pydantic import ValidationError

    from coderag.config.settings import Settings
    from coderag.config.settings_file import fill_in_variables
    from coderag.config.validation_errors import explain_error

    written = {"system": system, **values}
    filled = {key: fill_in_variables(value) if isinstance(value, str) else value for key, value in written.items()}
    try:
        return Settings(sources={name: filled}).sources[name]
    except ValidationError as error:
        raise ConfigurationError(
            explain_error(error, [], {}), hint=f"`coderag sources add --keys {system}` explains the keys."
        ) from error


def _is_secret(annotation: object) -> bool:
    from pydantic import SecretStr

    return annotation is SecretStr
