"""Which language a file is written in, and what is known about each language.

The table is data: ``queries/languages.toml`` beside the query files.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Final

TEXT: Final = "text"
"""The language of a file that is text and of no language known here."""

_INTERPRETER = re.compile(r"^#!\s*(?:\S*/)?env(?:\s+-\S+|\s+\w+=\S*)*\s+(?:\S*/)?([\w+-]+)|^#!\s*(?:\S*/)?([\w+-]+)")


@dataclass(frozen=True, slots=True)
class Language:
    """One row of the table.

    Attributes:
        extensions: Ends of file names, lower case, with the dot.
        filenames: Whole file names.
        shebangs: Interpreters in a first line ``#!``.
        grammar: Name in ``tree_sitter_language_pack``; empty if files are cut without one.
        code: Whether a language without a grammar is one of programs.
        query: Query files in ``queries/``, read as one; empty if there is none.
        crashes: Whether its grammar can crash the process on malformed text; it is then used in worker processes only.
        superset: A language that contains this one and shares its extensions, as C++ shares ``.h`` with C.
        superset_pattern: What at the start of a line shows that a file is written in that language.
        transparent: A pattern over lines of what a grammar cannot look into; its groups ``opening`` and ``closing`` are
            read as space, so that what stands between them is parsed as if it stood alone.
        separator: Stands between the parts of a qualified name.
    """

    name: str
    extensions: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    shebangs: tuple[str, ...] = ()
    grammar: str = ""
    query: tuple[str, ...] = ()
    crashes: bool = False
    code: bool = False
    separator: str = "."
    superset: str = ""
    superset_pattern: str = ""
    transparent: str = ""

    def read_query(self) -> str:
        """Return the text of its query files; empty if there are none."""
        return "\n".join((_QUERIES / name).read_text(encoding="utf-8") for name in self.query)


_QUERIES = resources.files("coderag.ingestion") / "queries"


def _read_table() -> dict[str, Language]:
    table = tomllib.loads((_QUERIES / "languages.toml").read_text(encoding="utf-8"))
    return {name: _read_row(name, row) for name, row in table.items()}


def _read_row(name: str, row: Mapping[str, Any]) -> Language:
    columns: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Language(name, **columns)


LANGUAGES: Final = MappingProxyType(_read_table())
"""Every language known, by name."""

_BY_FILENAME = {filename: language.name for language in LANGUAGES.values() for filename in language.filenames}
_BY_EXTENSION = {extension: language.name for language in LANGUAGES.values() for extension in language.extensions}
_BY_SHEBANG = {shebang: language.name for language in LANGUAGES.values() for shebang in language.shebangs}


def detect_language(path: str, first_line: str = "") -> str:
    """Return the name of the language of a file: by its name, its extension, or the interpreter in its first line.

    Args:
        path: Where the file lies, with ``/`` between the parts.
        first_line: Its first line, looked at only where the name says nothing.
    """
    filename = path.rpartition("/")[2]
    found = _BY_FILENAME.get(filename) or _by_extension(filename.lower())
    if found:
        return found
    if first_line.startswith("#!") and (interpreter := _INTERPRETER.match(first_line)):
        name = (interpreter[1] or interpreter[2]).lower()
        return _BY_SHEBANG.get(name) or _BY_SHEBANG.get(name.rstrip("0123456789.-"), TEXT)
    stem = filename.partition(".")[0]  # Dockerfile.dev, Makefile.linux, LICENSE.MIT
    return _BY_FILENAME.get(stem, TEXT) if stem else TEXT


def refine_language(language: Language, text: str) -> Language:
    """Return the language that a file's text shows it to be in: the given one, or the one that contains it."""
    if language.superset and re.search(f"(?m)^{language.superset_pattern}", text):
        return LANGUAGES[language.superset]
    return language


@cache
def _by_extension(filename: str) -> str | None:
    dot = filename.rfind(".")
    return _BY_EXTENSION.get(filename[dot:]) if dot >= 0 else None
