"""Set and remove one member of a JSON text; every other character of it stays."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from coderag.errors import ConfigurationError
from coderag.interfaces.install.json_text import Member, Value, find, parse

_UNIT: Final = "  "
_INDENT: Final = re.compile(r"[ \t]*")


def entry_of(text: str, keys: Sequence[str]) -> object:
    """Return what is at a path of names; None if nothing is.

    Raises:
        ConfigurationError: The text is no JSON object, or what is above the entry is none.
    """
    if not text.strip("\ufeff \t\r\n"):
        return None
    root = _root(text)
    _above(root, keys)
    member = find(root, keys)
    return member.value.data if member else None


def with_entry(text: str, keys: Sequence[str], entry: Mapping[str, Any]) -> str:
    """Return the text with a value at a path of names; objects on the way that are missing are made.

    Raises:
        ConfigurationError: As `entry_of`.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    if not text.strip("\ufeff \t\r\n"):
        return _dumped(_nested(keys, entry), _UNIT, "", newline) + newline
    root = _root(text)
    holder, missing = _above(root, keys)
    unit = _unit_of(text, root)
    member = find(root, keys)
    if member is not None:
        value = _dumped(entry, unit, _indent_at(text, member.start), newline)
        edited = text[: member.value.start] + value + text[member.value.end :]
    else:
        edited = _inserted(text, holder, missing[0], _nested(missing[1:], entry), unit, newline)
    return _checked(edited, _merged(root.data, keys, entry))


def without_entry(text: str, keys: Sequence[str]) -> str:
    """Return the text without the member at a path of names; as it is if there is none.

    Raises:
        ConfigurationError: As `entry_of`.
    """
    root = _root(text)
    _above(root, keys)
    member = find(root, keys)
    if member is None:
        return text
    above = find(root, keys[:-1])
    edited = _cut(text, above.value if above else root, member)
    return _checked(edited, _merged(root.data, keys, None))


def _root(text: str) -> Value:
    root = parse(text)
    if not root.is_object:
        raise ConfigurationError("line 1: not an object in braces")
    return root


def _above(root: Value, keys: Sequence[str]) -> tuple[Value, Sequence[str]]:
    """Return the innermost object on the way to a member that is there, and the names that are missing in it."""
    holder = root
    for position, name in enumerate(keys[:-1]):
        member = holder.member(name)
        if member is None:
            return holder, keys[position:]
        if not member.value.is_object:
            raise ConfigurationError(f"{'.'.join(keys[: position + 1])} is not an object in braces")
        holder = member.value
    return holder, keys[-1:]


def _nested(keys: Sequence[str], entry: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in reversed(keys):
        entry = {name: entry}
    return entry


def _merged(data: dict[str, Any], keys: Sequence[str], entry: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the data that the edited text must have."""
    name, *rest = keys
    if rest:
        return {**data, name: _merged(data.get(name, {}), rest, entry)}
    others = {key: value for key, value in data.items() if key != name}
    return others if entry is None else {**others, name: entry}


def _checked(text: str, expected: dict[str, Any]) -> str:
    """Return the text if it says what is expected: the last guard before a file of somebody else's is written."""
    if parse(text).data != expected:
        raise ConfigurationError("it cannot be edited safely", hint="Edit it by hand: --print shows what to add.")
    return text


def _dumped(value: object, unit: str, indent: str, newline: str) -> str:
    """Return a value as JSON whose lines after the first begin with `indent`; on one line if there is no unit."""
    if not unit:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return f"{newline}{indent}".join(lines)


def _indent_at(text: str, place: int) -> str:
    """Return the white space that the line of a place begins with."""
    found = _INDENT.match(text, text.rfind("\n", 0, place) + 1)
    return found[0] if found else ""


def _is_spread(text: str, holder: Value) -> bool:
    """Whether the members of an object stand on lines of their own; an empty one goes by how the text is written."""
    end = holder.members[0].start if holder.members else holder.end
    return "\n" in text[holder.start : end]


def _unit_of(text: str, root: Value) -> str:
    """Return what members are indented by; empty if the text is on one line."""
    if not root.members:
        return _UNIT
    if not _is_spread(text, root):
        return ""
    return _indent_at(text, root.members[0].start) or _UNIT


def _inserted(text: str, holder: Value, name: str, value: object, unit: str, newline: str) -> str:
    """Return the text with a new last member of an object."""
    outer = _indent_at(text, holder.start)
    spread = bool(unit) and (not holder.members or _is_spread(text, holder))
    indent = _indent_at(text, holder.members[0].start) if spread and holder.members else outer + unit
    written = f"{json.dumps(name, ensure_ascii=False)}: {_dumped(value, unit if spread else '', indent, newline)}"
    if not holder.members:
        place = holder.last_comment or holder.start + 1
        between = newline + indent if spread else newline if holder.ends_line else ""
        closing = "" if not spread or "\n" in text[place : holder.end] else newline + outer
        return text[:place] + between + written + closing + text[place:]
    last = holder.members[-1]
    end = last.value.end if last.comma is None else last.comma + 1
    place, is_remark = _after_remark(text, end, holder)
    between = newline + indent if spread else newline if is_remark else " "
    comma, trailing = (",", "") if last.comma is None else ("", ",")
    return text[:end] + comma + text[end:place] + between + written + trailing + text[place:]


def _after_remark(text: str, end: int, holder: Value) -> tuple[int, bool]:
    """Return where a member ends with the comment behind it in its line, and whether that goes to the end of the line."""
    rest = text[end : holder.last_comment]
    remark = rest.lstrip(" \t")
    at = end + len(rest) - len(remark)
    if remark.startswith("//"):
        line = re.compile(r"[^\r\n]*").match(text, at)
        return (line.end() if line else end), True
    return (text.index("*/", at) + 2 if remark.startswith("/*") else end), False


def _cut(text: str, holder: Value, member: Member) -> str:
    """Return the text without a member, its line, and the comma that is then too much."""
    position = holder.members.index(member)
    start, end = member.start, member.value.end if member.comma is None else member.comma + 1
    line = text.rfind("\n", 0, start)
    if line >= 0 and not text[line:start].strip():
        start = line - (1 if text[line - 1 : line] == "\r" else 0)
    elif member.comma is not None:
        end += len(text[end:]) - len(text[end:].lstrip(" \t"))
    before = holder.members[position - 1].comma if position else None
    if member.comma is None and before is not None:
        if before == start - 1 or not text[before + 1 : start].strip():
            start = before
        else:
            return text[:before] + text[before + 1 : start] + text[end:]
    return text[:start] + text[end:]
