"""Grep as a careful agent uses it: which files and lines match the words of a question, the most telling ones first.

The agent is given what a real one pays for or does not have: how rare each word is, and matches in the order of how many
rare words they have, where ripgrep gives them by file. So what is measured is rather better than what is practised.
"""

import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

from .words import MOST_WORDS, Word, words_of

_WIDEST: Final = 0.3  # a word in a larger share of all files tells nothing
_DEFINITION = re.compile(
    r"^\s*(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|override|open|pub(?:\(\w+\))?"
    r"|const|inline|virtual|unsafe|extern|sealed|data|template\s*<.*>)\s+)*"
    r"(?:def|class|function|func|fun|fn|interface|struct|enum|trait|type|impl|module|object|protocol|extension|namespace"
    r"|macro_rules!|#\s*define|let|var|const|val|typedef|union|record|sub|defmodule|defp|message|service|resource|#+)\W"
)
_TESTS = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testing)/|(?:^|/)test_|[._-](?:test|spec)s?\.|Tests?\.\w+$|Spec\.\w+$"
)
_NEWLINE = re.compile("\n")
_DEFINED = 1.5  # a definition-looking line counts that much more
_TEST_FILE = 0.5  # and a test that much less, unless the question is about tests


class Files(Protocol):
    """What is searched and read."""

    @property
    def languages(self) -> Mapping[str, str]:
        """The paths of all files, each with its language."""
        ...

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file."""
        ...


@dataclass(frozen=True, slots=True)
class Match:
    """A line with a word.

    Attributes:
        number: 1-based.
        score: How telling it is within its file.
    """

    number: int
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class FileMatches:
    """A file with words of a question.

    Attributes:
        score: The rarer its words, and the more of them, the higher.
        matches: The most telling lines first; none if only the path matches.
    """

    path: str
    score: float
    matches: Sequence[Match]


class Grep:
    """Searches files: of a repository those that are indexed, so that what is ignored is left out."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._last: tuple[str, Sequence[FileMatches]] | None = None

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        """The files in lower case, which keeps the ends of lines where they are."""
        return {path: "\n".join(self._files.lines(path)).lower() for path in sorted(self._files.languages)}

    def __call__(self, question: str) -> Sequence[FileMatches]:
        """Return the files with words of a question, best first. The last question's are kept, as several agents ask it."""
        if self._last is None or self._last[0] != question:
            self._last = question, self._found(question)
        return self._last[1]

    def _found(self, question: str) -> list[FileMatches]:
        weights = self._weights(words_of(question))
        about_tests = "test" in question.lower()
        found = [one for path in self._texts if (one := self._matches(path, weights, about_tests=about_tests))]
        return sorted(found, key=lambda one: (-one.score, one.path))

    def _weights(self, words: Sequence[Word]) -> dict[str, float]:
        """Return the words to grep for, each with how telling it is: identifiers first, then the rarest."""
        total = len(self._texts)
        shares = {word: sum(word.text in text for text in self._texts.values()) / total for word in words}
        known = [word for word in words if shares[word]]
        telling = [word for word in known if word.is_identifier or shares[word] <= _WIDEST] or known
        chosen = sorted(telling, key=lambda word: (not word.is_identifier, shares[word]))[:MOST_WORDS]
        return {word.text: math.log(1 + 1 / shares[word]) for word in chosen}

    def _matches(self, path: str, weights: Mapping[str, float], *, about_tests: bool) -> FileMatches | None:
        text, place = self._texts[path], path.lower()
        inside = {word: weight for word, weight in weights.items() if word in text}
        score = sum(inside.values()) + sum(weight for word, weight in weights.items() if word in place)
        if not score:
            return None
        if not about_tests and _TESTS.search(path):
            score *= _TEST_FILE
        matches = self._lines(path, text, inside) if inside else []
        return FileMatches(path, score, sorted(matches, key=lambda match: (-match.score, match.number)))

    def _lines(self, path: str, text: str, weights: Mapping[str, float]) -> Iterator[Match]:
        written = self._files.lines(path)
        for row, score in _scores(text, weights).items():
            defined = _DEFINITION.match(written[row])
            yield Match(row + 1, score * (_DEFINED if defined else 1.0))


def _scores(text: str, weights: Mapping[str, float]) -> dict[int, float]:
    """Return the sum of the weights of the words in each line that has one, by its number from 0."""
    starts = [0, *(match.end() for match in _NEWLINE.finditer(text)), len(text) + 1]
    scores: dict[int, float] = defaultdict(float)
    for word, weight in weights.items():
        place = text.find(word)
        while place >= 0:
            row = bisect_right(starts, place) - 1
            scores[row] += weight
            place = text.find(word, starts[row + 1])
    return scores
