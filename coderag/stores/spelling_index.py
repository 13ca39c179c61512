"""Find words that are nearly a given one: misspelt, cut off or abbreviated. All through indexes, made when first asked for."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import cached_property
from itertools import islice, takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MIN_SIMILARITY = 0.8
"""Share of letters that two spellings of one word have in common, in order, at least; `difflib`'s ratio."""

_MAX_COMPARED_WORDS = 60  # words letter by letter: those that share most pairs of letters
_MIN_SHARED_PAIRS = 0.2  # of their pairs of letters, at least: four changes spread over a word of ten leave 0.27
_MIN_ABBREVIATION_CHARS = (
    4  # letters that a shorter form has at least: most names begin with some two letters or have them in order
)
_MAX_EXPANSION_FACTOR = 4  # times as long as its shorter form is a word at most
_COMPLETION_QUALITY, _ABBREVIATION_QUALITY = 0.75, 0.6  # quality of a longer word, less the more is missing
_PAIR_COUNT = 1 << 16


class Spelling(NamedTuple):
    """A word near to another one; ``quality`` is 0 to 1, that of the same word."""

    word: str
    quality: float


class SpellingIndex:
    """The distinct words of an index.

    Args:
        words: The words, in any order.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted({word for word in words if "\0" not in word})

    def find_similar(self, word: str) -> list[Spelling]:
        """Return the words that differ in a few letters, the nearest first."""
        if not word or not self._words:
            return []
        owners, starts = self._pairs
        matching_owners = np.concatenate(
            [owners[starts[pair] : starts[pair + 1]] for pair in _split_letter_pairs([word])[0].tolist()]
        )
        shared = 2 * np.bincount(matching_owners, minlength=len(self._words)) / (self._lengths + len(word) + 2)
        candidates = np.flatnonzero(shared >= _MIN_SHARED_PAIRS)
        candidates = candidates[np.argsort(-shared[candidates], kind="stable")[:_MAX_COMPARED_WORDS]]
        matcher = SequenceMatcher(b=word)
        spellings = []
        for position in candidates.tolist():
            matcher.set_seq1(self._words[position])
            if (ratio := matcher.ratio()) >= MIN_SIMILARITY:
                spellings.append(Spelling(self._words[position], ratio))
        return sorted(spellings, key=lambda spelling: (spelling.quality, spelling.word), reverse=True)

    def find_expansions(self, word: str) -> list[Spelling]:
        """Return the words that begin with a word, or have its letters in order (``usrrepo``: ``userrepository``)."""
        if len(word) < _MIN_ABBREVIATION_CHARS:
            return []
        first = bisect_left(self._words, word)
        completions = takewhile(lambda candidate: candidate.startswith(word), islice(self._words, first, None))
        qualities = {candidate: _COMPLETION_QUALITY for candidate in completions if len(candidate) > len(word)}
        start = bisect_left(self._words, word[0])
        end = bisect_right(self._words, word[0], key=lambda candidate: candidate[:1])
        letters = _compute_letter_sets([word])[0]
        for offset in np.flatnonzero(self._word_letters[start:end] & letters == letters).tolist():
            candidate = self._words[start + offset]
            if (
                candidate not in qualities
                and len(word) < len(candidate) <= _MAX_EXPANSION_FACTOR * len(word)
                and _is_subsequence(word, candidate)
            ):
                qualities[candidate] = _ABBREVIATION_QUALITY
        spellings = [
            Spelling(candidate, base_quality * len(word) / len(candidate))
            for candidate, base_quality in qualities.items()
        ]
        return sorted(spellings, key=lambda spelling: (-spelling.quality, spelling.word))

    @cached_property
    def _lengths(self) -> NDArray[np.int64]:
        return np.fromiter(map(len, self._words), np.int64, len(self._words))

    @cached_property
    def _word_letters(self) -> NDArray[np.uint64]:
        return _compute_letter_sets(self._words)

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The words with each pair of letters, pair by pair, and where those of each pair begin."""
        pairs, owners = _split_letter_pairs(self._words)
        starts = np.concatenate([[0], np.cumsum(np.bincount(pairs, minlength=_PAIR_COUNT))])
        return owners[np.argsort(pairs, kind="stable")], starts


def _split_letter_pairs(words: list[str]) -> tuple[NDArray[np.uint16], NDArray[np.int32]]:
    """Return the pairs of neighbouring letters, those at both ends included, and the word of each.

    A letter counts by its last eight bits: pairs only choose what is compared, and 16 bits are sorted by radix.
    """
    code_points = _to_code_points("\0" + "\0".join(words) + "\0")
    low = (code_points & 0xFF).astype(np.uint16)
    pairs: NDArray[np.uint16] = (low[:-1] << np.uint16(8)) | low[1:]
    owners: NDArray[np.int32] = np.cumsum(code_points == 0, dtype=np.int32) - 1
    return pairs, owners[:-1]


def _compute_letter_sets(words: list[str]) -> NDArray[np.uint64]:
    """Return the letters of each word as 64 bits."""
    code_points = _to_code_points("\0".join(words) + "\0")
    ends = np.flatnonzero(code_points == 0)
    bits = np.left_shift(np.uint64(1), (code_points & 63).astype(np.uint64))
    bits[ends] = 0
    sets: NDArray[np.uint64] = np.bitwise_or.reduceat(bits, np.concatenate([[0], ends[:-1] + 1]))
    return sets


def _to_code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _is_subsequence(letters: str, word: str) -> bool:
    """Whether a word has some letters in their order."""
    remaining = iter(word)
    return all(letter in remaining for letter in letters)
