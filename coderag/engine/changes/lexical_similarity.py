"""Lexical similarity of a change and the tests: rare words that both have.

Source: Peng, Shi, Zhang: Empirically revisiting and enhancing IR-based test-case prioritization, ISSTA 2020.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import Final

_WORD: Final = re.compile(r"[A-Za-z_]\w{2,}")
_BOUNDARY: Final = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])")
_MIN_PART_CHARS: Final = 3
_MAX_SHARE: Final = 0.25  # share of the tests above which a word says nothing
_K1: Final = 1.2
_MAX_WORDS: Final = 400


def compare_with_tests(changed_lines: Sequence[str], texts: Mapping[int, str]) -> dict[int, float]:
    """Return the similarity of each test to a change, relative to the most similar one: 0 to 1.

    Args:
        changed_lines: Added and removed lines of source code.
        texts: Text of each test.
    """
    query = Counter(word for line in changed_lines for word in _split(line))
    query_words = frozenset(word for word, _ in query.most_common(_MAX_WORDS))
    words_by_test = {
        node: Counter(word for word in _split(text) if word in query_words) for node, text in texts.items()
    }
    frequencies = Counter(word for words in words_by_test.values() for word in words)
    idf = {
        word: log(1 + len(texts) / frequencies[word])
        for word in query_words
        if 0 < frequencies[word] <= max(1, _MAX_SHARE * len(texts))
    }
    scores = {node: _score(words, idf) for node, words in words_by_test.items()}
    best = max(scores.values(), default=0.0)
    return {node: score / best for node, score in scores.items() if score > 0}


def _score(words: Counter[str], idf: Mapping[str, float]) -> float:
    """Return the BM25 score without the normalisation of length."""
    return sum(weight * words[word] * (_K1 + 1) / (words[word] + _K1) for word, weight in idf.items() if word in words)


def _split(text: str) -> Iterator[str]:
    """Yield the words of a text, with the parts of composed names."""
    for word in _WORD.findall(text):
        yield from _list_forms(word)


@lru_cache(1 << 16)
def _list_forms(word: str) -> Sequence[str]:
    parts = [part.lower() for part in _BOUNDARY.split(word) if len(part) >= _MIN_PART_CHARS]
    return (word.lower(), *parts) if len(parts) > 1 else (word.lower(),)
