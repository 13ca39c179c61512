"""Settings of the systems that a source can have on a server, as fields of a form."""

from dataclasses import dataclass
from typing import Final, Literal, get_origin

from pydantic.fields import FieldInfo

from coderag.config.source_sections import SECTIONS_BY_SYSTEM, RemoteSourceSection
from coderag.server.repositories.source_checks import FILE_FIELDS

FieldType = Literal["text", "list", "flag", "number"]

_HIDDEN: Final = FILE_FIELDS | {"system", "token"}


@dataclass(frozen=True, slots=True)
class SettingField:
    """A setting of a system.

    Attributes:
        description: Sentence about its value.
        is_required: Whether it has no default.
        is_general: Whether all systems have it.
        default: Its default; null for a required one.
    """

    name: str
    type: FieldType
    description: str
    is_required: bool
    is_general: bool
    default: str | bool | float | list[str] | None


def list_systems() -> dict[str, list[SettingField]]:
    """List the systems that are reached over the network, with their settings but the token."""
    return {
        system: [_to_field(name, field) for name, field in section.model_fields.items() if name not in _HIDDEN]
        for system, section in SECTIONS_BY_SYSTEM.items()
        if issubclass(section, RemoteSourceSection)
    }


def _to_field(name: str, field: FieldInfo) -> SettingField:
    default = None if field.is_required() else field.default
    return SettingField(
        name=name,
        type=_find_type(field.annotation),
        description=field.description or "",
        is_required=field.is_required(),
        is_general=name in RemoteSourceSection.model_fields and name != "address",
        default=list(default) if isinstance(default, tuple) else default,
    )


def _find_type(annotation: object) -> FieldType:
    if get_origin(annotation) is tuple:
        return "list"
    if annotation is bool:
        return "flag"
    return "number" if annotation in (int, float) else "text"
