"""Minimal edits of a JSON text: set and remove one member, keeping every other character."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from coderag.errors import ConfigurationError
from coderag.interfaces.install.json_text import JsonMember, JsonValue, find_member, parse_json

_DEFAULT_INDENT_UNIT: Final = "  "
_INDENT: Final = re.compile(r"[ \t]*")


def read_entry(text: str, keys: Sequence[str]) -> object:
    """Return the value at a key path; None if there is none.

    Raises:
        ConfigurationError: The text or a parent of the entry is not a JSON object.
    """
    if not text.strip("\ufeff \t\r\n"):
        return None
    root = _parse_root(text)
    _find_holder(root, keys)
    member = find_member(root, keys)
    return member.value.data if member else None


def set_entry(text: str, keys: Sequence[str], entry: Mapping[str, Any]) -> str:
    """Return the text with a value set at a key path, creating missing parents.

    Raises:
        ConfigurationError: As `read_entry`.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    if not text.strip("\ufeff \t\r\n"):
        return _dump(_nest(keys, entry), _DEFAULT_INDENT_UNIT, "", newline) + newline
    root = _parse_root(text)
    holder, missing = _find_holder(root, keys)
    unit = _detect_indent_unit(text, root)
    member = find_member(root, keys)
    if member is not None:
        value = _dump(entry, unit, _find_indent(text, member.start), newline)
        edited = text[: member.value.start] + value + text[member.value.end :]
    else:
        edited = _insert_member(text, holder, missing[0], _nest(missing[1:], entry), unit, newline)
    return _verify_edit(edited, _merge(root.data, keys, entry))


def remove_entry(text: str, keys: Sequence[str]) -> str:
    """Return the text without the member at a key path, unchanged if there is none.

    Raises:
        ConfigurationError: As `read_entry`.
    """
    root = _parse_root(text)
    _find_holder(root, keys)
    member = find_member(root, keys)
    if member is None:
        return text
    parent = find_member(root, keys[:-1])
    edited = _remove_member(text, parent.value if parent else root, member)
    return _verify_edit(edited, _merge(root.data, keys, None))


def _parse_root(text: str) -> JsonValue:
    root = parse_json(text)
    if not root.is_object:
        raise ConfigurationError("line 1: not an object in braces")
    return root


def _find_holder(root: JsonValue, keys: Sequence[str]) -> tuple[JsonValue, Sequence[str]]:
    """Return the innermost existing object on a key path, and the remaining keys."""
    holder = root
    for position, name in enumerate(keys[:-1]):
        member = holder.get_member(name)
        if member is None:
            return holder, keys[position:]
        if not member.value.is_object:
            raise ConfigurationError(f"{'.'.join(keys[: position + 1])} is not an object in braces")
        holder = member.value
    return holder, keys[-1:]


def _nest(keys: Sequence[str], entry: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in reversed(keys):
        entry = {name: entry}
    return entry


def _merge(data: dict[str, Any], keys: Sequence[str], entry: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the expected data of the edited text."""
    name, *rest = keys
    if rest:
        return {**data, name: _merge(data.get(name, {}), rest, entry)}
    siblings = {key: value for key, value in data.items() if key != name}
    return siblings if entry is None else {**siblings, name: entry}


def _verify_edit(text: str, expected: dict[str, Any]) -> str:
    """Return the text if it parses to the expected data: the last check before a foreign file is written."""
    if parse_json(text).data != expected:
        raise ConfigurationError("it cannot be edited safely", hint="Edit it by hand: --print shows what to add.")
    return text


def _dump(value: object, unit: str, indent: str, newline: str) -> str:
    """Dump a value as JSON, lines after the first indented by `indent`; on one line without a unit."""
    if not unit:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return f"{newline}{indent}".join(lines)


def _find_indent(text: str, position: int) -> str:
    """Return the leading white space of the line at a position."""
    match = _INDENT.match(text, text.rfind("\n", 0, position) + 1)
    return match[0] if match else ""


def _is_multiline(text: str, holder: JsonValue) -> bool:
    """Return whether the members of an object are on separate lines; an empty object counts if it spans lines."""
    end = holder.members[0].start if holder.members else holder.end
    return "\n" in text[holder.start : end]


def _detect_indent_unit(text: str, root: JsonValue) -> str:
    """Return the indentation unit; empty if the text is on one line."""
    if not root.members:
        return _DEFAULT_INDENT_UNIT
    if not _is_multiline(text, root):
        return ""
    return _find_indent(text, root.members[0].start) or _DEFAULT_INDENT_UNIT


def _insert_member(text: str, holder: JsonValue, name: str, value: object, unit: str, newline: str) -> str:
    """Append a member to an object."""
    outer_indent = _find_indent(text, holder.start)
    is_multiline = bool(unit) and (not holder.members or _is_multiline(text, holder))
    indent = _find_indent(text, holder.members[0].start) if is_multiline and holder.members else outer_indent + unit
    member_text = (
        f"{json.dumps(name, ensure_ascii=False)}: {_dump(value, unit if is_multiline else '', indent, newline)}"
    )
    if not holder.members:
        position = holder.last_comment or holder.start + 1
        separator = newline + indent if is_multiline else newline if holder.ends_line else ""
        closing = "" if not is_multiline or "\n" in text[position : holder.end] else newline + outer_indent
        return text[:position] + separator + member_text + closing + text[position:]
    last = holder.members[-1]
    end = last.value.end if last.comma is None else last.comma + 1
    position, is_line_comment = _find_comment_end(text, end, holder)
    separator = newline + indent if is_multiline else newline if is_line_comment else " "
    comma, trailing = (",", "") if last.comma is None else ("", ",")
    return text[:end] + comma + text[end:position] + separator + member_text + trailing + text[position:]


def _find_comment_end(text: str, end: int, holder: JsonValue) -> tuple[int, bool]:
    """Return the end of a member with its trailing comment, and whether that is a line comment."""
    rest = text[end : holder.last_comment]
    comment = rest.lstrip(" \t")
    position = end + len(rest) - len(comment)
    if comment.startswith("//"):
        match = re.compile(r"[^\r\n]*").match(text, position)
        return (match.end() if match else end), True
    return (text.index("*/", position) + 2 if comment.startswith("/*") else end), False


def _remove_member(text: str, holder: JsonValue, member: JsonMember) -> str:
    """Remove a member, its line and the superfluous comma."""
    position = holder.members.index(member)
    start, end = member.start, member.value.end if member.comma is None else member.comma + 1
    line = text.rfind("\n", 0, start)
    if line >= 0 and not text[line:start].strip():
        start = line - (1 if text[line - 1 : line] == "\r" else 0)
    elif member.comma is not None:
        end += len(text[end:]) - len(text[end:].lstrip(" \t"))
    previous_comma = holder.members[position - 1].comma if position else None
    if member.comma is None and previous_comma is not None:
        if previous_comma == start - 1 or not text[previous_comma + 1 : start].strip():
            start = previous_comma
        else:
            return text[:previous_comma] + text[previous_comma + 1 : start] + text[end:]
    return text[:start] + text[end:]
