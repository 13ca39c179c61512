"""Edges of many files and what they depend on, as columns.

An edge takes 32 bytes here and five times as much as a tuple; a large repository has millions.
"""

from array import array
from collections.abc import Iterable, Sequence, Set
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.linking.linker import Link, LinkedFile

if TYPE_CHECKING:
    import pyarrow as pa

IntArray = NDArray[np.int64]

_NUMBERS: Final = ("scope", "file", "index", "line")
_WORDS: Final = ("relation", "name", "resolver")


class _WordColumn:
    """A column of words, each as its number in the order of first occurrence."""

    def __init__(self) -> None:
        self.codes = array("i")
        self._numbers: dict[str, int] = {}

    @property
    def words(self) -> list[str]:
        """Distinct words, by code."""
        return list(self._numbers)

    def extend(self, words: Iterable[str]) -> None:
        """Append words."""
        numbers = self._numbers
        self.codes.extend([numbers.setdefault(word, len(numbers)) for word in words])

    def extend_column(self, other: "_WordColumn") -> None:
        """Append another column."""
        numbers = self._numbers
        codes = np.array([numbers.setdefault(word, len(numbers)) for word in other.words], np.int32)
        self.codes.frombytes(codes[np.frombuffer(other.codes, np.int32)].tobytes())


class LinkedFiles:
    """Edges of linked files and their dependencies. Files are added in any order and read in ascending order."""

    def __init__(self) -> None:
        self._files = array("i")
        self._link_counts = array("i")
        self._numbers = {name: array("i") for name in _NUMBERS}
        self._words = {name: _WordColumn() for name in _WORDS}
        self._confidences = array("f")
        self._consulted, self._consulted_counts = array("i"), array("i")
        self._keys, self._key_counts = _WordColumn(), array("i")

    def __len__(self) -> int:
        return len(self._files)

    @property
    def files(self) -> Set[int]:
        """Numbers of the files."""
        return frozenset(self._files)

    def add(self, file: int, linked: LinkedFile) -> None:
        """Add the edges that start in a file, and their dependencies."""
        self._files.append(file)
        self._link_counts.append(len(linked.links))
        relations, scopes, files, indices, names, resolvers, confidences, lines = (
            zip(*linked.links, strict=True) if linked.links else [()] * len(Link._fields)
        )
        for name, values in zip(_NUMBERS, (scopes, files, indices, lines), strict=True):
            self._numbers[name].extend(values)
        for name, words in zip(_WORDS, (relations, names, resolvers), strict=True):
            self._words[name].extend(words)
        self._confidences.extend(confidences)
        self._consulted.extend(sorted(linked.dependencies.files))
        self._consulted_counts.append(len(linked.dependencies.files))
        self._keys.extend(sorted(linked.dependencies.keys))
        self._key_counts.append(len(linked.dependencies.keys))

    def extend(self, other: "LinkedFiles") -> None:
        """Add all files of another instance."""
        for name, values in other._numbers.items():
            self._numbers[name].extend(values)
        for name, column in other._words.items():
            self._words[name].extend_column(column)
        self._keys.extend_column(other._keys)
        for attribute in ("_files", "_link_counts", "_confidences", "_consulted", "_consulted_counts", "_key_counts"):
            getattr(self, attribute).extend(getattr(other, attribute))

    def build_link_columns(self) -> dict[str, NDArray[Any]]:
        """Return the edges by column, those of the first file first.

        Returns:
            ``from``, the file of each edge, and the fields of `coderag.codegraph.linking.linker.Link`. Words are
            numbers in `list_words`.
        """
        order = self._order_entries(self._link_counts)
        counts = _to_numpy(self._link_counts)
        columns: dict[str, NDArray[Any]] = {"from": np.repeat(_to_numpy(self._files), counts)[order]}
        columns |= {name: _to_numpy(values)[order] for name, values in self._numbers.items()}
        columns |= {name: _to_numpy(column.codes)[order] for name, column in self._words.items()}
        columns["confidence"] = np.frombuffer(self._confidences, np.float32)[order]
        return columns

    def list_words(self, name: str) -> Sequence[str]:
        """Return the distinct words of a column: ``relation``, ``name`` or ``resolver``."""
        return self._words[name].words

    def build_consulted(self) -> "pa.ListArray":
        """Return the numbers of the files that decided the edges of each file, ascending."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        values = pa.array(_to_numpy(self._consulted)[self._order_entries(self._consulted_counts)], pa.int32())
        return pa.ListArray.from_arrays(self._build_offsets(self._consulted_counts), values)

    def build_keys(self) -> "pa.ListArray":
        """Return the other dependencies of each file's edges, see `Program.record_key`, in alphabetical order."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        codes = pa.array(_to_numpy(self._keys.codes)[self._order_entries(self._key_counts)], pa.int32())
        words = pa.array(self._keys.words, pa.string())
        return pa.ListArray.from_arrays(self._build_offsets(self._key_counts), words.take(codes))

    def _order_entries(self, counts: "array[int]") -> IntArray:
        """Return the positions of the entries of all files, those of the first file first."""
        lengths = _to_numpy(counts)
        starts = np.cumsum(lengths) - lengths
        order = self._order_files()
        ordered_lengths = lengths[order]
        offsets = np.repeat(starts[order] - (np.cumsum(ordered_lengths) - ordered_lengths), ordered_lengths)
        positions: IntArray = np.arange(len(offsets)) + offsets
        return positions

    def _build_offsets(self, counts: "array[int]") -> "pa.Array":
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s

        return pa.array(np.concatenate([[0], np.cumsum(_to_numpy(counts)[self._order_files()])]), pa.int32())

    def _order_files(self) -> IntArray:
        return np.argsort(_to_numpy(self._files), kind="stable")


def _to_numpy(values: "array[int]") -> IntArray:
    return np.frombuffer(values, np.int32).astype(np.int64) if len(values) else np.zeros(0, np.int64)
