"""Commits in memory, by position: 0 is the oldest, and every parent comes before its children."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coderag.lineage.column_file import ColumnFile, DamagedColumnsError
from coderag.lineage.commit_segment import (
    CHANGES,
    IS_BOUNDARY,
    IS_OWN,
    IS_SUBMODULE,
    parse_reference,
    split_message,
)
from coderag.lineage.git_log import RawTime
from coderag.lineage.people import KEEP_PEOPLE, PeopleMask
from coderag.lineage.references import find_co_authors
from coderag.schema.lineage import Commit, CommitReference, FileChange

_MIN_PREFIX_DIGITS: Final = 4


class CommitTable:
    """Commits of a history, joined from its segments.

    Args:
        segments: Files of `build_segment`, oldest first.
        id_bytes: Length of an id.
        mask: Masks people in what is returned.

    Raises:
        DamagedColumnsError: A segment is damaged, also from the methods.
    """

    def __init__(self, segments: Sequence[ColumnFile], id_bytes: int, mask: PeopleMask = KEEP_PEOPLE) -> None:
        self._segments = segments
        self._id_bytes = id_bytes
        self._mask = mask
        self.ids = self._concatenate("ids", np.uint8).reshape(-1, id_bytes)
        self.times = self._concatenate("time", np.int64)
        self.commit_times = self._concatenate("commit_time", np.int64)
        self.change_ends = self._concatenate_ends("change_ends")
        self.change_kinds = self._concatenate("change_kind", np.uint8)
        self.change_flags = self._concatenate("change_flags", np.uint8)
        self.parent_ends = self._concatenate_ends("parent_ends")
        self.flags = self._concatenate("flags", np.uint8)
        if not len(self.ids) == len(self.times) == len(self.change_ends) - 1 == len(self.parent_ends) - 1:
            raise DamagedColumnsError("lengths of columns differ")

    def __len__(self) -> int:
        return len(self.ids)

    # Lookup

    def get_id(self, position: int) -> str:
        """Return the id of a commit."""
        return bytes(self.ids[position]).hex()

    def find_position(self, commit_id: str) -> int | None:
        """Return the position of a complete id; None if it is not in the table."""
        try:
            return self._positions.get(bytes.fromhex(commit_id))
        except ValueError:
            return None

    def find_by_prefix(self, prefix: str) -> list[int]:
        """Return the positions of the ids that begin with at least four digits."""
        prefix = prefix.lower()
        if len(prefix) < _MIN_PREFIX_DIGITS or not set(prefix) <= set("0123456789abcdef"):
            return []
        return [position for key, position in self._positions.items() if key.hex().startswith(prefix)]

    @cached_property
    def _positions(self) -> dict[bytes, int]:
        data, size = self.ids.tobytes(), self._id_bytes
        return {data[number * size : (number + 1) * size]: number for number in range(len(self))}

    # Commits

    def get_parents(self, position: int) -> tuple[str, ...]:
        """Return the ids of a commit's parents."""
        first, last = self.parent_ends[position : position + 2]
        return tuple(row.tobytes().hex() for row in self._parents[first:last])

    def is_merge(self, position: int) -> bool:
        """Return whether a commit has several parents."""
        return bool(self.parent_ends[position + 1] - self.parent_ends[position] > 1)

    def is_boundary(self, position: int) -> bool:
        """Return whether a commit's parents are missing in a shallow clone, so that its changes are unknown."""
        return bool(self.flags[position] & IS_BOUNDARY)

    def get_message(self, position: int) -> str:
        """Return a commit's message, with people masked if they are."""
        return self._mask.mask_message(self._messages[position])

    def get_author(self, position: int) -> tuple[str, str]:
        """Return the name and the address of a commit's author, masked if they are."""
        name, _, email = self._people[self._authors[position]].partition("\n")
        return self._mask.mask_person(name, email)

    def get_author_key(self, position: int) -> int:
        """Return a number that identifies a commit's author: equal addresses have one number."""
        return int(self._author_keys[self._authors[position]])

    def get_time(self, position: int) -> RawTime:
        """Return a commit's author time."""
        return RawTime(int(self.times[position]), int(self._offsets[position]))

    def build_commit(self, position: int) -> Commit:
        """Build the record of a commit."""
        message = self._messages[position]
        subject, body = split_message(self._mask.mask_message(message))
        author, email = self.get_author(position)
        co_authors = find_co_authors(split_message(message)[1])
        commit_time = RawTime(int(self.commit_times[position]), int(self._commit_offsets[position]))
        return Commit(
            self.get_id(position),
            self.get_parents(position),
            author,
            email,
            self.get_time(position).to_datetime(),
            commit_time.to_datetime(),
            subject,
            body,
            tuple(self.get_references(position)),
            tuple(self._mask.mask_person(name, "")[0] for name in co_authors),
            self.is_boundary(position),
            self._notes.get(position, ""),
        )

    # Changes of files

    @property
    def paths(self) -> Sequence[str]:
        """Every path of the history, by its number."""
        return self._tables["paths"][0]

    @cached_property
    def path_numbers(self) -> dict[str, int]:
        """Number of each path."""
        return {path: number for number, path in enumerate(self.paths)}

    @cached_property
    def change_paths(self) -> NDArray[np.int32]:
        """Number of the path of each change, after it."""
        return self._concatenate_numbers("change_path", "paths")

    @cached_property
    def change_old_paths(self) -> NDArray[np.int32]:
        """Number of the path of each change, before it."""
        return self._concatenate_numbers("change_old", "paths")

    @cached_property
    def change_commits(self) -> NDArray[np.int32]:
        """Commit of each change."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.change_ends))

    def get_changes(self, position: int) -> list[FileChange]:
        """Return the files that a commit changed against its first parent."""
        return [self.build_change(row) for row in range(*self.change_ends[position : position + 2])]

    def build_change(self, row: int) -> FileChange:
        """Build the record of a change."""
        path, old = self.paths[self.change_paths[row]], self.paths[self.change_old_paths[row]]
        is_submodule = bool(self.change_flags[row] & IS_SUBMODULE)
        return FileChange(path, old, CHANGES[self.change_kinds[row]], is_submodule=is_submodule)

    def find_changes(self, number: int) -> NDArray[np.int64]:
        """Return the rows of the changes after which a path exists or is deleted, oldest first; by the path's number."""
        order, starts = self._rows_by_path
        return order[starts[number] : starts[number + 1]]

    def is_own_change(self, row: int) -> bool:
        """Return whether the commit itself made a change: a merge that only takes a parent's version did not."""
        return bool(self.change_flags[row] & IS_OWN)

    @cached_property
    def _rows_by_path(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        order = np.argsort(self.change_paths, kind="stable")
        counts = np.bincount(self.change_paths, minlength=len(self.paths))
        return order, np.concatenate([[0], np.cumsum(counts)])

    # References

    def get_references(self, position: int) -> Iterator[CommitReference]:
        """Yield the references of a commit's message."""
        commits, texts, kinds, relations = self._references
        first, last = np.searchsorted(commits, [position, position + 1])
        for row in range(first, last):
            yield parse_reference(
                int(kinds[row]), self._tables["targets"][0][texts[row]], self._tables["relations"][0][relations[row]]
            )

    def find_by_reference(self, text: str) -> list[int]:
        """Return the positions of the commits that reference a ticket, pull request or commit, oldest first.

        Args:
            text: Its canonical form. A commit is also found by the abbreviations of its id.
        """
        commits, texts, _, _ = self._references
        numbers = [self._target_numbers[text]] if text in self._target_numbers else []
        if text.startswith("#"):  # ``owner/name#12`` in a message of that repository
            numbers += [
                number for target, number in self._target_numbers.items() if target.endswith(text) and target != text
            ]
        return sorted(set(commits[np.isin(texts, numbers)].tolist())) if numbers else []

    @cached_property
    def _references(self) -> tuple[NDArray[np.int32], ...]:
        starts = np.cumsum([0, *(self._count(segment) for segment in self._segments)])
        parts = [
            segment.read_array("reference_commit") + np.int32(start)
            for segment, start in zip(self._segments, starts, strict=False)
        ]
        commits = np.concatenate(parts) if parts else np.zeros(0, np.int32)
        return (
            commits,
            self._concatenate_numbers("reference_text", "targets"),
            self._concatenate("reference_kind", np.int32),
            self._concatenate_numbers("reference_relation", "relations"),
        )

    @cached_property
    def _target_numbers(self) -> dict[str, int]:
        return {text: number for number, text in enumerate(self._tables["targets"][0])}

    # Columns

    @cached_property
    def _parents(self) -> NDArray[np.uint8]:
        return self._concatenate("parents", np.uint8).reshape(-1, self._id_bytes)

    @cached_property
    def _offsets(self) -> NDArray[np.int16]:
        return self._concatenate("offset", np.int16)

    @cached_property
    def _commit_offsets(self) -> NDArray[np.int16]:
        return self._concatenate("commit_offset", np.int16)

    @cached_property
    def _messages(self) -> list[str]:
        return [text for segment in self._segments for text in segment.read_texts("messages")]

    @cached_property
    def _notes(self) -> dict[int, str]:
        notes = {}
        start = 0
        for segment in self._segments:
            for entry in segment.read_texts("notes"):
                number, _, note = entry.partition(":")
                notes[start + int(number)] = note
            start += self._count(segment)
        return notes

    @cached_property
    def _authors(self) -> NDArray[np.int32]:
        return self._concatenate_numbers("author", "people")

    @property
    def _people(self) -> list[str]:
        return self._tables["people"][0]

    @cached_property
    def _author_keys(self) -> NDArray[np.int32]:
        keys: dict[str, int] = {}
        addresses = (person.partition("\n") for person in self._people)
        return np.array([keys.setdefault(email.lower() or name, len(keys)) for name, _, email in addresses], np.int32)

    @cached_property
    def _tables(self) -> "_Tables":
        return _Tables(lambda name: [segment.read_texts(name) for segment in self._segments])

    def _count(self, segment: ColumnFile) -> int:
        return int(segment.meta["commits"])

    def _concatenate(self, name: str, kind: type) -> NDArray[Any]:
        parts = [segment.read_array(name) for segment in self._segments]
        return np.concatenate(parts) if parts else np.zeros(0, kind)

    def _concatenate_ends(self, name: str) -> NDArray[np.int64]:
        parts, last = [np.zeros(1, np.int64)], 0
        for segment in self._segments:
            ends = segment.read_array(name).astype(np.int64)
            parts.append(ends[1:] + last)
            last += int(ends[-1])
        return np.concatenate(parts)

    def _concatenate_numbers(self, name: str, table: str) -> NDArray[np.int32]:
        """Join a column of numbers in a table of texts that each segment has of its own."""
        maps = self._tables[table][1]
        parts = [numbers[segment.read_array(name)] for segment, numbers in zip(self._segments, maps, strict=True)]
        return np.concatenate(parts) if parts else np.zeros(0, np.int32)


class _Tables(defaultdict[str, tuple[list[str], list[NDArray[np.int32]]]]):
    """Tables of texts: their distinct texts, and for each segment the position of its texts among those."""

    def __init__(self, read: Callable[[str], list[list[str]]]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, name: str) -> tuple[list[str], list[NDArray[np.int32]]]:
        numbers: dict[str, int] = {}
        maps = [
            np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int32) for texts in self._read(name)
        ]
        self[name] = list(numbers), maps
        return self[name]
