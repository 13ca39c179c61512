"""Parser of ``.coderag.yaml`` with the line of every key, for error messages."""

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import yaml

from coderag.config.environment import SERVER_ENVIRONMENT_PREFIX
from coderag.config.file_names import FILE_NAMES
from coderag.errors import ConfigurationError

ALL_KEYS_HINT: Final = "`coderag init` in an empty folder writes a file that explains every key."
"""Advice if no similar setting exists."""

_PLACEHOLDER = re.compile(r"(?P<escape>\\?)\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}")

_READABLE_BY_OTHERS = stat.S_IRGRP | stat.S_IROTH
_MAX_BYTES = 1_000_000  # bytes; the commented file of `coderag init` has about 20,000
_NULL = "tag:yaml.org,2002:null"
_LATE_KEYS = ("sources", "*", "token")
"""Keys whose variable may be missing: only who synchronises a source needs its token, and everybody can search."""
_COLLECTIONS = frozenset({"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})


@dataclass(frozen=True)
class SettingsFile:
    """A parsed settings file.

    Attributes:
        values: Values as nested sections.
        lines: 1-based line of every key.
        filled_in: Original text of keys with values from the environment.
    """

    path: Path
    values: Mapping[str, Any]
    lines: Mapping[tuple[str, ...], int]
    filled_in: Mapping[tuple[str, ...], str] = field(default_factory=dict)

    def find_line(self, keys: tuple[str, ...]) -> int | None:
        """Find the 1-based line of a key, or of its nearest parent in this file; None if there is none."""
        if keys[:1] not in self.lines:
            return None
        return next(self.lines[keys[:length]] for length in range(len(keys), 0, -1) if keys[:length] in self.lines)

    def has_written(self, keys: tuple[str, ...]) -> bool:
        """Return whether the text of a key is written in this file and not taken from the environment."""
        value: Any = self.values
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return isinstance(value, str) and bool(value.strip()) and keys not in self.filled_in

    def is_from_environment(self, keys: tuple[str, ...]) -> bool:
        """Return whether the value of a key is entirely one environment variable."""
        written = _PLACEHOLDER.fullmatch(self.filled_in.get(keys, "").strip())
        return written is not None and not written["escape"]

    @staticmethod
    def merge(files: "list[SettingsFile]") -> dict[str, Any]:
        """Merge the values of files; later files override key by key."""
        merged: dict[str, Any] = {}
        for file in files:
            merged = _merge(merged, file.values)
        return merged


def _merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in override.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def read_settings_files(root: Path, names: Sequence[str] = FILE_NAMES, *, fill_in: bool = True) -> list[SettingsFile]:
    """Read the settings files in `root`, in merging order.

    Args:
        root: Folder of the repository.
        names: Names of the files to read.
        fill_in: Whether to fill in environment variables; otherwise ``${NAME}`` is kept.

    Raises:
        ConfigurationError: A file is unreadable, not YAML, not a mapping, or names an unset variable.
    """
    with translate_permission_error(root):
        existing = [root / name for name in names if (root / name).is_file()]
    return [_parse_file(path, fill_in=fill_in) for path in existing]


@contextmanager
def translate_permission_error(root: Path) -> Iterator[None]:
    """Translate a `PermissionError` of a folder into a configuration error.

    Raises:
        ConfigurationError: The folder cannot be searched.
    """
    try:
        yield
    except PermissionError as error:
        message = f"the settings in {root} cannot be read: permission denied"
        raise ConfigurationError(message, hint="Make the directory readable for this user.") from error


def _read_text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ConfigurationError(f"{path.name} is larger than settings may be, {_MAX_BYTES:,} bytes")
    return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def _parse_file(path: Path, *, fill_in: bool) -> SettingsFile:
    try:
        text = _read_text(path)
        document = yaml.compose(text, Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path.name} cannot be read: {error}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigurationError(f"{path.name}, line {line}: not valid YAML: a control character") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or error
        raise ConfigurationError(f"{path.name}{place}: not valid YAML: {problem}") from error
    except RecursionError as error:
        raise ConfigurationError(f"{path.name}: lists and sections are nested too deeply") from error
    if document is None or document.tag == _NULL:
        return SettingsFile(path, {}, {})
    if not isinstance(document, yaml.MappingNode):
        raise ConfigurationError(f"{path.name}, line 1: expected sections such as 'search:', found something else")
    _refuse_aliases(document, path)
    lines = dict(_find_key_lines(document, (), path))
    mapping = _build_value(document, path, fill_in=fill_in)
    values = {key: value for key, value in mapping.items() if value is not None}  # an empty section
    return SettingsFile(path, values, lines, dict(_find_filled_in(document, ())))


def _refuse_aliases(document: yaml.Node, path: Path) -> None:
    """Refuse YAML aliases of lists and sections: a few lines could expand to gigabytes or be recursive."""
    seen: set[int] = set()
    pending = [(document, document.start_mark)]
    while pending:
        node, mark = pending.pop()
        if not isinstance(node, (yaml.MappingNode, yaml.SequenceNode)):
            continue
        if id(node) in seen:
            line = mark.line + 1
            raise ConfigurationError(f"{path.name}, line {line}: '&' and '*' cannot repeat a list or a section here")
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            pending += [(value, key.start_mark) for key, value in reversed(node.value)]
        else:
            pending += [(value, node.start_mark) for value in reversed(node.value)]


def _find_key_lines(node: yaml.Node, parent_keys: tuple[str, ...], path: Path) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield every key and list index with its line; duplicate keys are errors."""
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in seen:
                raise ConfigurationError(
                    f"{path.name}, line {line}: {'.'.join((*parent_keys, name))}: given twice, first in line {seen[name]}"
                )
            seen[name] = line
            yield (*parent_keys, name), line
            yield from _find_key_lines(value, (*parent_keys, name), path)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield (*parent_keys, str(index)), value.start_mark.line + 1
            yield from _find_key_lines(value, (*parent_keys, str(index)), path)


def _find_filled_in(node: yaml.Node, parent_keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the keys and list indices whose text has a ``${NAME}`` placeholder, with that text."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _find_filled_in(value, (*parent_keys, str(key.value)))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _find_filled_in(value, (*parent_keys, str(index)))
    elif isinstance(node, yaml.ScalarNode) and any(not match["escape"] for match in _PLACEHOLDER.finditer(node.value)):
        yield parent_keys, node.value


def _build_value(node: yaml.Node, path: Path, keys: tuple[str, ...] = (), *, fill_in: bool) -> Any:  # noqa: ANN401  # any YAML value
    if not isinstance(node, yaml.ScalarNode) and node.tag not in _COLLECTIONS:
        raise ConfigurationError(f"{path.name}, line {node.start_mark.line + 1}: not a plain value: {node.tag}")
    if isinstance(node, yaml.MappingNode):
        return {
            str(key.value): _build_value(value, path, (*keys, str(key.value)), fill_in=fill_in)
            for key, value in node.value
        }
    if isinstance(node, yaml.SequenceNode):
        return [_build_value(value, path, fill_in=fill_in) for value in node.value]
    try:
        value = yaml.SafeLoader("").construct_object(node)
    except (yaml.YAMLError, ValueError) as error:
        line = node.start_mark.line + 1
        raise ConfigurationError(f"{path.name}, line {line}: not a plain value: {node.tag} {node.value!r}") from error
    if not isinstance(value, str):
        return value
    is_late = len(keys) == len(_LATE_KEYS) and all(map(_matches_key, keys, _LATE_KEYS))
    return _fill_in(
        value, path, node.start_mark.line + 1, take=fill_in and not (is_late and find_unset_variable(value))
    )


def _matches_key(key: str, pattern: str) -> bool:
    return pattern in ("*", key)


def find_unset_variable(text: str) -> str:
    """Return the first variable of the environment that a text names and that is not set; empty if there is none."""
    names = (match["name"] for match in _PLACEHOLDER.finditer(text) if not match["escape"])
    return next((name for name in names if name not in os.environ), "")


def fill_in_variables(text: str) -> str:
    """Replace ``${NAME}`` in a value that is not from a file by the environment's value.

    Raises:
        ConfigurationError: The variable is not set.
    """

    def replace(match: re.Match[str]) -> str:
        if (value := os.environ.get(match["name"])) is None:
            raise ConfigurationError(f"the environment variable {match['name']} is not set", hint="Set it first.")
        return value

    return _PLACEHOLDER.sub(replace, text)


def _fill_in(text: str, path: Path, line: int, *, take: bool) -> str:
    """Replace ``${NAME}`` by the environment's value if `take` is set; a backslash keeps it literal."""

    def replace(match: re.Match[str]) -> str:
        if match["escape"]:
            return match[0].removeprefix("\\")
        if not take:
            return match[0]
        if (value := os.environ.get(match["name"])) is None:
            raise ConfigurationError(
                f"{path.name}, line {line}: the environment variable {match['name']} is not set",
                hint=f"Set it, or write \\${{{match['name']}}} for the literal text.",
            )
        return value

    return _PLACEHOLDER.sub(replace, text)


def is_readable_by_others(path: Path) -> bool:
    """Return whether group or others can read a file; always False on Windows, which has no such modes."""
    return os.name == "posix" and bool(path.stat().st_mode & _READABLE_BY_OTHERS)


def check_environment(prefix: str, known_names: set[str]) -> None:
    """Refuse unknown environment variables with the prefix, which would otherwise be ignored silently.

    Raises:
        ConfigurationError: With the variable and the most similar known one.
    """
    for name in sorted(os.environ):
        is_checked = name.startswith(prefix) and not name.startswith(SERVER_ENVIRONMENT_PREFIX)
        if is_checked and name not in known_names:
            # Compared without the common prefix, which would make all names similar.
            matches = get_close_matches(
                name.removeprefix(prefix), [known_name.removeprefix(prefix) for known_name in known_names], n=1
            )
            raise ConfigurationError(
                f"environment variable {name}: no such setting",
                hint=f"Did you mean {prefix}{matches[0]}?" if matches else ALL_KEYS_HINT,
            )


def find_variable(prefix: str, keys: tuple[str, ...]) -> str:
    """Find the environment variable that sets a key or its section; empty if there is none."""
    names = (prefix + "__".join(keys[:length]).upper() for length in range(len(keys), 0, -1))
    return next((name for name in names if name in os.environ), "")


def find_broken_variables(prefix: str) -> list[str]:
    """Find the environment variables with a prefix whose values are not valid JSON."""
    broken = []
    for name, value in sorted(os.environ.items()):
        if name.startswith(prefix):
            try:
                json.loads(value)
            except ValueError:
                broken.append(name)
    return broken
