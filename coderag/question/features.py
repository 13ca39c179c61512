"""Features of a question for the linear classifier: words, their sequences and parts, and the concepts of its cues."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Final

from coderag.question.cues import CueTable
from coderag.question.wording import Token

_GRAM_CHARS: Final = (4, 5)
_MIN_GRAM_WORD_CHARS: Final = 5
_MAX_SIGNS: Final = 4
_LENGTHS: Final = (0, 2, 5, 9)
_MAX_MASKS: Final = 3
N_SHAPE_FEATURES: Final = 3
"""Features that every question has, of its length, its masks and its question mark."""

_MAX_CONCEPTS: Final = 24
"""Concepts whose pairs count; a question with more tells a story around what it asks."""


def extract_features(tokens: Sequence[Token], cues: CueTable) -> set[str]:
    """Return the features of a question."""
    words = [word for token in tokens for word in _shorten(token)]
    features = {*_read_words(words), *_read_concepts(tokens, cues)}
    for token in tokens:
        if token.is_cjk:
            features.update(_read_signs(token.text))
        elif token.is_word and len(token.text) >= _MIN_GRAM_WORD_CHARS:
            features.update(_read_grams(token.text))
    masks = sum(token.is_mask for token in tokens)
    features.add(f"masks:{min(masks, _MAX_MASKS)}")
    features.add(f"length:{sum(len(tokens) - masks > length for length in _LENGTHS)}")
    features.add("asks" if "?" in words else "states")
    return features


def _shorten(token: Token) -> Iterator[str]:
    """Yield a token as a word of sequences: a long run of signs by its ends."""
    is_long = token.is_cjk and len(token.text) > _MAX_SIGNS
    yield f"{token.text[:2]}…{token.text[-2:]}" if is_long else token.text


def _read_words(words: Sequence[str]) -> Iterator[str]:
    """Yield words and their sequences of up to three, with gaps."""
    yield from words
    line = ["^", *words, "$"]
    for first, second in pairwise(line):
        yield f"{first} {second}"
    for first, second, third in zip(line, line[1:], line[2:], strict=False):
        yield f"{first} {second} {third}"
        yield f"{first} _ {third}"
    for first, fourth in zip(line, line[3:], strict=False):
        yield f"{first} _ _ {fourth}"
    if words:
        yield f"first:{words[0]}"
        yield f"last:{next((word for word in reversed(words) if word != '?'), '?')}"


def _read_signs(text: str) -> Iterator[str]:
    for length in range(1, _MAX_SIGNS + 1):
        for start in range(len(text) - length + 1):
            yield f"s:{text[start : start + length]}"


@lru_cache(4_096)
def _read_grams(word: str) -> tuple[str, ...]:
    """Return the parts of a word, by which a misspelt one is still recognised."""
    text = f"^{word}$"
    return tuple(
        f"g:{text[start : start + length]}" for length in _GRAM_CHARS for start in range(len(text) - length + 1)
    )


def _read_concepts(tokens: Sequence[Token], cues: CueTable) -> Iterator[str]:
    """Yield the concepts of a question, their pairs in any order, and what follows what."""
    sequence = [sorted(cue.concepts) for cue in cues.read(tokens) if cue.concepts and cue.concepts.isdisjoint(_SIGNS)]
    concepts = sorted({concept for group in sequence for concept in group})[:_MAX_CONCEPTS]
    yield from (f"C:{concept}" for concept in concepts)
    yield from (f"P:{first}+{second}" for first, second in combinations(concepts, 2))
    for group, following in pairwise(sequence):
        yield from (f"S:{first}>{second}" for first in group for second in following)
    for group, middle, following in zip(sequence, sequence[1:], sequence[2:], strict=False):
        yield from (f"T:{a}>{b}>{c}" for a in group for b in middle for c in following)
    yield from _read_sides(sequence)
    if sequence:
        yield from (f"A:{concept}" for concept in sequence[0])
        yield from (f"Z:{concept}" for concept in sequence[-1])


def _read_sides(sequence: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the concepts before the first mask and those behind it: "calls X" asks otherwise than "X calls"."""
    mask = next((at for at, group in enumerate(sequence) if group[0].startswith("<")), None)
    if mask is not None:
        yield from (f"B:{concept}" for group in sequence[:mask] for concept in group)
        yield from (f"F:{concept}" for group in sequence[mask + 1 :] for concept in group)


_SIGNS: Final = frozenset(",;!:&+|/=")
"""Signs that do not stand between concepts."""
