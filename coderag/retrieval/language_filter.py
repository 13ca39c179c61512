"""Filter by language: usual names, families of languages, and files that embed code of a language.

``typescript`` includes TSX, and ``python`` the notebooks with Python cells; a component of Vue, Svelte or Astro counts for the
language of its scripts as well. A narrow name such as ``tsx`` or ``vue`` stays narrow.
"""

import re
from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from coderag.ingestion.parsing.languages import LANGUAGES, find_language
from coderag.retrieval.unmatched_filters import build_absent_error
from coderag.text.notebooks import CELL_MARKER

CONTAINER_LANGUAGES: Final = frozenset(
    name for name, language in LANGUAGES.items() if (language.scripts and language.grammar == name) or language.cells
)
"""Languages whose files consist of code in other languages: components and notebooks."""

_HEADER_SUFFIX: Final = ".h"
_SCRIPT: Final = re.compile(r"<script\b([^>]*)>", re.IGNORECASE)
_SCRIPT_LANGUAGE: Final = re.compile(r"\b(?:lang|type)\s*=\s*[\"']?(?:(?:text|application)/)?([\w+#-]+)", re.IGNORECASE)
_CELL: Final = re.compile(rf"^{CELL_MARKER}(?: \[([\w+#-]+)\])?\r?$", re.MULTILINE)
_PLAIN_TYPES: Final = frozenset({"module", "text"})
_NON_CODE_CELLS: Final = frozenset({"markdown", "raw"})


@dataclass(frozen=True, slots=True)
class LanguageFilter:
    """Languages that a caller asks for.

    Attributes:
        names: Languages of whole files.
        header_names: Languages of which the headers count.
    """

    names: frozenset[str]
    header_names: frozenset[str]

    def is_matching(self, path: str, language: str) -> bool:
        """Return whether a file is in one of the languages by its name alone."""
        return language in self.names or (language in self.header_names and path.endswith(_HEADER_SUFFIX))


def select_languages(
    wanted: Sequence[str], present: Set[str], list_embedded: Callable[[], Collection[str]]
) -> LanguageFilter:
    """Return the filter for some names of languages.

    Args:
        wanted: Names as people use them, in any case: ``c#``, ``ts``, ``python``.
        present: Languages of the indexed files.
        list_embedded: Returns the languages embedded in components and notebooks; called for an absent language only.

    Raises:
        InvalidQueryError: Nothing in the index has one of the languages.
    """
    names: set[str] = set()
    headers: set[str] = set()
    for word in wanted:
        chosen = _resolve_language(word)
        if not (chosen.names & present or chosen.header_names & present or chosen.names & set(list_embedded())):
            raise build_absent_error("language", word, present, () if chosen.names else _list_usual_names())
        names |= chosen.names
        headers |= chosen.header_names
    return LanguageFilter(frozenset(names), frozenset(headers))


@lru_cache(64)
def _resolve_language(word: str) -> LanguageFilter:
    """Return the languages that a name stands for; none for an unknown name."""
    language = find_language(word) if word.strip() else None
    if language is None:
        return LanguageFilter(frozenset(), frozenset())
    return LanguageFilter(frozenset((language.name, *language.family)), frozenset(language.headers))


def find_embedded_languages(language: str, text: str) -> frozenset[str]:
    """Find the languages of the scripts in a component, or of the code cells in a notebook."""
    row = LANGUAGES[language]
    if row.cells:
        kinds = {match[1] or row.cells for match in _CELL.finditer(text)} - _NON_CODE_CELLS
    else:
        scripts = [_SCRIPT_LANGUAGE.search(match[1]) for match in _SCRIPT.finditer(text)]
        kinds = {script[1] if script and script[1] not in _PLAIN_TYPES else row.scripts for script in scripts}
        if row.front_matter and text.startswith("---"):
            kinds.add(row.front_matter)
    return frozenset(embedded.name for kind in kinds if (embedded := find_language(kind)))


@lru_cache(1)
def _list_usual_names() -> frozenset[str]:
    return frozenset(name for language in LANGUAGES.values() for name in (language.name, *language.aliases))
