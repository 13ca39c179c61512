"""Edits of single settings in ``.coderag.yaml`` that keep the rest of the file, comments included."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from coderag.errors import ConfigurationError
from coderag.stores.disk import replace_file

FILE_NAME: Final = ".coderag.yaml"


def write_settings(root: Path, section: str, values: Mapping[str, Any]) -> Path:
    """Set keys of a section in the settings file of a repository, atomically, and return the file.

    Args:
        root: Root folder of the repository; a missing file is created.
        section: Section such as ``search``.
        values: New values by key.

    Raises:
        ConfigurationError: The file cannot be edited safely. Nothing is written, and the hint has the lines to add.
        StoreError: The file cannot be written.
    """
    path = (root / FILE_NAME).resolve()
    try:
        data, mode = (path.read_bytes(), path.stat().st_mode) if path.exists() else (b"version: 1\n", None)
        before = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read {path}: {error}") from error
    after = edit_text(before, section, values)
    replace_file(path, after.encode("utf-8"))
    if mode is not None:
        path.chmod(mode)
    return path


def edit_text(text: str, section: str, values: Mapping[str, Any]) -> str:
    """Return the text of a settings file with keys of a section set.

    Raises:
        ConfigurationError: As `write_settings`.
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
        message = f"cannot edit {FILE_NAME} safely because of its layout; nothing was changed"
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
    return value if isinstance(value, str) and value.isalpha() else json.dumps(value)
