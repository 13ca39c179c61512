"""Incremental build of a code graph: link changed files and their dependents, keep all other edges."""

from collections.abc import Mapping, Sequence

from coderag.codegraph.graph_table_builder import GraphTableBuilder, add_centrality
from coderag.codegraph.linking.linked_files import LinkedFiles
from coderag.codegraph.linking.linker import LinkedFile
from coderag.codegraph.linking.parallel_linker import link_files
from coderag.codegraph.linking.program import (
    Dependencies,
    FactsRow,
    InterfaceCache,
    Program,
    collect_base_names,
    collect_declared_names,
    collect_namespace_names,
)
from coderag.codegraph.scip.imported_edges import ImportedEdges, apply_edges
from coderag.codegraph.staleness import StaleFiles, find_stale_files
from coderag.schema.chunks import FileRecord
from coderag.schema.facts import FileFacts
from coderag.stores.facts_codec import PackedFacts, pack_facts, unpack_interface
from coderag.stores.graph_tables import GraphTables
from coderag.system.process_messages import HelperProcesses


def declare_graph(files: Sequence[FileRecord], facts: Mapping[str, PackedFacts]) -> GraphTables:
    """Return the code graph of all indexed files before they are linked: their declarations, without edges."""
    program = _build_program([], files, facts)
    linked = LinkedFiles()
    for file in range(len(program.rows)):
        linked.add(file, LinkedFile([], Dependencies()))
    return GraphTableBuilder(program, linked, None, {}).build_tables()


def build_graph(
    last: GraphTables | None,
    files: Sequence[FileRecord],
    facts: Mapping[str, PackedFacts],
    imported: ImportedEdges | None,
    *,
    relink: bool,
    helpers: HelperProcesses | None,
) -> GraphTables:
    """Return the code graph of all indexed files; arguments as for `CodeGraphBuilder.build`."""
    old_rows = _load_rows(last)
    program = _build_program(old_rows, files, facts)
    stale = StaleFiles(range(len(program.rows)), {})
    if last is not None and not relink:
        stale = find_stale_files(last.facts, old_rows, program, facts)
    linked = link_files(program, stale.files, helpers=helpers)
    tables = GraphTableBuilder(program, linked, last, stale.new_positions).build_tables()
    if imported is not None:
        hashes = {record.path: record.hash for record in files}
        tables = tables._replace(edges=apply_edges(tables, imported, hashes).edges)
    return add_centrality(tables, last)


def _build_program(
    old_rows: Sequence[FactsRow], files: Sequence[FileRecord], facts: Mapping[str, PackedFacts]
) -> Program:
    """Build the program of all indexed files from new facts, and from those of the last generation."""
    old_rows_by_path = {row.path: row for row in old_rows}
    empty_facts = pack_facts(FileFacts(""))
    rows: list[FactsRow] = []
    interfaces = InterfaceCache(rows)
    indexed = (record for record in files if record.outcome == "indexed")
    for record in sorted(indexed, key=lambda record: record.path):
        packed = facts.get(record.path)
        if packed is None and record.path in old_rows_by_path:
            row = old_rows_by_path[record.path]
            rows.append(row if row.role == record.role else row._replace(role=record.role))
        else:
            packed = packed or empty_facts
            interface = unpack_interface(packed.interface)
            interfaces.add(len(rows), interface, len(packed.interface))
            interfaces.trim()
            rows.append(_read_row(record, packed, interface))
    return Program(rows, interfaces)


def _read_row(record: FileRecord, packed: PackedFacts, interface: FileFacts) -> FactsRow:
    configures = bool(interface.settings)
    file_columns = (record.path, record.language, record.role, record.lines, interface.package, configures)
    names = (collect_declared_names(interface), collect_base_names(interface), collect_namespace_names(interface))
    return FactsRow(*file_columns, *names, *packed)


def _load_rows(last: GraphTables | None) -> list[FactsRow]:
    if last is None:
        return []
    return [FactsRow(*row) for row in zip(*(last.facts[name].to_pylist() for name in FactsRow._fields), strict=True)]
