"""Literals of a question: names and texts that it gives as they are written, in any spelling convention.

A literal is told from a word by its signs, digits or capitals: ``requires-python``, ``--dry-run``, ``X-Request-Id``, ``>>=``.
"""

import re
from typing import Final

_SIGNS: Final = r"\-._/:@#$+~%*"
_COMPOUND: Final = re.compile(
    rf"(?:[{_SIGNS}]*\w+(?:[{_SIGNS}]+\w+)+|(?:--?|[.@#$:~])\w*[^\W\d]\w*|\w*[^\W\d]\w*[+#*]+)[!?]?"
)
"""Words joined by signs, or one word behind the sign of an option, a class, a decorator or a variable."""

_HYPHENATED: Final = re.compile(r"[a-z]+(?:-[a-z]+)+")
_QUOTED: Final = re.compile(r"`([^`\n]{1,200})`|\"([^\"\n]{2,200})\"|(?<!\w)'([^'\n]{2,200})'(?!\w)")
_OPENING, _CLOSING = "([{<\"'`", ")]}>\"'`,;:.!?"
_ABBREVIATIONS: Final = frozenset({"e.g", "i.e", "a.k.a", "and/or"})
_MIN_SIGNS: Final = 2  # a single sign is in every file
_MAX_LITERALS: Final = 4
_MAX_LITERAL_CHARS: Final = 200


def parse_literal_query(query: str) -> str:
    """Return the literal that a query consists of: one word, one quoted text or signs; empty if it is a question."""
    text = query.strip()
    if quoted := _QUOTED.fullmatch(text):
        text = (quoted[1] or quoted[2] or quoted[3]).strip()
    elif len(text.split()) > 1 and re.search(r"\w", text):
        return ""
    text = text if len(text) == len("()") else text.removesuffix("()")
    has_word = re.search(r"\w", text) is not None
    return text if len(text) <= _MAX_LITERAL_CHARS and (has_word or len(text) >= _MIN_SIGNS) else ""


def find_literals(query: str) -> list[str]:
    """Return the literals in a question, in their order: quoted texts, and words with signs."""
    quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(query)]
    bare = _QUOTED.sub(" ", query)
    words = [_trim_punctuation(word) for word in bare.split()]
    compounds = [word for word in words if _is_literal_word(word)]
    return list(dict.fromkeys(text.strip() for text in (*quoted, *compounds) if text.strip()))[:_MAX_LITERALS]


def is_plain_word(literal: str) -> bool:
    """Return whether a literal is a word as in prose, which says little about how it is written."""
    return literal.isalpha() and literal.islower()


def is_hyphenated_word(literal: str) -> bool:
    """Return whether a literal is words joined by hyphens, as in prose or in a key: "read-only"."""
    return _HYPHENATED.fullmatch(literal) is not None


def _is_literal_word(word: str) -> bool:
    if len(word) > _MAX_LITERAL_CHARS or word.lower() in _ABBREVIATIONS:
        return False
    return _COMPOUND.fullmatch(word) is not None and re.search(r"[^\W\d]", word) is not None


def _trim_punctuation(word: str) -> str:
    """Remove the punctuation of the sentence around a word, and the possessive."""
    trimmed = word.lstrip(_OPENING).rstrip(_CLOSING)
    return re.sub(r"['’]s$", "", trimmed).removesuffix("()")
