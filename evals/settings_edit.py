"""Write single settings into ``.coderag.yaml`` and leave the rest of the file, comments too, as it is."""

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
        root: The repository's folder; the file is made if it is not there.
        section: Such as ``search``.
        values: By key.

    Raises:
        ConfigurationError: The file is none that can be edited safely; nothing is written, and the message has the lines
            to add by hand.
        StoreError: It cannot be written.
    """
    path = (root / FILE_NAME).resolve()
    try:
        data, mode = (path.read_bytes(), path.stat().st_mode) if path.exists() else (b"version: 1\n", None)
        before = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
    after = edited(before, section, values)
    replace_file(path, after.encode("utf-8"))
    if mode is not None:
        path.chmod(mode)
    return path


def edited(text: str, section: str, values: Mapping[str, Any]) -> str:
    """Return the text of a settings file with keys of a section set.

    Raises:
        ConfigurationError: As `write_settings`.
    """
    try:
        after = text
        for key, value in values.items():
            after = _with_key(after, section, key, _flow(value))
        before, found = yaml.safe_load(text) or {}, yaml.safe_load(after)
        is_right = found == {**before, section: {**(before.get(section) or {}), **values}}
    except (yaml.YAMLError, AttributeError, TypeError, ValueError):
        is_right = False
    if not is_right:
        lines = "; ".join(f"{key}: {_flow(value)}" for key, value in values.items())
        message = f"{FILE_NAME} is written in a way that is not edited safely; nothing was changed"
        raise ConfigurationError(message, hint=f"Set below '{section}:' yourself: {lines}")
    return after


def _with_key(text: str, section: str, key: str, value: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    pair = _pair(root, section)
    if pair is None:
        gap = "" if not text or text.endswith("\n") else newline
        return f"{text}{gap}{section}:{newline}  {key}: {value}{newline}"
    heading, body = pair
    if not isinstance(body, yaml.MappingNode):  # empty, or with comments only
        return _with_line(text, heading.end_mark.index, f"  {key}: {value}{newline}", newline)
    known = _pair(body, key)
    if known is not None:
        name, old = known
        return f"{text[: name.end_mark.index]}: {value}{text[_end(old) :]}"
    if body.flow_style:
        start = body.start_mark.index + 1
        return f"{text[:start]}{key}: {value}{', ' if body.value else ''}{text[start:]}"
    indent = " " * body.value[0][0].start_mark.column
    return _with_line(text, heading.end_mark.index, f"{indent}{key}: {value}{newline}", newline)


def _pair(node: yaml.Node | None, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next(((name, value) for name, value in pairs if name.value == key), None)


def _end(node: yaml.Node) -> int:
    """Return where the text of a value ends; the mark of a block is behind the comments that follow it."""
    is_block = isinstance(node, yaml.CollectionNode) and not node.flow_style
    if is_block and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _with_line(text: str, index: int, line: str, newline: str) -> str:
    """Return a text with a line after the one that a place is in."""
    end = text.find("\n", index)
    return f"{text}{newline}{line}" if end < 0 else f"{text[: end + 1]}{line}{text[end + 1 :]}"


def _flow(value: Any) -> str:  # noqa: ANN401  # any setting
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(inner)}" for key, inner in value.items()) + "}"
    return value if isinstance(value, str) and value.isalpha() else json.dumps(value)
