"""Edits of ``.coderag.yaml`` that keep the rest of the file, comments and layout included."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from coderag.config.file_names import COMMITTED_FILE
from coderag.errors import ConfigurationError
from coderag.system.atomic_write import PRIVATE_MODE, atomic_write

_EMPTY_FILE = "version: 1\n"


def read_settings_text(path: Path) -> str:
    """Read a settings file; a missing one has only its version.

    Raises:
        ConfigurationError: It cannot be read.
    """
    try:
        return path.read_bytes().decode("utf-8") if path.exists() else _EMPTY_FILE
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read {path}: {error}") from error


def write_settings_text(path: Path, text: str, *, is_private: bool = False) -> None:
    """Replace a settings file atomically, with the permissions that it has.

    Args:
        path: The file; a link is followed.
        text: Its new text.
        is_private: Whether only this user may read it, if it is new.

    Raises:
        ConfigurationError: It cannot be written.
    """
    place = path.resolve()
    try:
        mode = place.stat().st_mode & 0o7777 if place.exists() else PRIVATE_MODE if is_private else None
        atomic_write(place, [text.encode()], permissions=mode)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}") from error


def add_entry(text: str, section: str, name: str, values: Mapping[str, Any]) -> str:
    """Return the text of a settings file with one more entry in a section of entries, such as ``sources``.

    An entry that exists is extended.

    Raises:
        ConfigurationError: The file cannot be edited safely; the hint has the lines to add.
    """
    after = text
    try:
        before = yaml.safe_load(text) or {}
        entries = before.get(section) or {}
        if name in entries:
            for key, value in values.items():
                after = _set_entry_key(after, section, name, key, _format_flow(value))
        else:
            after = _append_entry(after, section, name, values)
        expected = {**before, section: {**entries, name: {**(entries.get(name) or {}), **values}}}
        is_right = yaml.safe_load(after) == json.loads(json.dumps(expected))
    except (yaml.YAMLError, AttributeError, TypeError, ValueError):
        is_right = False
    if not is_right:
        lines = "; ".join(f"{key}: {_format_flow(value)}" for key, value in values.items())
        message = f"cannot edit {COMMITTED_FILE} safely because of its layout; nothing was changed"
        raise ConfigurationError(message, hint=f"Add below '{section}:' by hand: {name}: {{{lines}}}")
    return after


def remove_entry(text: str, section: str, name: str) -> str:
    """Return the text of a settings file without an entry of a section; unchanged if it has none.

    Raises:
        ConfigurationError: The file cannot be edited safely.
    """
    try:
        before = yaml.safe_load(text) or {}
        entries = before.get(section) or {}
        if name not in entries:
            return text
        after = _cut_entry(text, section, name)
        remaining = {key: value for key, value in entries.items() if key != name}
        parsed = yaml.safe_load(after) or {}
        is_right = {**parsed, section: parsed.get(section) or {}} == {**before, section: remaining}
    except (yaml.YAMLError, AttributeError, TypeError, ValueError):
        is_right = False
    if not is_right:
        message = f"cannot edit {COMMITTED_FILE} safely because of its layout; nothing was changed"
        raise ConfigurationError(message, hint=f"Remove {name} below '{section}:' by hand.")
    return after


def edit_text(text: str, section: str, values: Mapping[str, Any]) -> str:
    """Return the text of a settings file with keys of a section set.

    Raises:
        ConfigurationError: The file cannot be edited safely; the hint has the lines to add.
    """
    try:
        after = text
        for key, value in values.items():
            after = _set_key(after, section, key, _format_flow(value))
        before, parsed = yaml.safe_load(text) or {}, yaml.safe_load(after)
        is_right = parsed == {**before, section: {**(before.get(section) or {}), **values}}
    except (yaml.YAMLError, AttributeError, TypeError, ValueError):
        is_right = False
    if not is_right:
        lines = "; ".join(f"{key}: {_format_flow(value)}" for key, value in values.items())
        message = f"cannot edit {COMMITTED_FILE} safely because of its layout; nothing was changed"
        raise ConfigurationError(message, hint=f"Add below '{section}:' by hand: {lines}")
    return after


def _set_key(text: str, section: str, key: str, value: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    pair = _find_pair(root, section)
    if pair is None:
        gap = "" if not text or text.endswith("\n") else newline
        return f"{text}{gap}{section}:{newline}  {key}: {value}{newline}"
    heading, body = pair
    if not isinstance(body, yaml.MappingNode):  # empty, or only comments
        return _insert_line(text, heading.end_mark.index, f"  {key}: {value}{newline}", newline)
    known = _find_pair(body, key)
    if known is not None:
        name, old = known
        return f"{text[: name.end_mark.index]}: {value}{text[_find_end(old) :]}"
    if body.flow_style:
        start = body.start_mark.index + 1
        return f"{text[:start]}{key}: {value}{', ' if body.value else ''}{text[start:]}"
    indent = " " * body.value[0][0].start_mark.column
    return _insert_line(text, heading.end_mark.index, f"{indent}{key}: {value}{newline}", newline)


def _find_pair(node: yaml.Node | None, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next(((name, value) for name, value in pairs if name.value == key), None)


def _find_end(node: yaml.Node) -> int:
    """Return the end of a value's text; the end mark of a block is after the comments that follow it."""
    is_block = isinstance(node, yaml.CollectionNode) and not node.flow_style
    if is_block and node.value:
        last = node.value[-1]
        return _find_end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _insert_line(text: str, index: int, line: str, newline: str) -> str:
    """Insert a line after the line at an index."""
    end = text.find("\n", index)
    return f"{text}{newline}{line}" if end < 0 else f"{text[: end + 1]}{line}{text[end + 1 :]}"


def _format_flow(value: Any) -> str:  # noqa: ANN401  # any setting
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_format_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_quote(item) for item in value)}]"
    if isinstance(value, str) and value.isalpha() and yaml.safe_load(value) == value:
        return value
    return _quote(value)


def _quote(value: Any) -> str:  # noqa: ANN401  # any setting
    """Quote a text with YAML's escapes, which are not JSON's beyond the basic plane."""
    if not isinstance(value, str) or value.isascii():
        return json.dumps(value)
    quoted: str = yaml.safe_dump(value, default_style='"', allow_unicode=True, width=1_000_000)
    return quoted.strip()


def _append_entry(text: str, section: str, name: str, values: Mapping[str, Any]) -> str:
    """Append an entry in block style, or in flow style to a flow mapping."""
    newline = "\r\n" if "\r\n" in text else "\n"
    pair = _find_pair(yaml.compose(text, Loader=yaml.SafeLoader), section)
    lines = [f"{key}: {_format_flow(value)}" for key, value in values.items()]
    if pair is None:
        gap = "" if not text or text.endswith("\n") else newline
        blank = newline if text.strip() else ""
        return f"{text}{gap}{blank}{section}:{newline}{_format_block(name, lines, '  ', newline)}"
    heading, body = pair
    if not isinstance(body, yaml.MappingNode):  # empty, or only comments
        return _insert_line(text, heading.end_mark.index, _format_block(name, lines, "  ", newline), newline)
    if body.flow_style and not body.value:
        start, end = heading.end_mark.index, body.end_mark.index
        emptied = f"{text[:start]}:{text[end:]}"
        return _insert_line(emptied, start, _format_block(name, lines, "  ", newline), newline)
    if body.flow_style:
        start = body.start_mark.index + 1
        return f"{text[:start]}{name}: {{{', '.join(lines)}}}, {text[start:]}"
    indent = " " * body.value[0][0].start_mark.column
    return _insert_line(text, _find_end(body), _format_block(name, lines, indent, newline), newline)


def _format_block(name: str, lines: list[str], indent: str, newline: str) -> str:
    return "".join(f"{line}{newline}" for line in (f"{indent}{name}:", *(f"{indent}  {line}" for line in lines)))


def _set_entry_key(text: str, section: str, name: str, key: str, value: str) -> str:
    """Set a key of an existing entry."""
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _find_pair(yaml.compose(text, Loader=yaml.SafeLoader), section)
    inner = _find_pair(outer[1], name) if outer is not None else None
    if inner is None or not isinstance(inner[1], yaml.MappingNode):
        raise ValueError(name)
    body = inner[1]
    known = _find_pair(body, key)
    if known is not None:
        return f"{text[: known[0].end_mark.index]}: {value}{text[_find_end(known[1]) :]}"
    if body.flow_style:
        start = body.start_mark.index + 1
        return f"{text[:start]}{key}: {value}{', ' if body.value else ''}{text[start:]}"
    indent = " " * body.value[0][0].start_mark.column
    return _insert_line(text, _find_end(body), f"{indent}{key}: {value}{newline}", newline)


def _cut_entry(text: str, section: str, name: str) -> str:
    """Cut an entry out of a mapping in block style, with the comment at the end of its last line."""
    pair = _find_pair(yaml.compose(text, Loader=yaml.SafeLoader), section)
    entry = _find_pair(pair[1], name) if pair is not None else None
    if pair is None or entry is None or not isinstance(pair[1], yaml.MappingNode) or pair[1].flow_style:
        raise ValueError(name)
    start = text.rfind("\n", 0, entry[0].start_mark.index) + 1
    end = text.find("\n", _find_end(entry[1]))
    return text[:start] + (text[end + 1 :] if end >= 0 else "")
