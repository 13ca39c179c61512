"""Results as JSON: exactly the fields that the dataclasses have. Imports nothing slow."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import PurePath
from typing import Any


def to_mapping(value: object) -> dict[str, object]:
    """Return a dataclass as its fields, or a mapping, as a dict."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} has no keys")


def to_plain(value: object) -> object:
    """Return what a library for JSON does not know as what it knows; what is in it stays as it is."""
    if isinstance(value, PurePath):
        return value.as_posix()
    if hasattr(value, "item"):  # a NumPy number
        return value.item()
    if isinstance(value, Iterable) and not isinstance(value, Mapping):
        return list(value)
    return to_mapping(value)


def encode_json(value: object) -> bytes:
    r"""Return a result as JSON in UTF-8: dataclasses as objects of their fields, paths with ``/``.

    A number that is none (NaN, infinity) becomes ``null``. Lone surrogates, which are bytes of file names that are not
    UTF-8, are spelt out (``\udcff``): as an escape of JSON, parsers of other languages refuse them.
    """
    import orjson  # noqa: PLC0415  # only servers need it

    try:
        return orjson.dumps(value, default=to_plain, option=orjson.OPT_NON_STR_KEYS)
    except orjson.JSONEncodeError:
        return orjson.dumps(_escape_surrogates(value), default=to_plain, option=orjson.OPT_NON_STR_KEYS)


def _escape_surrogates(value: object) -> Any:  # noqa: ANN401  # whatever JSON has
    """Return a value of plain parts, its texts without lone surrogates."""
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
