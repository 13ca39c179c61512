"""Match the words of a question with the words of file and folder names, through inverted indexes."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from coderag.stores.symbol_table import fold
from coderag.text.tokenizer import content_words, raw_tokens, split_identifier, stem

_SHORTEST_PREFIX = 3
_FOLDERS = 2  # only the nearest folders say something about a file

FLAGS = {
    "barrel": re.compile(
        r"(?:^|/)(?:__init__\.pyi?|index\.[cm]?[jt]sx?|package-info\.java|mod\.rs|lib\.rs|prelude\.rs|setup\.py|__main__\.py)$"
    ),
    "declarations_only": re.compile(r"\.d\.[cm]?ts$|\.pyi$"),
    "legacy": re.compile(r"(?:^|/)(?:_?compat|legacy|deprecated|old|polyfills?)(?:/|\.|$)", re.IGNORECASE),
}
"""What a path says about how much of the code itself its file holds."""

FloatArray = NDArray[np.float32]


@lru_cache(1 << 16)
def name_words(text: str) -> frozenset[str]:
    """Return the stemmed words of a file or folder name."""
    return frozenset(stem(part) for raw in raw_tokens(text) for part in split_identifier(raw))


def question_words(query: str) -> list[str]:
    """Return the distinct stemmed words of a question that may be part of a name, in order."""
    parts = (stem(part) for word in content_words(query) for part in split_identifier(word))
    return list(dict.fromkeys(part for part in parts if len(part) >= _SHORTEST_PREFIX))


class _WordFiles:
    """For each word, the files whose name (or folders) contain it."""

    def __init__(self, words_by_file: Sequence[frozenset[str]]) -> None:
        files: dict[str, list[int]] = {}
        for file, words in enumerate(words_by_file):
            for word in words:
                files.setdefault(word, []).append(file)
        self._sorted = sorted(files)
        self._files = {word: np.asarray(ids, np.int32) for word, ids in files.items()}

    def near(self, word: str) -> list[NDArray[np.int32]]:
        """Return, for each indexed word that equals `word` or is a prefix of it or the other way round, its files."""
        found = [self._files[word]] if word in self._files else []
        if len(word) >= _SHORTEST_PREFIX:
            found += [
                self._files[short] for end in range(_SHORTEST_PREFIX, len(word)) if (short := word[:end]) in self._files
            ]
            position = bisect_left(self._sorted, word)
            while position < len(self._sorted) and self._sorted[position].startswith(word):
                if self._sorted[position] != word:
                    found.append(self._files[self._sorted[position]])
                position += 1
        return found


class PathIndex:
    """The words of all paths.

    Args:
        paths: Path of each file.

    Attributes:
        flagged: For each of `FLAGS`, int32 numbers of the files whose path has it.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self.n_files = len(paths)
        names = [path.rpartition("/")[2] for path in paths]
        stem_words = [name_words(name.rsplit(".", 1)[0]) for name in names]
        folder_words = [
            frozenset[str]().union(*(name_words(folder) for folder in path.split("/")[-1 - _FOLDERS : -1]))
            for path in paths
        ]
        self.flagged = {
            flag: np.asarray([file for file, path in enumerate(paths) if pattern.search(path)], np.int32)
            for flag, pattern in FLAGS.items()
        }
        self._stem_sizes = np.maximum(np.fromiter(map(len, stem_words), np.float32, self.n_files), 1)
        self._stems = _WordFiles(stem_words)
        self._folders = _WordFiles(folder_words)
        self._by_stem: dict[str, list[int]] = {}
        for file, name in enumerate(names):
            stem_name = name.rpartition(".")[0] or name
            self._by_stem.setdefault(fold("".join(raw_tokens(stem_name))), []).append(file)

    def stem_coverage(self, words: Iterable[str]) -> FloatArray:
        """Return for each file the share (0 to 1) of its stem's words that the question has."""
        covered = np.zeros(self.n_files, np.float32)
        counted: set[int] = set()
        for word in words:
            for files in self._stems.near(word):
                if id(files) not in counted:
                    counted.add(id(files))
                    covered[files] += 1
        return (covered / self._stem_sizes).astype(np.float32)

    def folder_share(self, words: Sequence[str]) -> FloatArray:
        """Return for each file the share (0 to 1) of the question's words that its folders have and its stem has not."""
        share = np.zeros(self.n_files, np.float32)
        for word in words:
            hit = np.zeros(self.n_files, bool)
            for files in self._folders.near(word):
                hit[files] = True
            for files in self._stems.near(word):
                hit[files] = False
            share += hit
        return share / np.float32(max(len(words), 1))

    def stem_is(self, names: Iterable[str]) -> FloatArray:
        """Return 1 for each file whose whole stem is one of the names, in any spelling, singular or plural."""
        matches = np.zeros(self.n_files, np.float32)
        for name in names:
            folded = fold(name)
            for spelling in (folded, f"{folded}s"):
                matches[self._by_stem.get(spelling, [])] = 1
        return matches
