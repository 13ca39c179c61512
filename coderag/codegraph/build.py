"""Build the code graph of a generation: link what changed and what depended on it, keep the rest."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from coderag.codegraph.assembly import Assembly, ranked
from coderag.codegraph.linking.parallel import link_files
from coderag.codegraph.linking.program import FactsRow, Program, declared_names
from coderag.codegraph.scip.imported import ImportedEdges, apply_edges
from coderag.codegraph.staleness import stale_files
from coderag.collector import collector_paused
from coderag.facts import FileFacts
from coderag.schema import FileRecord
from coderag.stores.disk import replace_file, storage_errors
from coderag.stores.facts_bytes import PackedFacts, pack_facts, unpack_interface
from coderag.stores.graph_tables import GraphTables

LINKING_VERSION = 3
"""Raised when the same facts would give other edges, or other keys of what edges depend on; all files are then linked again."""

_IMPORTED_FILE = "scip-edges.arrow"


class GraphBuilder:
    """Makes the code graph of each generation of an index.

    Args:
        imported: Edges of a SCIP index, which replace those that are linked.
        processes: How many may link, this one included.
    """

    def __init__(self, imported: ImportedEdges | None = None, *, processes: int = 1) -> None:
        self._imported = imported
        self._processes = processes
        digest = sha256(imported.to_bytes()).hexdigest()[:12] if imported else ""
        self.version = f"{LINKING_VERSION}{digest and '-'}{digest}"
        """What the edges depend on beside the files; another one means to link all of them again."""

    def build(
        self,
        last: GraphTables | None,
        files: Sequence[FileRecord],
        facts: Mapping[str, PackedFacts],
        *,
        relink: bool = False,
    ) -> GraphTables:
        """Return the code graph of all indexed files: the same whether built at once or step by step.

        Args:
            last: The graph of the last generation, with its facts; None to build all of it.
            files: The record of every candidate file.
            facts: Of the files that were read since; of the others, those of `last` hold.
            relink: Whether to link all files.
        """
        with collector_paused():
            return self._build(last, files, facts, relink=relink)

    def _build(
        self,
        last: GraphTables | None,
        files: Sequence[FileRecord],
        facts: Mapping[str, PackedFacts],
        *,
        relink: bool,
    ) -> GraphTables:
        old_rows = _stored_rows(last)
        known = {row.path: row for row in old_rows}
        empty = pack_facts(FileFacts(""))
        rows: list[FactsRow] = []
        interfaces: dict[int, FileFacts] = {}
        indexed = (record for record in files if record.outcome == "indexed")
        for record in sorted(indexed, key=lambda record: record.path):
            packed = facts.get(record.path)
            if packed is None and record.path in known:
                rows.append(known[record.path]._replace(role=record.role))
            else:
                packed = packed or empty
                interfaces[len(rows)] = interface = unpack_interface(packed.interface)
                rows.append(_read_row(record, packed, interface))
        program = Program(rows, interfaces)
        stale: Sequence[int] = range(len(rows))
        if last is not None and not relink:
            stale = stale_files(last.facts, old_rows, program, facts)
        linked = link_files(program, stale, processes=self._processes)
        tables = Assembly(program, linked, last).tables()
        if self._imported is not None:
            hashes = {record.path: record.hash for record in files}
            tables = tables._replace(edges=apply_edges(tables, self._imported, hashes).edges)
        return ranked(tables, last)


def read_imported(directory: Path) -> ImportedEdges | None:
    """Return the edges of a SCIP index that were imported into an index; None if none were.

    Raises:
        StoreError: They are damaged.
    """
    path = directory / _IMPORTED_FILE
    if not path.exists():
        return None
    with storage_errors(f"read {path}"):
        return ImportedEdges.from_bytes(path.read_bytes())


def keep_imported(directory: Path, imported: ImportedEdges) -> None:
    """Keep the edges of a SCIP index beside an index, for all generations to come."""
    replace_file(directory / _IMPORTED_FILE, imported.to_bytes())


def _read_row(record: FileRecord, packed: PackedFacts, interface: FileFacts) -> FactsRow:
    configures = bool(interface.settings)
    described = (record.path, record.language, record.role, record.lines, interface.package, configures)
    return FactsRow(*described, declared_names(interface), *packed)


def _stored_rows(last: GraphTables | None) -> list[FactsRow]:
    if last is None:
        return []
    return [FactsRow(*row) for row in zip(*(last.facts[name].to_pylist() for name in FactsRow._fields), strict=True)]
