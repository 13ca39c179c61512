"""Which files have to be linked again after some changed: those that were read, and those whose edges depend on them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.linking.program import FactsRow, Program
from coderag.facts import FileFacts
from coderag.stores.facts_bytes import PackedFacts, unpack_interface

if TYPE_CHECKING:
    import pyarrow as pa


def stale_files(
    last: "pa.Table", old_rows: Sequence[FactsRow], program: Program, facts: Mapping[str, PackedFacts]
) -> list[int]:
    """Return the numbers of the files to link.

    Args:
        last: The facts of the last generation, with what each file's edges depend on; see
            `coderag.stores.graph_tables.facts_schema`.
        old_rows: The same, as rows.
        program: The files as they are now.
        facts: Of the files that were read since.
    """
    everything = list(range(len(program.rows)))
    if not old_rows:
        return everything
    old_of = {row.path: number for number, row in enumerate(old_rows)}
    removed = [number for path, number in old_of.items() if path not in program.file_of]
    added = [row for row in program.rows if row.path not in old_of]
    changed = {
        number: row
        for row in program.rows
        if (number := old_of.get(row.path, -1)) >= 0 and _outside(row) != _outside(old_rows[number])
    }
    came_or_went = [*added, *(old_rows[number] for number in removed)]
    altered = [*came_or_went, *changed.values(), *(old_rows[number] for number in changed)]
    interfaces = [unpack_interface(row.interface) for row in altered]
    if any(row.configures for row in altered):
        return everything  # where modules are found may have changed for any file
    keys = {key for row in came_or_went for key in _path_keys(row.path)}
    keys |= {key for one in interfaces for key in _interface_keys(one)}
    keys |= {f"in:{row.path.rpartition('/')[0]}:{name}" for row in altered for name in row.declares}
    keys |= {f"unknown:{name}" for row in added for name in row.declares}
    for number, row in changed.items():
        old = old_rows[number]
        known = old.declares if old.language == row.language else ()
        keys |= {f"unknown:{name}" for name in set(row.declares).difference(known)}
    before, after = (
        _with_outer({f"{row.language}:{row.package}" for row in rows}) for rows in (old_rows, program.rows)
    )
    keys |= {f"namespace:{name}" for name in before ^ after}
    dependent = (old_rows[number].path for number in _dependents(last, {*removed, *changed}, keys))
    again = {*dependent, *facts, *(row.path for row in (*added, *changed.values()))}
    return sorted(program.file_of[path] for path in again if path in program.file_of)


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


def _interface_keys(facts: FileFacts) -> Iterator[str]:
    """Yield the keys of what may change because of what a file declares."""
    yield f"package:{facts.package}"
    blocks = {f"{facts.language}:{one.qualified_name}" for one in facts.definitions if one.kind == "namespace"}
    yield from (f"namespace:{name}" for name in _with_outer(blocks))
    if any(one.exported and one.name == "*" for one in facts.imports):
        yield f"namespace:{facts.language}:*"
    for language in (facts.language, "*"):
        yield from (f"name:{language}:{one.name}" for one in facts.definitions)
    yield from (f"member:{facts.language}:{one.owner}" for one in facts.definitions if one.owner)
    yield from (f"base:{facts.language}:{one.chain.rpartition('.')[2]}" for one in facts.bases)


def _with_outer(packages: Collection[str]) -> set[str]:
    """Return packages, after the language and a colon, and those around them."""
    found: set[str] = set()
    for package in packages:
        parts = package.split(".")
        found.update(".".join(parts[:length]) for length in range(1, len(parts) + 1))
    return found


def _dependents(facts: "pa.Table", files: Collection[int], keys: Collection[str]) -> NDArray[np.int64]:
    """Return the rows of the files whose edges depend on one of some files or keys."""
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s
    import pyarrow.compute as pc  # noqa: PLC0415

    found = np.zeros(len(facts), bool)
    wanted = {"consulted": pa.array(sorted(files), pa.int32()), "names": pa.array(sorted(keys), pa.string())}
    for column, values in wanted.items():
        lists = facts[column].combine_chunks()
        is_wanted = pc.is_in(lists.flatten(), value_set=values).to_numpy(zero_copy_only=False)
        found[lists.value_parent_indices().to_numpy()[is_wanted]] = True
    return np.flatnonzero(found)
