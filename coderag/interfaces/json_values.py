"""Conversion of results to JSON values. Imports nothing slow."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any


def to_mapping(value: object) -> dict[str, object]:
    """Convert a dataclass or mapping to a dict."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} has no keys")


def to_plain(value: object) -> object:
    """Convert a value that JSON encoders do not support, not recursively."""
    if isinstance(value, PurePath):
        return value.as_posix()
    if isinstance(value, datetime):
        return value.isoformat()
    if hasattr(value, "item") and not is_dataclass(value):  # a NumPy scalar
        return value.item()
    if isinstance(value, Iterable) and not isinstance(value, Mapping):
        return list(value)
    return to_mapping(value)


def encode_json(value: object) -> bytes:
    r"""Encode a result as UTF-8 JSON: dataclasses as objects, paths with ``/``.

    NaN and infinity become ``null``. Lone surrogates (bytes of file names that are not UTF-8) are spelt out as text
    (``\udcff``), because parsers of other languages reject them as JSON escapes.
    """
    import orjson  # noqa: PLC0415  # only servers need it

    try:
        return orjson.dumps(value, default=to_plain, option=orjson.OPT_NON_STR_KEYS)
    except orjson.JSONEncodeError:
        return orjson.dumps(_escape_surrogates(value), default=to_plain, option=orjson.OPT_NON_STR_KEYS)


def _escape_surrogates(value: object) -> Any:  # noqa: ANN401  # any JSON value
    """Return the value as JSON types, with lone surrogates spelt out."""
    if isinstance(value, PurePath):
        value = value.as_posix()
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _escape_surrogates(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {_escape_surrogates(key): _escape_surrogates(item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [_escape_surrogates(item) for item in value]
    return value
