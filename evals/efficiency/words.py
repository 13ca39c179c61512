"""What an agent greps for: the words of a question, identifiers first, as pieces of text that match in any case."""

import re
from itertools import takewhile
from typing import Final, NamedTuple

from coderag.text.tokenizer import STOP_WORDS, stem

MOST_WORDS: Final = 8
_SHORTEST = 3
_QUOTED = re.compile(r"[`\"']([^`\"'\n]{3,60})[`\"']")
_RAW = re.compile(r"[^\W\d][\w$]*(?:(?:::|->|[./#])[^\W\d][\w$]*)*")
_JOINT = re.compile(r"::|->|[./#]")
_MIXED_CASE = re.compile(r"[a-z][A-Z]|[A-Z][a-z]+[A-Z]")
_ALL_CAPITALS = re.compile(r"[A-Z][A-Z\d]{2,}")


class Word(NamedTuple):
    """Something to grep for.

    Attributes:
        text: Lower-case; matches where it stands anywhere in a line.
        is_identifier: Whether it is written like a name in code, or quoted.
    """

    text: str
    is_identifier: bool


def words_of(question: str) -> list[Word]:
    """Return what to grep for, identifiers and quotations first, each in the order of the question.

    A word of prose is cut where its forms differ (``retries`` to ``retr``, so that it finds ``retry``).
    """
    found: dict[str, bool] = {}
    for phrase in _QUOTED.findall(question):
        found[phrase.strip().lower()] = True
    for raw in _RAW.findall(question):
        named = bool(_JOINT.search(raw)) or _is_name(raw)
        parts = [part for part in _JOINT.split(raw) if len(part) >= _SHORTEST]
        for part in parts:
            if part.lower() in STOP_WORDS and not named:
                continue
            text = part.lower() if named else _root(part.lower())
            found[text] = found.get(text, False) or named
    words = [Word(text, named) for text, named in found.items()]
    return sorted(words, key=lambda word: not word.is_identifier)


def _is_name(raw: str) -> bool:
    return "_" in raw or bool(_MIXED_CASE.search(raw) or _ALL_CAPITALS.fullmatch(raw))


def _root(word: str) -> str:
    """Return the beginning that a word and its stem share, or the word where too little would be left."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(word, stem(word), strict=False))
    shared = "".join(letter for letter, _ in pairs).removesuffix("i")  # the stem of what ends in "y"
    return shared if len(shared) > _SHORTEST else word
