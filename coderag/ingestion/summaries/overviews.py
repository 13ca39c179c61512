"""Summaries of files and folders: their inputs, and their storage in a generation.

The input for a file are the sentences of its chunks, for a folder those of its files and subfolders. The key of a summary
is a hash of its input, so that it expires when the input changes.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coderag.ingestion.summaries.cached_sentences import LLM_SOURCE
from coderag.ingestion.summaries.targets import Level, compute_overview_subject
from coderag.stores.overviews import OVERVIEWS_ARRAY, pack_overviews, unpack_overviews
from coderag.text.tokenizer import tokenize_text

if TYPE_CHECKING:
    import pyarrow as pa

OVERVIEW_COLUMNS = ("path", "qualified_name", "summary", "summary_source")
"""Columns of chunks that overviews are built from."""

MAX_OVERVIEW_LINES = 60
"""Maximum number of sentences in a prompt for one file or folder; more add little."""

_ROOT_FOLDER = "."

SentenceLookup = Callable[[Sequence[str]], Mapping[str, str]]
"""Returns the cached sentences of those subjects that have one."""


@dataclass(frozen=True, slots=True)
class Overview:
    """A file or folder to summarize.

    Attributes:
        place: A file's path, or a folder's with ``/`` at its end.
        lines: Its members: a name and a sentence each.
    """

    level: Level
    place: str
    lines: Sequence[str]

    @property
    def subject(self) -> str:
        """Key of its sentence in the cache."""
        return compute_overview_subject(self.level, self.place, self.lines)


@dataclass(slots=True)
class Overviews:
    """Summaries of the files and folders of one generation.

    Attributes:
        files: The sentence of each file with a summarized chunk. With a single chunk it is that chunk's sentence; it is
            empty if none is written yet.
        folders: The sentence of each folder that has one, by its path with ``/`` at the end.
    """

    files: dict[str, str] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[np.uint8]]) -> "Overviews":
        """Read the overviews that a generation stores."""
        stored = unpack_overviews(arrays)
        return Overviews(
            files={place: sentence for place, sentence in stored.items() if not place.endswith("/")},
            folders={place: sentence for place, sentence in stored.items() if place.endswith("/")},
        )

    def to_arrays(self) -> dict[str, NDArray[np.uint8]]:
        """Return the arrays for a generation to store; empty if there are no overviews."""
        stored = {**self.files, **self.folders}
        return {OVERVIEWS_ARRAY: pack_overviews(stored)} if stored else {}

    def iterate_terms(self) -> Iterator[str]:
        """Yield the terms of all sentences: searches only count terms that the index knows."""
        for sentence in (*self.files.values(), *self.folders.values()):
            yield from tokenize_text(sentence)

    def drop(self, paths: Iterable[str]) -> None:
        """Drop the sentences of some files."""
        for path in paths:
            self.files.pop(path, None)

    def renew_files(self, columns: "pa.Table", sentences: SentenceLookup) -> None:
        """Update the sentences of files, given all chunks of these files."""
        overviews, singles = build_file_overviews(columns)
        self.drop(dict.fromkeys(columns["path"].to_pylist()))
        subjects = {overview.place: overview.subject for overview in overviews}
        by_subject = sentences(list(subjects.values()))
        self.files |= singles
        self.files |= {path: by_subject.get(subject, "") for path, subject in subjects.items()}

    def renew_folders(self, sentences: SentenceLookup) -> None:
        """Update the sentences of folders, the innermost first: each is input for the next."""
        self.folders.clear()
        for overviews in self.build_folder_overviews():
            self.add_folders(overviews, sentences)

    def add_folders(self, overviews: Sequence[Overview], sentences: SentenceLookup) -> None:
        """Add the existing sentences of some folders."""
        subjects = {overview.place: overview.subject for overview in overviews}
        by_subject = sentences(list(subjects.values()))
        self.folders |= {place: by_subject[subject] for place, subject in subjects.items() if subject in by_subject}

    def build_folder_overviews(self) -> Iterator[Sequence[Overview]]:
        """Yield the folders to summarize, one depth at a time, the innermost first.

        A folder with a single sentence needs no summary.
        """
        sentences_by_folder: dict[str, dict[str, str]] = defaultdict(dict)  # by folder: members with a sentence
        for path, sentence in self.files.items():
            if sentence:
                sentences_by_folder[_get_parent(path)][path] = sentence
        by_depth: dict[int, set[str]] = defaultdict(set)
        for path in self.files:
            for folder in _iterate_parents(path):
                by_depth[_compute_depth(folder)].add(folder)
        for depth in sorted(by_depth, reverse=True):
            level = []
            for folder in sorted(by_depth[depth]):
                lines = [
                    f"{PurePosixPath(place).name}: {sentences_by_folder[folder][place]}"
                    for place in sorted(sentences_by_folder[folder])
                ]
                if len(lines) > 1:
                    level.append(Overview("folder", f"{folder}/", lines[:MAX_OVERVIEW_LINES]))
            yield level
            for folder in by_depth[depth] - {_ROOT_FOLDER}:
                place = f"{folder}/"
                if place in self.folders:
                    sentences_by_folder[_get_parent(folder)][place] = self.folders[place]


def build_file_overviews(columns: "pa.Table") -> tuple[list[Overview], dict[str, str]]:
    """Return the files to summarize; and for files with one chunk, which need no summary, its sentence.

    Only files with at least one chunk summarized by a language model are included.

    Args:
        columns: Chunks with `OVERVIEW_COLUMNS`, grouped by file.
    """
    chunks: dict[str, list[tuple[str, str]]] = defaultdict(list)
    written = set()
    for path, name, summary, source in zip(*(columns[name].to_pylist() for name in OVERVIEW_COLUMNS), strict=True):
        chunks[path].append((name, summary))
        if source == LLM_SOURCE:
            written.add(path)
    overviews, singles = [], {}
    for path, entries in chunks.items():
        if path not in written:
            continue
        if len(entries) == 1:
            singles[path] = entries[0][1]
        else:
            lines = list(dict.fromkeys(f"{name}: {summary}" for name, summary in entries))
            overviews.append(Overview("file", path, lines[:MAX_OVERVIEW_LINES]))
    return overviews, singles


def _get_parent(path: str) -> str:
    return path.rpartition("/")[0] or _ROOT_FOLDER


def _iterate_parents(path: str) -> Iterator[str]:
    """Yield the folders of a file, the innermost first; the last is the repository."""
    while path != _ROOT_FOLDER:
        path = _get_parent(path)
        yield path


def _compute_depth(folder: str) -> int:
    return 0 if folder == _ROOT_FOLDER else folder.count("/") + 1
