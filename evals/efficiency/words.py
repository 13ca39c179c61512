"""Grep words of a question: identifiers first, as lower-case substrings."""

import re
from itertools import takewhile
from typing import Final, NamedTuple

from coderag.text.tokenizer import STOP_WORDS, stem

MAX_WORDS: Final = 8
_MIN_WORD_CHARS = 3
_QUOTED = re.compile(r"[`\"']([^`\"'\n]{3,60})[`\"']")
_RAW = re.compile(r"[^\W\d][\w$]*(?:(?:::|->|[./#])[^\W\d][\w$]*)*")
_JOINT = re.compile(r"::|->|[./#]")
_MIXED_CASE = re.compile(r"[a-z][A-Z]|[A-Z][a-z]+[A-Z]")
_ALL_CAPITALS = re.compile(r"[A-Z][A-Z\d]{2,}")


class GrepWord(NamedTuple):
    """Word to grep for.

    Attributes:
        text: Lower-case substring to match anywhere in a line.
        is_identifier: Whether it is written like a name in code, or quoted.
    """

    text: str
    is_identifier: bool


def extract_words(question: str) -> list[GrepWord]:
    """Extract the words to grep for: identifiers and quotations first, each in order of the question.

    A word of prose is cut where its forms differ: ``retries`` to ``retr``, which also matches ``retry``.
    """
    texts: dict[str, bool] = {}
    for phrase in _QUOTED.findall(question):
        texts[phrase.strip().lower()] = True
    for raw in _RAW.findall(question):
        named = bool(_JOINT.search(raw)) or _is_name(raw)
        parts = [part for part in _JOINT.split(raw) if len(part) >= _MIN_WORD_CHARS]
        for part in parts:
            if part.lower() in STOP_WORDS and not named:
                continue
            text = part.lower() if named else _find_root(part.lower())
            texts[text] = texts.get(text, False) or named
    words = [GrepWord(text, named) for text, named in texts.items()]
    return sorted(words, key=lambda word: not word.is_identifier)


def _is_name(raw: str) -> bool:
    return "_" in raw or bool(_MIXED_CASE.search(raw) or _ALL_CAPITALS.fullmatch(raw))


def _find_root(word: str) -> str:
    """Return the common prefix of a word and its stem, or the word if that is too short."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(word, stem(word), strict=False))
    shared = "".join(letter for letter, _ in pairs).removesuffix("i")  # the stem of a word in "y" ends in "i"
    return shared if len(shared) > _MIN_WORD_CHARS else word
