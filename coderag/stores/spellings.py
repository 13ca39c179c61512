"""Find words that are nearly a given one: misspelt, cut off or abbreviated. All through indexes, made when first asked for."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import cached_property
from itertools import islice, takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SIMILAR = 0.8
"""Share of letters that two spellings of one word have in common, in order, at least; `difflib`'s ratio."""

_COMPARED = 60  # words letter by letter: those that share most pairs of letters
_SHARED = 0.2  # of their pairs of letters, at least: four changes spread over a word of ten leave 0.27
_SHORTEST = 4  # letters that a shorter form has at least: most names begin with some two letters or have them in order
_LONGEST = 4  # times as long as its shorter form is a word at most
_COMPLETED, _ABBREVIATED = 0.75, 0.6  # quality of a longer word, less the more is missing
_N_PAIRS = 1 << 16


class Spelling(NamedTuple):
    """A word near to another one; ``quality`` is 0 to 1, that of the same word."""

    word: str
    quality: float


class Spellings:
    """The distinct words of an index.

    Args:
        words: The words, in any order.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted({word for word in words if "\0" not in word})

    def similar(self, word: str) -> list[Spelling]:
        """Return the words that differ in a few letters, the nearest first."""
        if not word or not self._words:
            return []
        owners, starts = self._pairs
        found = np.concatenate([owners[starts[pair] : starts[pair + 1]] for pair in _letter_pairs([word])[0].tolist()])
        shared = 2 * np.bincount(found, minlength=len(self._words)) / (self._lengths + len(word) + 2)
        near = np.flatnonzero(shared >= _SHARED)
        near = near[np.argsort(-shared[near], kind="stable")[:_COMPARED]]
        matcher = SequenceMatcher(b=word)
        spellings = []
        for other in near.tolist():
            matcher.set_seq1(self._words[other])
            if (ratio := matcher.ratio()) >= SIMILAR:
                spellings.append(Spelling(self._words[other], ratio))
        return sorted(spellings, key=lambda one: (one.quality, one.word), reverse=True)

    def longer(self, word: str) -> list[Spelling]:
        """Return the words that begin with a word, or have its letters in order (``usrrepo``: ``userrepository``)."""
        if len(word) < _SHORTEST:
            return []
        first = bisect_left(self._words, word)
        begun = takewhile(lambda other: other.startswith(word), islice(self._words, first, None))
        qualities = {other: _COMPLETED for other in begun if len(other) > len(word)}
        start = bisect_left(self._words, word[0])
        end = bisect_right(self._words, word[0], key=lambda other: other[:1])
        letters = _letter_sets([word])[0]
        for place in np.flatnonzero(self._letters[start:end] & letters == letters).tolist():
            other = self._words[start + place]
            if other not in qualities and len(word) < len(other) <= _LONGEST * len(word) and _in_order(word, other):
                qualities[other] = _ABBREVIATED
        spellings = [Spelling(other, kind * len(word) / len(other)) for other, kind in qualities.items()]
        return sorted(spellings, key=lambda one: (-one.quality, one.word))

    @cached_property
    def _lengths(self) -> NDArray[np.int64]:
        return np.fromiter(map(len, self._words), np.int64, len(self._words))

    @cached_property
    def _letters(self) -> NDArray[np.uint64]:
        return _letter_sets(self._words)

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The words with each pair of letters, pair by pair, and where those of each pair begin."""
        pairs, owners = _letter_pairs(self._words)
        starts = np.concatenate([[0], np.cumsum(np.bincount(pairs, minlength=_N_PAIRS))])
        return owners[np.argsort(pairs, kind="stable")], starts


def _letter_pairs(words: list[str]) -> tuple[NDArray[np.uint16], NDArray[np.int32]]:
    """Return the pairs of neighbouring letters, those at both ends included, and the word of each.

    A letter counts by its last eight bits: pairs only choose what is compared, and 16 bits are sorted by radix.
    """
    signs = _code_points("\0" + "\0".join(words) + "\0")
    low = (signs & 0xFF).astype(np.uint16)
    pairs: NDArray[np.uint16] = (low[:-1] << np.uint16(8)) | low[1:]
    owners: NDArray[np.int32] = np.cumsum(signs == 0, dtype=np.int32) - 1
    return pairs, owners[:-1]


def _letter_sets(words: list[str]) -> NDArray[np.uint64]:
    """Return the letters of each word as 64 bits."""
    signs = _code_points("\0".join(words) + "\0")
    ends = np.flatnonzero(signs == 0)
    bits = np.left_shift(np.uint64(1), (signs & 63).astype(np.uint64))
    bits[ends] = 0
    sets: NDArray[np.uint64] = np.bitwise_or.reduceat(bits, np.concatenate([[0], ends[:-1] + 1]))
    return sets


def _code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _in_order(letters: str, word: str) -> bool:
    """Whether a word has some letters in their order."""
    rest = iter(word)
    return all(letter in rest for letter in letters)
