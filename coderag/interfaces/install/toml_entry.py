"""Minimal edits of a TOML text: set and remove one table, keeping every other character.

Only tables with their own header are edited. The result is parsed again and compared with the expected data, so text in
another form (inline tables, dotted keys) is rejected, never damaged.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from coderag.errors import ConfigurationError

_HEADER: Final = re.compile(r"^[ \t]*\[")
_LINE_NUMBER: Final = re.compile(r"line (\d+)")


def read_entry(text: str, keys: Sequence[str]) -> object:
    """Return the value at a key path; None if there is none.

    Raises:
        ConfigurationError: The text is not TOML; the message has the line.
    """
    value: Any = _parse(text)
    for name in keys:
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return value


def set_entry(text: str, keys: Sequence[str], entry: Mapping[str, Any]) -> str:
    """Return the text with a table set at a key path, keeping its subtables.

    Raises:
        ConfigurationError: The text is not TOML, or the table is in a form that cannot be edited.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join(
        [f"[{'.'.join(keys)}]", *(f"{name} = {_format_value(value)}" for name, value in entry.items())]
    )
    data = _parse(text)
    if (span := _find_table(text, keys)) is not None:
        edited = text[: span[0]] + block + text[span[1] :]
    else:
        body = text.rstrip("\r\n")
        edited = f"{body}{newline * 2}{block}{newline}" if body.strip("\ufeff") else f"{body}{block}{newline}"
    return _verify_edit(edited, _merge(data, keys, entry))


def remove_entry(text: str, keys: Sequence[str]) -> str:
    """Return the text without the table at a key path and its subtables, unchanged if there is none.

    Raises:
        ConfigurationError: As `set_entry`.
    """
    data = _parse(text)
    edited = text
    while (span := _find_table(edited, keys, or_nested=True)) is not None:
        start, end = span
        following = edited[end:].lstrip("\r\n")
        preceding = edited[:start].rstrip("\r\n")
        newline = "\r\n" if "\r\n" in text else "\n"
        gap = newline * 2 if preceding and following else newline if preceding else ""
        edited = preceding + gap + following
    return _verify_edit(edited, _merge(data, keys, None))


def _parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        match = _LINE_NUMBER.search(str(error))
        line = match[1] if match else str(text.count("\n") + 1)
        raise ConfigurationError(f"line {line}: not valid TOML: {str(error).partition(' (at ')[0].lower()}") from error


def _find_table(text: str, keys: Sequence[str], *, or_nested: bool = False) -> tuple[int, int] | None:
    """Return the span of a table, up to its last line with a value; None if it has no header."""
    names = r"\s*\.\s*".join(rf"""(?:{re.escape(name)}|"{re.escape(name)}"|'{re.escape(name)}')""" for name in keys)
    nested_suffix = r"(?:\s*\.[^\]\r\n]*)?" if or_nested else ""
    header = re.compile(rf"^[ \t]*\[[ \t]*{names}[ \t]*{nested_suffix}\][ \t]*(?:#.*)?$")
    offset, start, end = 0, None, 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if start is None and header.match(bare) and _is_complete(text[:offset]):
            start, end = offset, offset + len(bare)
        elif start is not None:
            if _HEADER.match(bare) and _is_complete(text[start:offset]):
                break
            if bare.strip() and not bare.lstrip().startswith("#"):
                end = offset + len(bare)
        offset += len(line)
    return None if start is None else (start, end)


def _is_complete(text: str) -> bool:
    """Return whether a table can begin at the end of a text: no list or string is open."""
    try:
        tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        return False
    return True


def _merge(data: dict[str, Any], keys: Sequence[str], entry: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the expected data of the edited text."""
    name, *rest = keys
    old = data.get(name, {})
    if rest:
        return {**data, name: _merge(old if isinstance(old, dict) else {}, rest, entry)}
    siblings = {key: value for key, value in data.items() if key != name}
    if entry is None:
        return siblings
    nested = {key: value for key, value in old.items() if isinstance(value, dict)} if isinstance(old, dict) else {}
    return {**siblings, name: {**nested, **entry}}


def _verify_edit(text: str, expected: dict[str, Any]) -> str:
    try:
        parsed = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        parsed = None
    if parsed is None or _drop_empty_tables(parsed) != _drop_empty_tables(expected):
        message = "the table is written in a form that is not edited"
        raise ConfigurationError(message, hint="Edit it by hand: --print shows what to add.")
    return text


def _drop_empty_tables(data: dict[str, Any]) -> dict[str, Any]:
    """Drop empty tables: a bare header means the same as none."""
    return {key: value for key, value in data.items() if value != {}}


def _format_value(value: object) -> str:
    """Format a string, a number or a list of them as TOML, whose basic strings are those of JSON."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
