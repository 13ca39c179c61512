"""Set and remove one table of a TOML text; every other character of it stays.

Only tables with a header of their own are edited. What comes out is read again and compared with what it must be, so that
a text in another form (an inline table, dotted keys) is refused and never spoilt.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from coderag.errors import ConfigurationError

_HEADER: Final = re.compile(r"^[ \t]*\[")
_LINE: Final = re.compile(r"line (\d+)")


def entry_of(text: str, keys: Sequence[str]) -> object:
    """Return what is at a path of names; None if nothing is.

    Raises:
        ConfigurationError: The text is no TOML; the message says in which line.
    """
    value: Any = _parsed(text)
    for name in keys:
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return value


def with_entry(text: str, keys: Sequence[str], entry: Mapping[str, Any]) -> str:
    """Return the text with a table at a path of names; tables below it stay.

    Raises:
        ConfigurationError: The text is no TOML, or has the table in a form that is not edited.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join([f"[{'.'.join(keys)}]", *(f"{name} = {_written(value)}" for name, value in entry.items())])
    data = _parsed(text)
    if (span := _table(text, keys)) is not None:
        edited = text[: span[0]] + block + text[span[1] :]
    else:
        body = text.rstrip("\r\n")
        edited = f"{body}{newline * 2}{block}{newline}" if body.strip("\ufeff") else f"{body}{block}{newline}"
    return _checked(edited, _merged(data, keys, entry))


def without_entry(text: str, keys: Sequence[str]) -> str:
    """Return the text without the table at a path of names and those below it; as it is if there is none.

    Raises:
        ConfigurationError: As `with_entry`.
    """
    data = _parsed(text)
    edited = text
    while (span := _table(edited, keys, or_below=True)) is not None:
        start, end = span
        rest = edited[end:].lstrip("\r\n")
        before = edited[:start].rstrip("\r\n")
        newline = "\r\n" if "\r\n" in text else "\n"
        gap = newline * 2 if before and rest else newline if before else ""
        edited = before + gap + rest
    return _checked(edited, _merged(data, keys, None))


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        found = _LINE.search(str(error))
        line = found[1] if found else str(text.count("\n") + 1)
        raise ConfigurationError(f"line {line}: not valid TOML: {str(error).partition(' (at ')[0].lower()}") from error


def _table(text: str, keys: Sequence[str], *, or_below: bool = False) -> tuple[int, int] | None:
    """Return where a table begins and where its last line with a value ends; None if it has no header."""
    names = r"\s*\.\s*".join(rf"""(?:{re.escape(name)}|"{re.escape(name)}"|'{re.escape(name)}')""" for name in keys)
    below = r"(?:\s*\.[^\]\r\n]*)?" if or_below else ""
    header = re.compile(rf"^[ \t]*\[[ \t]*{names}[ \t]*{below}\][ \t]*(?:#.*)?$")
    place, start, end = 0, None, 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if start is None and header.match(bare) and _is_whole(text[:place]):
            start, end = place, place + len(bare)
        elif start is not None:
            if _HEADER.match(bare) and _is_whole(text[start:place]):
                break
            if bare.strip() and not bare.lstrip().startswith("#"):
                end = place + len(bare)
        place += len(line)
    return None if start is None else (start, end)


def _is_whole(text: str) -> bool:
    """Whether a text ends where a table can begin, and not within a list or a string that goes on."""
    try:
        tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        return False
    return True


def _merged(data: dict[str, Any], keys: Sequence[str], entry: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the data that the edited text must have."""
    name, *rest = keys
    old = data.get(name, {})
    if rest:
        return {**data, name: _merged(old if isinstance(old, dict) else {}, rest, entry)}
    others = {key: value for key, value in data.items() if key != name}
    if entry is None:
        return others
    below = {key: value for key, value in old.items() if isinstance(value, dict)} if isinstance(old, dict) else {}
    return {**others, name: {**below, **entry}}


def _checked(text: str, expected: dict[str, Any]) -> str:
    try:
        found = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        found = None
    if found is None or _without_empty(found) != _without_empty(expected):
        message = "the table is written in a form that is not edited"
        raise ConfigurationError(message, hint="Edit it by hand: --print shows what to add.")
    return text


def _without_empty(data: dict[str, Any]) -> dict[str, Any]:
    """Return the tables that have something in them: a header alone says as much as none."""
    return {key: value for key, value in data.items() if value != {}}


def _written(value: object) -> str:
    """Return a text, a number or a list of them as TOML, whose basic strings are those of JSON."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
