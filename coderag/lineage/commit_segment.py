"""Columns of some consecutive commits, oldest first: how a part of the history is stored."""

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coderag.lineage.column_file import Column
from coderag.lineage.git_log import LogEntry
from coderag.lineage.references import find_references
from coderag.schema.lineage import CommitReference, PathChange, ReferencePlace, ReferenceTarget

CHANGES: Final[tuple[PathChange, ...]] = ("added", "modified", "deleted", "renamed", "copied", "mode", "type")
TARGETS: Final[tuple[ReferenceTarget, ...]] = ("ticket", "pull_request", "commit")
PLACES: Final[tuple[ReferencePlace, ...]] = ("subject", "body", "trailer")

IS_BOUNDARY: Final = 1
"""Flag of a commit whose changes are unknown: the boundary of a shallow clone."""

IS_SUBMODULE: Final = 1
"""Flag of a change of a submodule's commit."""

IS_OWN: Final = 2
"""Flag of a change that the commit itself made: for a merge, one that equals none of its parents."""

_CHANGE_NUMBERS: Final = {change: number for number, change in enumerate(CHANGES)}


def build_segment(
    entries: Sequence[LogEntry], merged_paths: Mapping[str, Collection[str]], id_bytes: int
) -> dict[str, Column | list[str]]:
    """Build the columns of commits.

    Args:
        entries: Commits, oldest first.
        merged_paths: Paths of each merge that differ from all of its parents.
        id_bytes: Length of an id.
    """
    people: dict[str, int] = {}
    paths: dict[str, int] = {}
    relations: dict[str, int] = {"": 0}
    targets: dict[str, int] = {}
    references = [find_references(*split_message(entry.message)) for entry in entries]
    changes = [change for entry in entries for change in entry.changes]
    own_flags = (
        (IS_OWN if len(entry.parents) < 2 or change.path in merged_paths.get(entry.id, ()) else 0)
        | (IS_SUBMODULE if change.is_submodule else 0)
        for entry in entries
        for change in entry.changes
    )
    flat_references = [(number, reference) for number, listed in enumerate(references) for reference in listed]
    messages = [entry.message.replace("\0", "\ufffd") for entry in entries]
    return {
        "ids": _pack_ids((entry.id for entry in entries), id_bytes),
        "parents": _pack_ids(chain.from_iterable(entry.parents for entry in entries), id_bytes),
        "parent_ends": _count_ends(len(entry.parents) for entry in entries),
        "author": _fill(people.setdefault(f"{entry.author}\n{entry.email}", len(people)) for entry in entries),
        "time": np.fromiter((entry.time.seconds for entry in entries), np.int64, len(entries)),
        "offset": np.fromiter((entry.time.offset_minutes for entry in entries), np.int16, len(entries)),
        "commit_time": np.fromiter((entry.commit_time.seconds for entry in entries), np.int64, len(entries)),
        "commit_offset": np.fromiter((entry.commit_time.offset_minutes for entry in entries), np.int16, len(entries)),
        "flags": np.fromiter((0 if entry.are_changes_known else IS_BOUNDARY for entry in entries), np.uint8, len(entries)),
        "change_ends": _count_ends(len(entry.changes) for entry in entries),
        "change_path": _fill(paths.setdefault(change.path, len(paths)) for change in changes),
        "change_old": _fill(paths.setdefault(change.old_path, len(paths)) for change in changes),
        "change_kind": np.fromiter((_CHANGE_NUMBERS[change.change] for change in changes), np.uint8, len(changes)),
        "change_flags": np.fromiter(own_flags, np.uint8, len(changes)),
        "reference_commit": _fill(number for number, _ in flat_references),
        "reference_text": _fill(targets.setdefault(item.text, len(targets)) for _, item in flat_references),
        "reference_kind": _fill(_number_reference(item) for _, item in flat_references),
        "reference_relation": _fill(
            relations.setdefault(item.relation, len(relations)) for _, item in flat_references
        ),
        "people": list(people),
        "paths": list(paths),
        "relations": list(relations),
        "targets": list(targets),
        "messages": messages,
        "notes": [f"{number}:{entry.encoding_note}" for number, entry in enumerate(entries) if entry.encoding_note],
    }  # fmt: skip


def split_message(message: str) -> tuple[str, str]:
    """Split a message into subject and body as git does: the subject is the first paragraph, on one line."""
    lines = message.lstrip("\n").split("\n")
    end = next((number for number, line in enumerate(lines) if not line.strip()), len(lines))
    return " ".join(line.strip() for line in lines[:end]), "\n".join(lines[end + 1 :]).strip("\n")


def parse_reference(kind: int, text: str, relation: str) -> CommitReference:
    """Rebuild a reference from its columns."""
    return CommitReference(TARGETS[kind % len(TARGETS)], text, PLACES[kind // len(TARGETS) % len(PLACES)], relation)


def _number_reference(reference: CommitReference) -> int:
    return TARGETS.index(reference.kind) + len(TARGETS) * PLACES.index(reference.source)


def _pack_ids(ids: Any, id_bytes: int) -> NDArray[np.uint8]:  # noqa: ANN401  # any iterable of texts
    return np.frombuffer(bytes.fromhex("".join(ids)), np.uint8).reshape(-1, id_bytes)


def _count_ends(counts: Any) -> NDArray[np.int32]:  # noqa: ANN401  # any iterable of numbers
    return np.array([0, *accumulate(counts)], np.int32)


def _fill(numbers: Any) -> NDArray[np.int32]:  # noqa: ANN401  # any iterable of numbers
    return np.array(list(numbers), np.int32)
