"""Exchange of the code graph with other programs: property graphs for Cypher queries, and edges from SCIP indexes."""

from pathlib import Path
from typing import TYPE_CHECKING

from coderag.codegraph.code_graph_builder import save_imported_edges
from coderag.codegraph.property_graph import store as property_graphs
from coderag.codegraph.scip.importer import ScipReport, import_edges
from coderag.config.sections import GraphSettings
from coderag.stores.index_store import IndexStore

if TYPE_CHECKING:
    from llama_index.core.graph_stores.types import PropertyGraphStore


def send_graph(
    store: IndexStore, project: str, kind: property_graphs.ServerKind, settings: GraphSettings
) -> property_graphs.PropertyGraphCounts:
    """Replace a project's graph on a server by the current generation's; see `CodeRAG.send_graph`."""
    server = property_graphs.get_server(settings, kind)
    return property_graphs.send_to_server(store.open().read_graph(), project, kind, server)


def open_property_graph(
    store: IndexStore, project: str, path: Path | None, settings: GraphSettings
) -> "PropertyGraphStore":
    """Return the property graph of the settings; the embedded one holds the current generation's graph.

    Args:
        path: Database file; None keeps the database in memory. See `CodeRAG.property_graph`.
    """
    kind = settings.store
    if kind == "embedded":
        return property_graphs.open_embedded_graph(store.open().read_graph(), project, path)
    return property_graphs.connect(kind, property_graphs.get_server(settings, kind))


def import_scip(store: IndexStore, root: Path, path: Path) -> ScipReport:
    """Import the edges of a SCIP index for all later generations; see `CodeRAG.import_scip`.

    Args:
        root: Folder of the repository.
        path: The SCIP index.
    """
    snapshot = store.open()
    tables = snapshot.read_graph()._replace(facts=snapshot.read_facts())
    hashes = {record.path: record.hash for record in snapshot.read_files()}
    imported, report = import_edges(path, tables, hashes, root)
    save_imported_edges(store.directory, imported)
    return report
