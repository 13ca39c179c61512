"""Languages: detection for a file, and their properties.

The table is ``queries/languages.toml``, next to the query files.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Final

PLAIN_TEXT: Final = "text"
"""Language of a text file in no supported language."""

_MAX_INSPECTED_CHARS = 1 << 16  # enough for a header's licence and includes
_MODELINE_WINDOW_CHARS = 1000  # from the beginning or the end of a file
_EMACS = re.compile(r"-\*-(?:.*?\bmode:)?\s*([\w+#-]+)\s*(?:;.*)?-\*-", re.IGNORECASE)
_VIM = re.compile(r"\b(?:vim?|ex):.*?\b(?:ft|filetype)=([\w+#-]+)")
_INTERPRETER = re.compile(r"^#!\s*(?:\S*/)?env(?:\s+-\S+|\s+\w+=\S*)*\s+(?:\S*/)?([\w+-]+)|^#!\s*(?:\S*/)?([\w+-]+)")


@dataclass(frozen=True, slots=True)
class Language:
    """A row of the language table.

    Attributes:
        extensions: Ends of file names, lower case, with the dot.
        filenames: Whole file names.
        shebangs: Interpreters in a first line ``#!``.
        grammar: Name in ``tree_sitter_language_pack``; empty if files are cut without one.
        code: Whether a language without a grammar is a programming language.
        data: Whether it is a format of structured data: without branches, without symbols found by patterns, and without a
            tree for large files, which are tables.
        query: Query files in ``queries/``, concatenated; empty if there is none.
        graph: Query files for the code graph.
        deepest: Nesting depth above which its grammar crashes the process; 0 if there is no limit.
        crashes: Whether its grammar can crash the process on malformed text. It is then used in worker processes only.
        alternatives: Languages that share its extensions, with a pattern that identifies them: at the beginning of the
            text, or of any line if the pattern starts with ``^``.
        content: A pattern for the beginning of a file whose name identifies no language.
        template_extensions: Extensions that are ignored after another extension: ``nginx.conf.j2``.
        scripts: Default language of script elements, for markup with such elements.
        front_matter: Language of the block between two lines ``---`` at the top.
        cells: Default language of code cells, for notebooks.
        transparent: A pattern for wrappers that the grammar cannot parse. Its groups ``opening`` and ``closing`` are
            blanked, so that the text between them is parsed as if it stood alone; ``name`` is read as one word.
        opening: Replacement of the group ``opening``, padded with spaces; no longer than its shortest match.
        closing: Replacement of the group ``closing``.
        repairs: Names of the repairs of its texts before they are parsed, see `coderag.ingestion.parsing.repairs`.
        separator: Separator of the parts of a qualified name.
        aliases: Further names that people and editors use, lower case.
        family: Languages that a filter for this one includes.
        headers: Languages whose headers (``.h``) a filter for this one includes.
    """

    name: str
    extensions: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    shebangs: tuple[str, ...] = ()
    grammar: str = ""
    query: tuple[str, ...] = ()
    graph: tuple[str, ...] = ()
    deepest: int = 0
    crashes: bool = False
    code: bool = False
    data: bool = False
    separator: str = "."
    alternatives: Mapping[str, str] = field(default_factory=dict, hash=False)
    content: str = ""
    template_extensions: tuple[str, ...] = ()
    scripts: str = ""
    front_matter: str = ""
    cells: str = ""
    transparent: str = ""
    opening: str = ""
    closing: str = ""
    repairs: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    family: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()

    def read_query(self) -> str:
        """Read its query; empty if there is none."""
        return _read_files(self.query)

    def read_graph_query(self) -> str:
        """Read its query for the code graph; empty if there is none."""
        return _read_files(self.graph)


_QUERIES = resources.files("coderag.ingestion.parsing") / "queries"


def _read_files(names: Iterable[str]) -> str:
    return "\n".join((_QUERIES / name).read_text(encoding="utf-8") for name in names)


def read_toml(name: str) -> dict[str, Any]:
    """Read a table next to the query files."""
    return tomllib.loads((_QUERIES / name).read_text(encoding="utf-8"))


def _read_table() -> dict[str, Language]:
    return {name: _read_row(name, row) for name, row in read_toml("languages.toml").items()}


def _read_row(name: str, row: Mapping[str, Any]) -> Language:
    columns: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Language(name, **columns)


LANGUAGES: Final = MappingProxyType(_read_table())
"""All supported languages by name."""

_BY_FILENAME = {filename: language.name for language in LANGUAGES.values() for filename in language.filenames}
_BY_EXTENSION = {extension: language.name for language in LANGUAGES.values() for extension in language.extensions}
_BY_SHEBANG = {shebang: language.name for language in LANGUAGES.values() for shebang in language.shebangs}
_BY_GRAMMAR = {language.grammar: language.name for language in LANGUAGES.values()}
_BY_ALIAS = {alias: language.name for language in LANGUAGES.values() for alias in language.aliases}
_TEMPLATE_EXTENSIONS = frozenset(
    extension for language in LANGUAGES.values() for extension in language.template_extensions
)


def detect_language(path: str, text: str = "") -> str:
    """Detect the language of a file by its name, its extension or its text.

    Args:
        path: Path of the file, separated by ``/``.
        text: The text or its beginning; used only if the name is ambiguous or unknown.
    """
    filename = path.rpartition("/")[2]
    name = _detect_by_name(filename)
    if name is None:
        stem = filename.partition(".")[0]  # Dockerfile.dev, Makefile.linux, LICENSE.MIT
        return (
            _detect_by_shebang(text) or _detect_by_modeline(text) or _BY_FILENAME.get(stem) or _detect_by_content(text)
        )
    return _refine_language(LANGUAGES[name], text) if text else name


def _refine_language(language: Language, text: str) -> str:
    """Return the language of a text: the given language, or an alternative that shares its extensions."""
    if not language.alternatives:
        return language.name
    named = _detect_by_modeline(text)
    if named is not None and named in (language.name, *language.alternatives):
        return named
    lines = "\n" + text[:_MAX_INSPECTED_CHARS]
    for name, pattern in language.alternatives.items():
        if (
            _compile_pattern(pattern).search(lines)
            if pattern.startswith("^")
            else _compile_pattern(pattern).match(lines, 1)
        ):
            return name
    return language.name


@cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of the table. A literal newline is found ten times as fast as the beginning of a line."""
    return re.compile(f"\n(?:{pattern[1:]})" if pattern.startswith("^") else pattern, re.MULTILINE)


def find_language(word: str) -> Language | None:
    """Find a language by a name that people, editors or kernels use: ``c++``, ``ts``, ``bash``, ``emacs-lisp``."""
    word = " ".join(word.lower().split()).removeprefix(".")
    name = word.replace("-", "_").replace(" ", "_")
    if name not in LANGUAGES:
        name = (
            _BY_ALIAS.get(word) or _BY_EXTENSION.get(f".{word}") or _BY_SHEBANG.get(word) or _BY_FILENAME.get(word)
            or _BY_GRAMMAR.get(word, "")
        )  # fmt: skip
    return LANGUAGES[name] if name else None


def _detect_by_name(filename: str) -> str | None:
    if (exact_name := _BY_FILENAME.get(filename)) is not None:
        return exact_name
    dot = filename.rfind(".")
    if dot < 0:
        return None
    extension = filename[dot:].lower()
    if extension in _TEMPLATE_EXTENSIONS and (inner_name := _detect_by_name(filename[:dot])) is not None:
        return inner_name
    return _BY_EXTENSION.get(extension)


def _detect_by_shebang(text: str) -> str | None:
    if not text.startswith("#!") or not (interpreter := _INTERPRETER.match(text)):
        return None
    name = (interpreter[1] or interpreter[2]).lower()
    return _BY_SHEBANG.get(name) or _BY_SHEBANG.get(name.rstrip("0123456789.-"), PLAIN_TEXT)


def _detect_by_modeline(text: str) -> str | None:
    """Return the language that an editor's modeline names, if it is supported."""
    head, tail = text[:_MODELINE_WINDOW_CHARS], text[-_MODELINE_WINDOW_CHARS:]
    match = "-*-" in head and _EMACS.search("\n".join(head.split("\n", 2)[:2]))
    match = match or (("ft=" in head or "filetype=" in head) and _VIM.search(head))
    match = match or (("ft=" in tail or "filetype=" in tail) and _VIM.search(tail))
    if not match:
        return None
    language = find_language(match[match.lastindex or 0])
    return language.name if language else None


def _detect_by_content(text: str) -> str:
    head = text[:_MODELINE_WINDOW_CHARS]
    for language in LANGUAGES.values():
        if language.content and _compile_pattern(language.content).match(head):
            return language.name
    return PLAIN_TEXT
