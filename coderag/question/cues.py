"""Cues: the words of a question that say what is asked, in eight languages, by their concepts."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Final, Literal, NamedTuple

from coderag.question.wording import Token

QUESTION_CONCEPTS: Final = frozenset(
    {
        "who",
        "what",
        "where",
        "when",
        "why",
        "how",
        "which",
        "howmany",
        "exist",
        "can",
        "should",
        "is",
        "do",
        "show",
        "find",
    }
)
"""Concepts of words that only ask."""

_MAX_PHRASE_WORDS: Final = 4
_MIN_MISSPELT_CHARS: Final = 5
_MEMO_CAPACITY: Final = 4_096  # words


class Cue(NamedTuple):
    """A part of a question with its concepts.

    Attributes:
        concepts: Empty for a word that asks nothing; a mask or a sign is its own concept.
        first, last: Positions of its first and last token.
    """

    concepts: frozenset[str]
    first: int
    last: int


Asking = Mapping[int, frozenset[str]]
"""Positions of the tokens that ask, with their concepts."""


def read_asking(cues: Sequence[Cue]) -> Asking:
    """Return the positions of the tokens that ask, with their concepts."""
    asking: dict[int, frozenset[str]] = {}
    for cue in cues:
        for position in range(cue.first, cue.last + 1) if cue.concepts else ():
            asking[position] = asking.get(position, frozenset()) | cue.concepts
    return asking


class CueTable:
    """Words and phrases with the concepts that they stand for.

    Args:
        lines: Lines ``concept: word beginn* phrase_of_words``; those that begin with ``#`` are comments.
        corrects: Whether an unknown word has the concepts of a known one that it misspells.
    """

    def __init__(self, lines: Sequence[str], *, corrects: bool = False) -> None:
        self._corrects = corrects
        self._words: dict[str, set[str]] = {}
        self._beginnings: dict[str, set[str]] = {}
        self._phrases: dict[tuple[str, ...], set[str]] = {}
        self._signs: dict[str, set[str]] = {}
        self._memo: dict[str, frozenset[str]] = {}
        for line in lines:
            concept, colon, words = line.partition(": ")
            if colon and not line.startswith("#"):
                for word in words.split():
                    self._add(concept, word.lower())
        self._max_signs = max(map(len, self._signs), default=0)
        self.concepts = frozenset(
            line.partition(": ")[0] for line in lines if ": " in line and not line.startswith("#")
        )

    def _add(self, concept: str, word: str) -> None:
        if Token(word, word, 0).is_cjk:
            self._signs.setdefault(word, set()).add(concept)
        elif "_" in word.strip("_"):
            self._phrases.setdefault(tuple(word.split("_")), set()).add(concept)
        elif word.endswith("*"):
            self._beginnings.setdefault(word[:-1], set()).add(concept)
        else:
            self._words.setdefault(word.strip("_"), set()).add(concept)

    def find_concepts(self, word: str) -> frozenset[str]:
        """Return the concepts of a word in lower case, by the whole of it and by its longest known beginning."""
        word = word.rstrip("'")
        concepts = self._memo.get(word)
        if concepts is None:
            beginnings = (self._beginnings.get(word[:length]) for length in range(len(word), 1, -1))
            concepts = frozenset(self._words.get(word, ())) | frozenset(next(filter(None, beginnings), ()))
            if not concepts and self._corrects and len(word) >= _MIN_MISSPELT_CHARS:
                concepts = self._correct(word)
            if len(self._memo) >= _MEMO_CAPACITY:
                self._memo.clear()
            self._memo[word] = concepts
        return concepts

    def _correct(self, word: str) -> frozenset[str]:
        """Return the concepts of a word of which two neighbouring letters changed places, or one is doubled."""
        swapped = (word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1))
        halved = (word[:at] + word[at + 1 :] for at in range(1, len(word)) if word[at] == word[at - 1])
        candidates = (other for other in (*swapped, *halved) if other != word)
        return next(filter(None, map(self._find_known, candidates)), frozenset())

    def _find_known(self, word: str) -> frozenset[str]:
        beginnings = (self._beginnings.get(word[:length]) for length in range(len(word), 3, -1))
        return frozenset(self._words.get(word, ())) | frozenset(next(filter(None, beginnings), ()))

    def read(self, tokens: Sequence[Token]) -> list[Cue]:
        """Return the parts of a question in their order, each with its concepts."""
        cues: list[Cue] = []
        position = 0
        while position < len(tokens):
            token = tokens[position]
            if token.is_cjk:
                cues += (Cue(concepts, position, position) for concepts in self._read_signs(token.text))
            elif token.is_word:
                length, concepts = self._read_phrase(tokens, position)
                cues.append(Cue(concepts, position, position + length - 1))
                position += length - 1
            else:
                cues.append(Cue(frozenset({token.text}), position, position))
            position += 1
        return cues

    def _read_phrase(self, tokens: Sequence[Token], position: int) -> tuple[int, frozenset[str]]:
        for length in range(_MAX_PHRASE_WORDS, 1, -1):
            words = tuple(token.text.rstrip("'") for token in tokens[position : position + length])
            if (concepts := self._phrases.get(words)) is not None:
                return length, frozenset(concepts).union(*map(self.find_concepts, words))
        return 1, self.find_concepts(tokens[position].text)

    def _read_signs(self, text: str) -> Iterator[frozenset[str]]:
        """Yield the concepts in a run of Chinese or Japanese signs."""
        position = 0
        while position < len(text):
            length, concepts = self.match_signs(text, position)
            if length:
                yield concepts
            position += max(1, length)

    def match_signs(self, text: str, position: int) -> tuple[int, frozenset[str]]:
        """Return the length and the concepts of the longest Chinese or Japanese cue at a position; 0 if none is there."""
        for length in range(min(self._max_signs, len(text) - position), 0, -1):
            if (concepts := self._signs.get(text[position : position + length])) is not None:
                return length, frozenset(concepts)
        return 0, frozenset()


@cache
def load_cues(name: Literal["cues", "aspects", "conversation", "history"] = "cues") -> CueTable:
    """Load a packaged table of cues, once per process."""
    return CueTable(_read_lines(f"{name}.txt"))


@cache
def load_wide_cues() -> CueTable:
    """Load the cues with words that ask less surely, which only the classifier reads, once per process."""
    return CueTable([*_read_lines("cues.txt"), *_read_lines("cue_hints.txt")], corrects=True)


def _read_lines(name: str) -> list[str]:
    return (resources.files("coderag.question") / name).read_text("utf-8").splitlines()
