"""The words of a question, and how well a file or a piece of code has them: for a look at files that are not indexed.

Source of the formula: Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from coderag.text.tokenizer import content_words, expand, text_terms

_K1: Final = 1.2
_B: Final = 0.5  # of the length: long files are usual, and their best piece is what is shown
_SHORTEST_NEEDLE: Final = 3
_IN_NAME, _IN_FOLDER = 2.0, 1.0  # a word in a file's name or in a folder's counts like so many occurrences
_IN_DECLARED_NAME: Final = 4.0


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a question.

    Attributes:
        term: As the tokenizer has it.
        needle: What a file that has it must contain, in small letters; found without cutting the file into words.
    """

    term: str
    needle: bytes


def words_of(query: str) -> list[Word]:
    """Return the distinct words of a question; the short ones only if there are no others."""
    words: dict[str, Word] = {}
    for raw in content_words(query):
        for term in expand(raw):
            text = raw.lower() if term.startswith("=") else _beginning(term)
            words.setdefault(term, Word(term, text.encode("utf-8", "replace")))
    telling = [word for word in words.values() if len(word.needle) >= _SHORTEST_NEEDLE]
    return telling or list(words.values())


def _beginning(stem: str) -> str:
    """Return what all forms of a word begin with: ``retri`` is the stem of ``retry``."""
    return stem[:-1] if len(stem) > _SHORTEST_NEEDLE and stem.endswith("i") else stem


def path_counts(path: str, words: Sequence[Word]) -> list[float]:
    """Return for each word how much a file's place says about it."""
    folders, _, name = path.lower().encode("utf-8", "replace").rpartition(b"/")
    return [_IN_NAME * (word.needle in name) + _IN_FOLDER * (word.needle in folders) for word in words]


def content_counts(content: bytes, words: Sequence[Word]) -> list[int]:
    """Return for each word how often it occurs in a file."""
    small = content.lower()
    return [small.count(word.needle) for word in words]


def piece_counts(text: str, names: str, words: Sequence[Word]) -> list[float]:
    """Return for each word how often it occurs in a piece of code, and more if it is part of what that declares."""
    in_text, in_names = Counter(text_terms(text)), set(text_terms(names))
    return [in_text[word.term] + _IN_DECLARED_NAME * (word.term in in_names) for word in words]


def rarities(counts: Sequence[Sequence[float]], words: Sequence[Word]) -> list[float]:
    """Return for each word how much it tells, from how many of the files have it."""
    total = len(counts)
    having = [sum(row[position] > 0 for row in counts) for position in range(len(words))]
    return [math.log(1 + (total - number + 0.5) / (number + 0.5)) for number in having]


def score(counts: Sequence[float], rarity: Sequence[float], length: float) -> float:
    """Return how well something answers, by how often it has each word.

    Args:
        counts: Of each word.
        rarity: Of each word.
        length: Against the average.
    """
    norm = _K1 * (1 - _B + _B * length)
    parts = [weight * count * (_K1 + 1) / (count + norm) for count, weight in zip(counts, rarity, strict=True)]
    found = sum(weight for count, weight in zip(counts, rarity, strict=True) if count)
    coverage = found / (sum(rarity) or 1.0)
    return sum(parts) * (0.3 + 0.7 * coverage)


ROLE_FACTORS: Final[Mapping[str, float]] = {"source": 1.0, "vendored": 0.4, "generated": 0.4, "test": 0.7}
"""What a file is for weighs like that, and 0.8 for any other role: who asks mostly means the code itself."""

OTHER_ROLE: Final = 0.8
