"""Files to link again after a change: those that were read, and those whose edges depend on them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.interface_diff import InterfaceDiff, diff_interfaces
from coderag.codegraph.linking.overloads import strip_arity
from coderag.codegraph.linking.program import FactsRow, Program
from coderag.schema.facts import Base, Definition
from coderag.stores.facts_codec import PackedFacts, unpack_interface

if TYPE_CHECKING:
    import pyarrow as pa

IntArray = NDArray[np.int64]

_MAX_CHANGED_NAMES: Final = 16
"""Above this number, all files that consulted the file are linked again: searching for each name costs time, too."""


class StaleFiles(NamedTuple):
    """The files to link again.

    Attributes:
        files: Numbers of the files.
        new_positions: For files whose interface changed, by old number: the new position of each old definition;
            -1 if it is gone.
    """

    files: Sequence[int]
    new_positions: Mapping[int, IntArray]


def find_stale_files(
    last: "pa.Table", old_rows: Sequence[FactsRow], program: Program, facts: Mapping[str, PackedFacts]
) -> StaleFiles:
    """Return the files to link again.

    Args:
        last: The facts of the last generation with the dependencies of each file's edges; see
            `coderag.stores.graph_tables.build_facts_schema`.
        old_rows: The same facts as rows.
        program: The current files.
        facts: Facts of the files that were read since.
    """
    file_diff = _diff_files(old_rows, program)
    if not old_rows or file_diff.affects_module_resolution:
        return StaleFiles(range(len(program.rows)), {})
    diffs = {number: diff for number, rows in file_diff.changed.items() if (diff := _diff_interface(*rows))}
    dependencies = _DependencyIndex(last, old_rows)
    unnamed_changes = {*file_diff.removed, *file_diff.changed}.difference(diffs)
    is_dependent = dependencies.find_dependents(
        unnamed_changes, _collect_keys(file_diff, diffs, old_rows, program.rows)
    )
    for number, diff in diffs.items():
        is_dependent |= dependencies.find_name_dependents(number, diff.names)
    paths = (old_rows[number].path for number in np.flatnonzero(is_dependent).tolist())
    changed_paths = (row.path for row in chain(file_diff.added, (row for _, row in file_diff.changed.values())))
    stale_paths = {*paths, *facts, *changed_paths}
    files = sorted(program.file_by_path[path] for path in stale_paths if path in program.file_by_path)
    return StaleFiles(files, {number: diff.new_positions for number, diff in diffs.items()})


class _FileDiff(NamedTuple):
    """The differences that other files can observe.

    Attributes:
        added: New files.
        removed: Removed files, by old number.
        changed: Files with a changed interface, by old number: before and after.
    """

    added: Sequence[FactsRow]
    removed: Mapping[int, FactsRow]
    changed: Mapping[int, tuple[FactsRow, FactsRow]]

    @property
    def added_or_removed(self) -> list[FactsRow]:
        """Rows of all added and removed files."""
        return [*self.added, *self.removed.values()]

    @property
    def affects_module_resolution(self) -> bool:
        """True if a file that configures module resolution was added, removed or changed."""
        return any(row.configures for row in chain(self.added_or_removed, *self.changed.values()))


def _diff_files(old_rows: Sequence[FactsRow], program: Program) -> _FileDiff:
    old_numbers = {row.path: number for number, row in enumerate(old_rows)}
    return _FileDiff(
        [row for row in program.rows if row.path not in old_numbers],
        {number: old_rows[number] for path, number in old_numbers.items() if path not in program.file_by_path},
        {
            number: (old_rows[number], row)
            for row in program.rows
            if (number := old_numbers.get(row.path, -1)) >= 0
            and _get_visible_interface(row) != _get_visible_interface(old_rows[number])
        },
    )


def _diff_interface(old: FactsRow, new: FactsRow) -> InterfaceDiff | None:
    """Return the interface diff of a file; None if names cannot express it, or if there are too many."""
    if (old.language, old.role) != (new.language, new.role):
        return None
    diff = diff_interfaces(unpack_interface(old.interface), unpack_interface(new.interface))
    return diff if diff is not None and len(diff.names) <= _MAX_CHANGED_NAMES else None


def _collect_keys(
    file_diff: _FileDiff,
    diffs: Mapping[int, InterfaceDiff],
    old_rows: Sequence[FactsRow],
    rows: Sequence[FactsRow],
) -> set[str]:
    """Return the dependency keys that the change may invalidate; see `Program.record_key`.

    Args:
        diffs: Interface diffs by old number, for the files that have one.
    """
    added_or_removed, changed = file_diff.added_or_removed, file_diff.changed
    unnamed_pairs = (pair for number, pair in changed.items() if number not in diffs)
    return {
        *(key for row in added_or_removed for key in _build_path_keys(row.path)),
        *(key for row in chain(added_or_removed, *unnamed_pairs) for key in _build_interface_keys(row)),
        *(key for number, diff in diffs.items() for key in _build_diff_keys(old_rows[number], diff)),
        *_build_unknown_name_keys(file_diff.added, changed.values()),
        *_build_namespace_keys(old_rows, rows, added_or_removed, changed.values()),
    }


def _get_visible_interface(row: FactsRow) -> tuple[str, str, bytes]:
    """Return the parts of a file that other files can observe."""
    return row.language, row.role, row.digest


def _build_path_keys(path: str) -> Iterator[str]:
    """Yield the keys that depend on the existence of a file; see `Program.record_key`."""
    *folders, filename = path.split("/")
    for name in (*folders, filename.partition(".")[0]):
        yield f"module:{name}"
    yield f"folder:{'/'.join(folders)}"
    yield f"path:{path}"


def _build_interface_keys(row: FactsRow) -> Iterator[str]:
    """Yield the keys that depend on the declarations of a file."""
    facts = unpack_interface(row.interface)
    yield f"package:{facts.package}"
    if any(import_.exported and import_.name == "*" for import_ in facts.imports):
        yield f"namespace:{facts.language}:*"
    yield from _build_declaration_keys(facts.language, facts.definitions, facts.bases)
    yield from {f"bound:{binding.name}" for binding in facts.bindings}
    yield from _build_folder_keys(row.path, row.declares)


def _build_diff_keys(row: FactsRow, diff: InterfaceDiff) -> Iterator[str]:
    """Yield the keys that depend on the changed names of a file."""
    yield from _build_declaration_keys(row.language, diff.definitions, diff.bases)
    yield from (f"bound:{name}" for name in diff.names)
    yield from _build_folder_keys(row.path, diff.names)


def _build_declaration_keys(language: str, definitions: Sequence[Definition], bases: Sequence[Base]) -> Iterator[str]:
    namespaces = {
        f"{language}:{entry.qualified_name}" for entry in definitions if entry.kind == "namespace" or "." in entry.name
    }
    yield from (f"namespace:{name}" for name in _add_outer_packages(namespaces))
    for name in {entry.name for entry in definitions}:
        yield f"name:{language}:{name}"
        yield f"name:*:{name}"
    yield from {f"member:{language}:{entry.owner}" for entry in definitions if entry.owner}
    yield from {f"base:{language}:{entry.chain.rpartition('.')[2]}" for entry in bases}


def _build_folder_keys(path: str, names: Iterable[str]) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    return (f"in:{folder}:{strip_arity(name)}" for name in names)


def _build_unknown_name_keys(added: Iterable[FactsRow], changed: Iterable[tuple[FactsRow, FactsRow]]) -> Iterator[str]:
    """Yield the keys of names that had no declaration before."""
    new_names = [set(row.declares) for row in added]
    new_names += [
        set(row.declares).difference(old.declares if old.language == row.language else ()) for old, row in changed
    ]
    return (f"unknown:{name}" for names in new_names for name in names)


def _build_namespace_keys(
    old_rows: Sequence[FactsRow],
    rows: Sequence[FactsRow],
    added_or_removed: Sequence[FactsRow],
    changed: Iterable[tuple[FactsRow, FactsRow]],
) -> Iterator[str]:
    """Yield the keys of packages that were added or removed with all of their files."""
    if not added_or_removed and all((old.language, old.package) == (new.language, new.package) for old, new in changed):
        return
    before, after = (
        _add_outer_packages({f"{row.language}:{row.package}" for row in generation_rows})
        for generation_rows in (old_rows, rows)
    )
    yield from (f"namespace:{name}" for name in before ^ after)


def _add_outer_packages(packages: Collection[str]) -> set[str]:
    """Return packages, prefixed by language and colon, with all enclosing packages."""
    names: set[str] = set()
    for package in packages:
        parts = package.split(".")
        names.update(".".join(parts[:length]) for length in range(1, len(parts) + 1))
    return names


class _DependencyIndex:
    """Dependencies of the edges of each file.

    Args:
        last: The facts of the last generation.
        rows: The same facts as rows.
    """

    def __init__(self, last: "pa.Table", rows: Sequence[FactsRow]) -> None:
        self._last = last
        self._rows = rows
        lists = last["consulted"].combine_chunks()
        self._consulted: IntArray = lists.flatten().to_numpy()
        self._consumers: IntArray = lists.value_parent_indices().to_numpy()

    def find_dependents(self, files: Collection[int], keys: Collection[str]) -> NDArray[np.bool_]:
        """Return for each file whether its edges depend on any of the files or keys."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s
        import pyarrow.compute as pc  # noqa: PLC0415

        is_dependent = np.zeros(len(self._rows), bool)
        is_dependent[self._consumers[np.isin(self._consulted, sorted(files))]] = True
        lists = self._last["names"].combine_chunks()
        is_match = pc.is_in(lists.flatten(), value_set=pa.array(sorted(keys), pa.string()))
        is_dependent[lists.value_parent_indices().to_numpy()[is_match.to_numpy(zero_copy_only=False)]] = True
        return is_dependent

    def find_name_dependents(self, file: int, names: Collection[str]) -> NDArray[np.bool_]:
        """Return for each file whether it may have looked up one of some names in a file.

        It cannot have if the name occurs neither in it nor in another file that it consulted; see `interface_diff`.
        """
        is_dependent = np.zeros(len(self._rows), bool)
        consumers = np.unique(self._consumers[self._consulted == file])
        is_consumer = np.isin(self._consumers, consumers)
        words = [strip_arity(name).encode() for name in names]
        consulted = np.unique(self._consulted[is_consumer])
        has_name = np.zeros_like(is_dependent)
        has_name[[other for other in consulted.tolist() if other != file and self._has_any_word(other, words)]] = True
        is_dependent[self._consumers[is_consumer & has_name[self._consulted]]] = True
        for consumer in consumers[~is_dependent[consumers]].tolist():
            row = self._rows[consumer]
            is_dependent[consumer] = self._has_any_word(consumer, words) or any(word in row.body for word in words)
        return is_dependent

    def _has_any_word(self, file: int, words: Sequence[bytes]) -> bool:
        row = self._rows[file]
        path = row.path.encode()
        return any(word in row.interface or word in path for word in words)
