"""Index of words, to find near spellings: misspelt, truncated or abbreviated. Its parts are built lazily."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import cached_property
from itertools import islice, takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MIN_SIMILARITY = 0.8
"""Minimum share of common letters, in order, of two spellings of a word; `difflib`'s ratio."""

_MAX_COMPARED_WORDS = 60  # words compared by letters, those with the most shared pairs first
_MIN_SHARED_PAIRS = 0.2  # of letter pairs: four changes in a word of ten letters leave 0.27
_MIN_ABBREVIATION_CHARS = 4  # shorter ones would match most names
_MAX_EXPANSION_FACTOR = 4  # length of a word relative to its short form
_COMPLETION_QUALITY, _ABBREVIATION_QUALITY = 0.75, 0.6  # scaled down by the share of missing letters
_PAIR_COUNT = 1 << 16


class Spelling(NamedTuple):
    """A similar word; ``quality`` is 0 to 1, 1 for the same word."""

    word: str
    quality: float


class SpellingIndex:
    """Index of distinct words.

    Args:
        words: The words, in any order.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted({word for word in words if "\0" not in word})

    def find_similar(self, word: str) -> list[Spelling]:
        """Find the words that differ in a few letters, the most similar first."""
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
        """Find the words that start with a word or contain its letters in order (``usrrepo``: ``userrepository``)."""
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
        """Word positions of each letter pair, pair by pair, and the start of each pair's run."""
        pairs, owners = _split_letter_pairs(self._words)
        starts = np.concatenate([[0], np.cumsum(np.bincount(pairs, minlength=_PAIR_COUNT))])
        return owners[np.argsort(pairs, kind="stable")], starts


def _split_letter_pairs(words: list[str]) -> tuple[NDArray[np.uint16], NDArray[np.int32]]:
    """Return the pairs of adjacent letters, including those at both ends, and the word of each.

    Only the last eight bits of a letter count: pairs only preselect candidates, and 16-bit keys allow a radix sort.
    """
    code_points = _to_code_points("\0" + "\0".join(words) + "\0")
    low = (code_points & 0xFF).astype(np.uint16)
    pairs: NDArray[np.uint16] = (low[:-1] << np.uint16(8)) | low[1:]
    owners: NDArray[np.int32] = np.cumsum(code_points == 0, dtype=np.int32) - 1
    return pairs, owners[:-1]


def _compute_letter_sets(words: list[str]) -> NDArray[np.uint64]:
    """Compute the letter set of each word as 64 bits."""
    code_points = _to_code_points("\0".join(words) + "\0")
    ends = np.flatnonzero(code_points == 0)
    bits = np.left_shift(np.uint64(1), (code_points & 63).astype(np.uint64))
    bits[ends] = 0
    sets: NDArray[np.uint64] = np.bitwise_or.reduceat(bits, np.concatenate([[0], ends[:-1] + 1]))
    return sets


def _to_code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _is_subsequence(letters: str, word: str) -> bool:
    """Return whether a word contains letters in their order."""
    remaining = iter(word)
    return all(letter in remaining for letter in letters)
