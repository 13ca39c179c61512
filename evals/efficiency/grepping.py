"""Grep by a careful agent: files and lines that match the words of a question, ranked by rarity of their words.

The agent gets for free what a real one pays for or lacks: the rarity of each word, and matches ranked by rare words, where
ripgrep groups them by file. So these figures are an upper bound for real agents.
"""

import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

from .words import MAX_WORDS, GrepWord, extract_words

_MAX_WORD_SHARE: Final = 0.3  # words in a larger share of files do not discriminate
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
_DEFINITION_FACTOR = 1.5  # factor for lines that look like a definition
_TEST_FACTOR = 0.5  # factor for test files, unless the question is about tests


class Files(Protocol):
    """Files to search and read."""

    @property
    def languages(self) -> Mapping[str, str]:
        """Language of each file by path."""
        ...

    def read_lines(self, path: str) -> list[str]:
        """Return the lines of a file."""
        ...


@dataclass(frozen=True, slots=True)
class Match:
    """Matching line.

    Attributes:
        number: Line number, 1-based.
        score: Summed weights of its words.
    """

    number: int
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class FileMatches:
    """File that matches words of a question.

    Attributes:
        score: Summed weights of the words in its text and path.
        matches: Matching lines, the highest score first; empty if only the path matches.
    """

    path: str
    score: float
    matches: Sequence[Match]


class Grep:
    """Ranked grep over the indexed files of a repository, so ignored files are left out."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._last: tuple[str, Sequence[FileMatches]] | None = None

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        """Lower-case text of each file, with the same line breaks."""
        return {path: "\n".join(self._files.read_lines(path)).lower() for path in sorted(self._files.languages)}

    def __call__(self, question: str) -> Sequence[FileMatches]:
        """Return the matching files, best first. The last question is cached, because several agents ask it in turn."""
        if self._last is None or self._last[0] != question:
            self._last = question, self._find_files(question)
        return self._last[1]

    def _find_files(self, question: str) -> list[FileMatches]:
        weights = self._weigh_words(extract_words(question))
        about_tests = "test" in question.lower()
        files = [file for path in self._texts if (file := self._match_file(path, weights, about_tests=about_tests))]
        return sorted(files, key=lambda file: (-file.score, file.path))

    def _weigh_words(self, words: Sequence[GrepWord]) -> dict[str, float]:
        """Return the words to grep for with their weights: identifiers first, then the rarest words."""
        total = len(self._texts)
        shares = {word: sum(word.text in text for text in self._texts.values()) / total for word in words}
        known = [word for word in words if shares[word]]
        telling = [word for word in known if word.is_identifier or shares[word] <= _MAX_WORD_SHARE] or known
        chosen = sorted(telling, key=lambda word: (not word.is_identifier, shares[word]))[:MAX_WORDS]
        return {word.text: math.log(1 + 1 / shares[word]) for word in chosen}

    def _match_file(self, path: str, weights: Mapping[str, float], *, about_tests: bool) -> FileMatches | None:
        text, place = self._texts[path], path.lower()
        inside = {word: weight for word, weight in weights.items() if word in text}
        score = sum(inside.values()) + sum(weight for word, weight in weights.items() if word in place)
        if not score:
            return None
        if not about_tests and _TESTS.search(path):
            score *= _TEST_FACTOR
        matches = self._score_lines(path, text, inside) if inside else []
        return FileMatches(path, score, sorted(matches, key=lambda match: (-match.score, match.number)))

    def _score_lines(self, path: str, text: str, weights: Mapping[str, float]) -> Iterator[Match]:
        written = self._files.read_lines(path)
        for row, score in _sum_weights(text, weights).items():
            defined = _DEFINITION.match(written[row])
            yield Match(row + 1, score * (_DEFINITION_FACTOR if defined else 1.0))


def _sum_weights(text: str, weights: Mapping[str, float]) -> dict[int, float]:
    """Return the summed weights of the words in each matching line, by 0-based line number."""
    starts = [0, *(match.end() for match in _NEWLINE.finditer(text)), len(text) + 1]
    scores: dict[int, float] = defaultdict(float)
    for word, weight in weights.items():
        place = text.find(word)
        while place >= 0:
            row = bisect_right(starts, place) - 1
            scores[row] += weight
            place = text.find(word, starts[row + 1])
    return scores
