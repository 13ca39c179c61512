"""Which files have to be linked again after some changed: those that were read, and those whose edges depend on them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.interface_change import InterfaceChange, interface_change
from coderag.codegraph.linking.overloads import strip_arity
from coderag.codegraph.linking.program import FactsRow, Program
from coderag.schema.facts import Base, Definition
from coderag.stores.facts_codec import PackedFacts, unpack_interface

if TYPE_CHECKING:
    import pyarrow as pa

IntArray = NDArray[np.int64]

_MOST_NAMES: Final = 16
"""If more names of a file changed, all who asked it are linked again: to look for each name takes time, too."""


class Stale(NamedTuple):
    """What has to be done again.

    Attributes:
        files: Numbers of the files to link.
        moved: For files whose interface changed, by their old number, the new position of each old definition; -1 if gone.
    """

    files: Sequence[int]
    moved: Mapping[int, IntArray]


def stale_files(
    last: "pa.Table", old_rows: Sequence[FactsRow], program: Program, facts: Mapping[str, PackedFacts]
) -> Stale:
    """Return which files to link.

    Args:
        last: The facts of the last generation, with what each file's edges depend on; see
            `coderag.stores.graph_tables.build_facts_schema`.
        old_rows: The same, as rows.
        program: The files as they are now.
        facts: Of the files that were read since.
    """
    difference = _difference(old_rows, program)
    if not old_rows or difference.moves_modules:
        return Stale(range(len(program.rows)), {})
    changes = {number: change for number, rows in difference.changed.items() if (change := _change(*rows))}
    asked = _Asked(last, old_rows)
    whole = {*difference.removed, *difference.changed}.difference(changes)
    dependent = asked.anything(whole, _keys(difference, changes, old_rows, program.rows))
    for number, change in changes.items():
        dependent |= asked.for_names(number, change.names)
    paths = (old_rows[number].path for number in np.flatnonzero(dependent).tolist())
    shown_anew = (row.path for row in chain(difference.added, (row for _, row in difference.changed.values())))
    again = {*paths, *facts, *shown_anew}
    files = sorted(program.file_by_path[path] for path in again if path in program.file_by_path)
    return Stale(files, {number: change.moved for number, change in changes.items()})


class _Difference(NamedTuple):
    """What others may see that is different.

    Attributes:
        added: Files that are new.
        removed: Files that are gone, by old number.
        changed: Files that show something else, by old number: before and now.
    """

    added: Sequence[FactsRow]
    removed: Mapping[int, FactsRow]
    changed: Mapping[int, tuple[FactsRow, FactsRow]]

    @property
    def came_or_went(self) -> list[FactsRow]:
        """The files that were or are there, but not both."""
        return [*self.added, *self.removed.values()]

    @property
    def moves_modules(self) -> bool:
        """Whether it may be another one for any file where modules are found."""
        return any(row.configures for row in chain(self.came_or_went, *self.changed.values()))


def _difference(old_rows: Sequence[FactsRow], program: Program) -> _Difference:
    old_of = {row.path: number for number, row in enumerate(old_rows)}
    return _Difference(
        [row for row in program.rows if row.path not in old_of],
        {number: old_rows[number] for path, number in old_of.items() if path not in program.file_by_path},
        {
            number: (old_rows[number], row)
            for row in program.rows
            if (number := old_of.get(row.path, -1)) >= 0 and _outside(row) != _outside(old_rows[number])
        },
    )


def _change(old: FactsRow, new: FactsRow) -> InterfaceChange | None:
    """Return what is different in a file, if it can be told by names and these are not too many."""
    if (old.language, old.role) != (new.language, new.role):
        return None
    change = interface_change(unpack_interface(old.interface), unpack_interface(new.interface))
    return change if change is not None and len(change.names) <= _MOST_NAMES else None


def _keys(
    difference: _Difference,
    changes: Mapping[int, InterfaceChange],
    old_rows: Sequence[FactsRow],
    rows: Sequence[FactsRow],
) -> set[str]:
    """Return the keys of all that may change, see `Program.note`.

    Args:
        changes: Of the files of which names tell what is different, by old number.
    """
    came_or_went, changed = difference.came_or_went, difference.changed
    others = (pair for number, pair in changed.items() if number not in changes)
    return {
        *(key for row in came_or_went for key in _path_keys(row.path)),
        *(key for row in chain(came_or_went, *others) for key in _interface_keys(row)),
        *(key for number, change in changes.items() for key in _change_keys(old_rows[number], change)),
        *_unknown_keys(difference.added, changed.values()),
        *_namespace_keys(old_rows, rows, came_or_went, changed.values()),
    }


def _outside(row: FactsRow) -> tuple[str, str, bytes]:
    """Return what others may see of a file."""
    return row.language, row.role, row.digest


def _path_keys(path: str) -> Iterator[str]:
    """Yield the keys of what may change because there is a file or no longer: see `Program.note`."""
    *folders, filename = path.split("/")
    for name in (*folders, filename.partition(".")[0]):
        yield f"module:{name}"
    yield f"folder:{'/'.join(folders)}"
    yield f"path:{path}"


def _interface_keys(row: FactsRow) -> Iterator[str]:
    """Yield the keys of what may change because of what a file declares."""
    facts = unpack_interface(row.interface)
    yield f"package:{facts.package}"
    if any(one.exported and one.name == "*" for one in facts.imports):
        yield f"namespace:{facts.language}:*"
    yield from _declaration_keys(facts.language, facts.definitions, facts.bases)
    yield from _folder_keys(row.path, row.declares)


def _change_keys(row: FactsRow, change: InterfaceChange) -> Iterator[str]:
    """Yield the keys of what may change because some names of a file mean something else."""
    yield from _declaration_keys(row.language, change.definitions, change.bases)
    yield from _folder_keys(row.path, change.names)


def _declaration_keys(language: str, definitions: Sequence[Definition], bases: Sequence[Base]) -> Iterator[str]:
    blocks = {f"{language}:{one.qualified_name}" for one in definitions if one.kind == "namespace"}
    yield from (f"namespace:{name}" for name in _with_outer(blocks))
    for name in {one.name for one in definitions}:
        yield f"name:{language}:{name}"
        yield f"name:*:{name}"
    yield from {f"member:{language}:{one.owner}" for one in definitions if one.owner}
    yield from {f"base:{language}:{one.chain.rpartition('.')[2]}" for one in bases}


def _folder_keys(path: str, names: Iterable[str]) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    return (f"in:{folder}:{strip_arity(name)}" for name in names)


def _unknown_keys(added: Iterable[FactsRow], changed: Iterable[tuple[FactsRow, FactsRow]]) -> Iterator[str]:
    """Yield the keys of names that something may have now."""
    new = [set(row.declares) for row in added]
    new += [set(row.declares).difference(old.declares if old.language == row.language else ()) for old, row in changed]
    return (f"unknown:{name}" for names in new for name in names)


def _namespace_keys(
    old_rows: Sequence[FactsRow],
    rows: Sequence[FactsRow],
    came_or_went: Sequence[FactsRow],
    changed: Iterable[tuple[FactsRow, FactsRow]],
) -> Iterator[str]:
    """Yield the keys of packages that came or went with all of their files."""
    if not came_or_went and all((old.language, old.package) == (new.language, new.package) for old, new in changed):
        return
    before, after = (_with_outer({f"{row.language}:{row.package}" for row in some}) for some in (old_rows, rows))
    yield from (f"namespace:{name}" for name in before ^ after)


def _with_outer(packages: Collection[str]) -> set[str]:
    """Return packages, after the language and a colon, and those around them."""
    found: set[str] = set()
    for package in packages:
        parts = package.split(".")
        found.update(".".join(parts[:length]) for length in range(1, len(parts) + 1))
    return found


class _Asked:
    """What the edges of files depend on.

    Args:
        last: The facts of the last generation.
        rows: The same, as rows.
    """

    def __init__(self, last: "pa.Table", rows: Sequence[FactsRow]) -> None:
        self._last = last
        self._rows = rows
        lists = last["consulted"].combine_chunks()
        self._asked: IntArray = lists.flatten().to_numpy()
        self._asking: IntArray = lists.value_parent_indices().to_numpy()

    def anything(self, files: Collection[int], keys: Collection[str]) -> NDArray[np.bool_]:
        """Return for each file whether its edges depend on one of some files or keys."""
        import pyarrow as pa  # noqa: PLC0415 - 0.1 s
        import pyarrow.compute as pc  # noqa: PLC0415

        found = np.zeros(len(self._rows), bool)
        found[self._asking[np.isin(self._asked, sorted(files))]] = True
        lists = self._last["names"].combine_chunks()
        is_wanted = pc.is_in(lists.flatten(), value_set=pa.array(sorted(keys), pa.string()))
        found[lists.value_parent_indices().to_numpy()[is_wanted.to_numpy(zero_copy_only=False)]] = True
        return found

    def for_names(self, file: int, names: Collection[str]) -> NDArray[np.bool_]:
        """Return for each file whether it may have asked a file for one of some names.

        It did not if the name is neither in it nor in another file that it asked: see `interface_change`.
        """
        found = np.zeros(len(self._rows), bool)
        askers = np.unique(self._asking[self._asked == file])
        is_asker = np.isin(self._asking, askers)
        words = [strip_arity(name).encode() for name in names]
        others = np.unique(self._asked[is_asker])
        has_name = np.zeros_like(found)
        has_name[[other for other in others.tolist() if other != file and self._shows(other, words)]] = True
        found[self._asking[is_asker & has_name[self._asked]]] = True
        for asker in askers[~found[askers]].tolist():
            row = self._rows[asker]
            found[asker] = self._shows(asker, words) or any(word in row.body for word in words)
        return found

    def _shows(self, file: int, words: Sequence[bytes]) -> bool:
        row = self._rows[file]
        path = row.path.encode()
        return any(word in row.interface or word in path for word in words)
