"""Texts of settings for people: possible values, defaults, and values without secrets."""

import re
from types import NoneType, UnionType
from typing import Any, Final, Literal, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

MASK: Final = "****"

_TYPE_NAMES: Final = {str: "text", int: "integer", float: "number", SecretStr: "secret"}
_sub_password = re.compile(r"(?<=://)(?P<user>[^/@\s:]*):[^/@\s]*(?=@)").sub
_sub_web_user = re.compile(r"(?<=http://)[^/@\s]+(?=@)|(?<=https://)[^/@\s]+(?=@)").sub
_sub_parameter = re.compile(r"(?i)(?<=[?&;])([\w.-]*(?:pass|token|key|secret|sig|auth)[\w.-]*=)[^&;\s]+").sub


def find_section(field: FieldInfo) -> type[BaseModel] | None:
    """Return the section that a field holds; None for a setting."""
    annotation = field.annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def format_choices(field: FieldInfo, *, quote: str = "") -> str:
    """Format the type of a setting in words, with its bounds.

    Args:
        field: The setting.
        quote: Put around each possible value.
    """
    bounds = {
        kind: getattr(item, kind) for item in field.metadata for kind in ("ge", "gt", "le", "lt") if hasattr(item, kind)
    }
    low, high = bounds.get("ge", bounds.get("gt")), bounds.get("le", bounds.get("lt"))
    kind = _format_type(field.annotation, quote)
    if low is not None and high is not None:
        return f"{kind}, {low:,} to {high:,}"
    if low is not None:
        return f"{kind}, {'at least' if 'ge' in bounds else 'above'} {low:,}"
    return f"{kind}, at most {high:,}" if high is not None else kind


def format_value(value: object) -> str:
    """Format a value as it is written in YAML; empty for none. A secret becomes a remark."""
    if isinstance(value, SecretStr):
        return "(set)" if value.get_secret_value() else ""
    if value is None or value in ((), {}):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_format_entry(item)}" for name, item in value.items())
    return str(value)


def _format_entry(value: object) -> str:
    """Format a value of a mapping; of a source only its system, since the rest may be secret."""
    return str(getattr(value, "system", "(section)")) if isinstance(value, BaseModel) else str(value)


def mask_addresses(text: str) -> str:
    """Mask passwords and tokens in the addresses of a text."""
    text = _sub_password(lambda match: f"{match['user']}:{MASK}", text)
    text = _sub_web_user(MASK, text)
    return _sub_parameter(lambda match: f"{match[1]}{MASK}", text)


def _format_type(annotation: Any, quote: str) -> str:  # noqa: ANN401  # as typing has it
    origin = get_origin(annotation)
    if origin is Literal:
        return ", ".join(f"{quote}{value}{quote}" for value in get_args(annotation))
    if origin is UnionType or str(origin) == "typing.Union":
        return " or ".join(_format_type(part, quote) for part in get_args(annotation) if part is not NoneType)
    if annotation is bool:
        return f"{quote}true{quote}, {quote}false{quote}"
    if origin in (tuple, dict):
        return "list of text" if origin is tuple else "mapping"
    return _TYPE_NAMES.get(annotation, getattr(annotation, "__name__", str(annotation)))
