"""Inverted indexes of the words in file and folder names, to match them with a question."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from coderag.stores.symbol_table import fold_name
from coderag.text.tokenizer import extract_content_words, split_identifier, split_raw_tokens, stem

_MIN_PREFIX_CHARS = 3
_MAX_FOLDERS = 2  # only the nearest folders describe a file

PATH_FLAG_PATTERNS = {
    "barrel": re.compile(
        r"(?:^|/)(?:__init__\.pyi?|index\.[cm]?[jt]sx?|package-info\.java|mod\.rs|lib\.rs|prelude\.rs|setup\.py|__main__\.py)$"
    ),
    "declarations_only": re.compile(r"\.d\.[cm]?ts$|\.pyi$"),
    "legacy": re.compile(r"(?:^|/)(?:_?compat|legacy|deprecated|old|polyfills?)(?:/|\.|$)", re.IGNORECASE),
}
"""Path patterns of files that hold little code of their own."""

FloatArray = NDArray[np.float32]


@lru_cache(1 << 16)
def split_name(text: str) -> frozenset[str]:
    """Split a file or folder name into stemmed words."""
    return frozenset(stem(part) for raw in split_raw_tokens(text) for part in split_identifier(raw))


def split_question(query: str) -> list[str]:
    """Split a question into its distinct stemmed words that may be part of a name, in order."""
    parts = (stem(part) for word in extract_content_words(query) for part in split_identifier(word))
    return list(dict.fromkeys(part for part in parts if len(part) >= _MIN_PREFIX_CHARS))


class _WordPostings:
    """Postings: for each word, the files whose name (or folders) contain it."""

    def __init__(self, words_by_file: Sequence[frozenset[str]]) -> None:
        files: dict[str, list[int]] = {}
        for file, words in enumerate(words_by_file):
            for word in words:
                files.setdefault(word, []).append(file)
        self._sorted_words = sorted(files)
        self._max_chars = max(map(len, files), default=0)
        self._postings = {word: np.asarray(ids, np.int32) for word, ids in files.items()}

    def find_related(self, word: str) -> list[NDArray[np.int32]]:
        """Return the postings of each indexed word that equals `word`, is its prefix, or has it as prefix."""
        postings = [self._postings[word]] if word in self._postings else []
        if len(word) >= _MIN_PREFIX_CHARS:
            postings += [
                self._postings[prefix]
                for end in range(_MIN_PREFIX_CHARS, min(len(word), self._max_chars + 1))  # a question has any length
                if (prefix := word[:end]) in self._postings
            ]
            position = bisect_left(self._sorted_words, word)
            while position < len(self._sorted_words) and self._sorted_words[position].startswith(word):
                if self._sorted_words[position] != word:
                    postings.append(self._postings[self._sorted_words[position]])
                position += 1
        return postings


class PathIndex:
    """Index of the words of all paths.

    Args:
        paths: Path of each file.

    Attributes:
        folder_names: Names of all folders, without the folders around them.
        flagged_files: For each of `PATH_FLAG_PATTERNS`, int32 numbers of the files whose path matches.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self.n_files = len(paths)
        self.folder_names = frozenset(
            name for folder in {path.rpartition("/")[0] for path in paths} for name in folder.split("/")
        )
        names = [path.rpartition("/")[2] for path in paths]
        stem_words = [split_name(name.rsplit(".", 1)[0]) for name in names]
        folder_words = [
            frozenset[str]().union(*(split_name(folder) for folder in path.split("/")[-1 - _MAX_FOLDERS : -1]))
            for path in paths
        ]
        self.flagged_files = {
            flag: np.asarray([file for file, path in enumerate(paths) if pattern.search(path)], np.int32)
            for flag, pattern in PATH_FLAG_PATTERNS.items()
        }
        self._stem_sizes = np.maximum(np.fromiter(map(len, stem_words), np.float32, self.n_files), 1)
        self._stems = _WordPostings(stem_words)
        self._folders = _WordPostings(folder_words)
        self._by_stem: dict[str, list[int]] = {}
        for file, name in enumerate(names):
            stem_name = name.rpartition(".")[0] or name
            self._by_stem.setdefault(fold_name("".join(split_raw_tokens(stem_name))), []).append(file)

    def compute_stem_coverage(self, words: Iterable[str]) -> FloatArray:
        """Compute for each file the share (0 to 1) of its stem's words that are in the question."""
        covered = np.zeros(self.n_files, np.float32)
        counted: set[int] = set()
        for word in words:
            for files in self._stems.find_related(word):
                if id(files) not in counted:
                    counted.add(id(files))
                    covered[files] += 1
        return (covered / self._stem_sizes).astype(np.float32)

    def compute_folder_share(self, words: Sequence[str]) -> FloatArray:
        """Compute for each file the share (0 to 1) of question words in its folders but not in its stem."""
        share = np.zeros(self.n_files, np.float32)
        for word in words:
            hit = np.zeros(self.n_files, bool)
            for files in self._folders.find_related(word):
                hit[files] = True
            for files in self._stems.find_related(word):
                hit[files] = False
            share += hit
        return share / np.float32(max(len(words), 1))

    def match_stems(self, names: Iterable[str]) -> FloatArray:
        """Return 1 for each file whose whole stem is one of the names, in any spelling, singular or plural."""
        matches = np.zeros(self.n_files, np.float32)
        for name in names:
            folded = fold_name(name)
            for spelling in (folded, f"{folded}s"):
                matches[self._by_stem.get(spelling, [])] = 1
        return matches
