"""Attributes that a repository gives to its files in ``.gitattributes``: generated, vendored, a language, an encoding.

The files are those of git: ``.gitattributes`` in the folder of the file and the ones above, then ``.git/info/attributes``; of
lines that match, the last one decides. Attributes are those of GitHub's linguist, ``working-tree-encoding`` of git, and
``export-ignore``, which marks what no release contains.

Source: gitattributes(5); the overrides of github-linguist.
"""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from coderag.ingestion.files.git_repository import GitRepository, find_repository, read_small_file
from coderag.ingestion.files.ignore import IgnoreRules
from coderag.ingestion.files.ignore_patterns import ANY_NAMES, IgnoreRule, PatternOrigin, PatternSegment, parse_patterns
from coderag.ingestion.files.roles import classify_role
from coderag.schema.vocabulary import Role

ATTRIBUTES_FILE: Final = ".gitattributes"

_PATTERN = re.compile(rb'[ \t]*("(?:[^"\\]|\\.)*"|[^ \t\r]+)[ \t]*([^\r]*)')
_MACRO = b"[attr]"
_FALSE_VALUES = frozenset({"false", "0", "no"})
_READ_ATTRIBUTES = frozenset(
    {
        "linguist-generated",
        "linguist-vendored",
        "linguist-documentation",
        "linguist-language",
        "working-tree-encoding",
        "export-ignore",
    }
)


@dataclass(frozen=True, slots=True)
class FileAttributes:
    """Attributes of a file; None or empty where nothing is said.

    Attributes:
        is_exported: False for a file that no release contains.
        language: Name of a language as linguist writes it.
        encoding: Encoding of the file on disk.
    """

    is_generated: bool | None = None
    is_vendored: bool | None = None
    is_documentation: bool | None = None
    is_exported: bool = True
    language: str = ""
    encoding: str = ""

    def determine_role(self, path: str) -> Role:
        """Determine the role of a file: by its attributes, else by its path, separated by ``/``."""
        if self.is_vendored:
            return "vendored"
        if self.is_documentation:
            return "docs"
        role = classify_role(path)
        denied = {"vendored": self.is_vendored, "docs": self.is_documentation, "generated": self.is_generated}
        if denied.get(role) is False:
            role = classify_role(path.rpartition("/")[2])
        return "config" if role == "source" and not self.is_exported else role


NO_ATTRIBUTES: Final = FileAttributes()


class _AttributeLine(NamedTuple):
    """A pattern, and the attributes that it sets; None for those that it resets."""

    rule: IgnoreRule
    values: Mapping[str, str | None]


class GitAttributes:
    """Reads the attributes of a repository's files. Each ``.gitattributes`` is read once.

    Args:
        root: Folder that paths are relative to; it may be below the top of the repository.
    """

    def __init__(self, root: Path) -> None:
        repository = _find_own_repository(root)
        self._top = repository.top if repository else root
        self._prefix = "" if root == self._top else root.relative_to(self._top).as_posix()
        self._lines_by_folder: dict[str, Sequence[_AttributeLine]] = {}
        self._last_lines = _read_lines(repository.common_dir / "info" / "attributes") if repository else ()

    def find(self, path: str) -> FileAttributes:
        """Find the attributes of a file.

        Args:
            path: Relative to the root, separated by ``/``.
        """
        names = f"{self._prefix}/{path}".removeprefix("/").split("/")
        values: dict[str, str | None] = {}
        for depth in range(len(names)):
            for line in self._load_folder("/".join(names[:depth])):
                if _matches(line.rule, names[depth:]):
                    values.update(line.values)
        for line in self._last_lines:
            if _matches(line.rule, names):
                values.update(line.values)
        return _build_attributes(values) if values else NO_ATTRIBUTES

    def _load_folder(self, folder: str) -> Sequence[_AttributeLine]:
        if folder not in self._lines_by_folder:
            self._lines_by_folder[folder] = _read_lines(self._top / folder / ATTRIBUTES_FILE)
        return self._lines_by_folder[folder]


def _find_own_repository(root: Path) -> GitRepository | None:
    """Find the repository that a root belongs to; one that ignores the root does not own its files."""
    repository = find_repository(root)
    if repository is None or repository.top == root:
        return repository
    return IgnoreRules.load_for_root(root).repository


def _build_attributes(values: Mapping[str, str | None]) -> FileAttributes:
    def read_flag(name: str) -> bool | None:
        value = values.get(name)
        return None if value is None else value.lower() not in _FALSE_VALUES

    return FileAttributes(
        is_generated=read_flag("linguist-generated"),
        is_vendored=read_flag("linguist-vendored"),
        is_documentation=read_flag("linguist-documentation"),
        is_exported=not read_flag("export-ignore"),
        language=values.get("linguist-language") or "",
        encoding=values.get("working-tree-encoding") or "",
    )


def _read_lines(path: Path) -> list[_AttributeLine]:
    """Read the lines of an attributes file that say something of interest; none if it cannot be read."""
    data = read_small_file(path)
    return list(_parse_lines(data)) if data else []


def _parse_lines(data: bytes) -> Iterator[_AttributeLine]:
    macros: dict[str, dict[str, str | None]] = {}
    for raw in data.removeprefix(codecs.BOM_UTF8).split(b"\n"):
        match = _PATTERN.match(raw)
        if match is None or raw.lstrip().startswith(b"#"):
            continue
        pattern, attributes = match[1], match[2].decode("utf-8", "replace").split()
        if pattern.startswith(_MACRO):
            macros[pattern.removeprefix(_MACRO).decode("utf-8", "replace")] = _parse_values(attributes, macros)
            continue
        values = _parse_values(attributes, macros)
        if values and not pattern.startswith(b"!"):  # git forbids negated patterns
            for rule in parse_patterns(_unquote(pattern), PatternOrigin(ATTRIBUTES_FILE), fold=False):
                yield _AttributeLine(rule, values)


def _unquote(pattern: bytes) -> bytes:
    if not pattern.startswith(b'"'):
        return pattern
    return codecs.escape_decode(pattern[1:-1])[0]  # C escapes, as git writes


def _parse_values(attributes: Sequence[str], macros: Mapping[str, Mapping[str, str | None]]) -> dict[str, str | None]:
    """Parse ``name``, ``-name``, ``!name`` and ``name=value`` to values, macros expanded; others are left out."""
    values: dict[str, str | None] = {}
    for attribute in attributes:
        name, _, value = attribute.lstrip("-!").partition("=")
        if name in macros and attribute == name:
            values.update(macros[name])
        elif name in _READ_ATTRIBUTES:
            values[name] = (
                None if attribute.startswith("!") else "false" if attribute.startswith("-") else value or "true"
            )
    return values


def _matches(rule: IgnoreRule, names: Sequence[str]) -> bool:
    """Return whether a pattern matches a file; a pattern of a folder matches no file in it."""
    encoded = [name if name.isascii() else name.encode("utf-8", "surrogateescape").decode("latin-1") for name in names]
    return not rule.directories_only and any(_match_segments(segments, encoded) for segments in rule.paths)


def _match_segments(segments: Sequence[PatternSegment], names: Sequence[str]) -> bool:
    if not segments:
        return not names
    if segments[0] is ANY_NAMES:
        return any(_match_segments(segments[1:], names[skipped:]) for skipped in range(len(names) + 1))
    return bool(names) and segments[0].matches(names[0]) and _match_segments(segments[1:], names[1:])
