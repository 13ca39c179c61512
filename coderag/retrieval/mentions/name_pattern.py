"""Pattern of a name as a whole word, in any language."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import regex  # type: ignore[import-untyped]

_KEBAB_LANGUAGES: Final = frozenset(
    {"clojure", "commonlisp", "scheme", "racket", "emacs_lisp", "css", "scss", "less", "nix"}
)
"""Languages with ``-`` in names."""

_PREDICATE_LANGUAGES: Final = frozenset({"ruby", "elixir", "crystal", "julia"})
"""Languages with names that end in ``?`` or ``!``."""

_PRIMED_LANGUAGES: Final = frozenset({"haskell", "ocaml", "ocaml_interface", "fsharp", "elm", "purescript"})
"""Languages with names that end in ``'``."""

_INNER_SIGNS: Final = "-$'"
"""Signs that belong to a name where the name itself has them."""


@dataclass(frozen=True, slots=True)
class NamePattern:
    """Spellings of a name, matched as whole words.

    Attributes:
        words: The spellings; none is empty.
        ignores_case: Whether case is ignored.
        is_kebab: Whether ``-`` continues a name in files of every language, as in classes of style sheets.
    """

    words: tuple[str, ...]
    ignores_case: bool = False
    is_kebab: bool = False

    def find_spans(self, text: str, language: str) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each occurrence in a text of some language."""
        if not self.ignores_case and not any(word in text for word in self.spellings):
            return
        for match in _compile(self.words, self.ignores_case).finditer(text):
            start, end = match.span()
            if not self._is_continued(text, start, end, language):
                yield start, end

    @property
    def spellings(self) -> Sequence[str]:
        """The words with accents composed and decomposed."""
        return _list_spellings(self.words)

    def _is_continued(self, text: str, start: int, end: int, language: str) -> bool:
        """Return whether the signs around an occurrence make it a part of a longer name."""
        before, after, following = text[max(start - 1, 0) : start], text[end : end + 1], text[end + 1 : end + 2]
        is_kebab = self.is_kebab or language in _KEBAB_LANGUAGES
        if is_kebab and (before == "-" or (after == "-" and following != ">")):
            return True
        if not after or text[end - 1] in "?!'":
            return False
        if after in "?!":
            return following != "=" and language in _PREDICATE_LANGUAGES
        return after == "'" and language in _PRIMED_LANGUAGES


@lru_cache(256)
def _compile(words: tuple[str, ...], ignores_case: bool) -> "regex.Pattern[str]":  # a cached key
    alternatives = "|".join(map(_compose_word, sorted(_list_spellings(words), key=len, reverse=True)))
    return regex.compile(alternatives, regex.VERSION0 | (regex.IGNORECASE if ignores_case else 0))


def _compose_word(word: str) -> str:
    """Return the pattern of a word that no longer name contains."""
    signs = "".join(sign for sign in _INNER_SIGNS if sign in word)
    inner = rf"[\w\p{{M}}{regex.escape(signs)}]"
    before = rf"(?<!{inner})" if _is_inner(word[0], signs) else ""
    after = rf"(?!{inner})" if _is_inner(word[-1], signs) else ""
    return f"{before}{regex.escape(word)}{after}"


def _is_inner(sign: str, signs: str) -> bool:
    return sign.isalnum() or sign == "_" or sign in signs or unicodedata.category(sign).startswith("M")


@lru_cache(256)
def _list_spellings(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            form for word in words for form in (word, *(unicodedata.normalize(to, word) for to in ("NFC", "NFD")))
        )
    )
