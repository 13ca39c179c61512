"""Builder of a generation's code graph. Imports the linker only when a graph is built."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from coderag.schema.chunks import FileRecord
from coderag.stores.disk import map_storage_errors, replace_file
from coderag.stores.facts_codec import PackedFacts
from coderag.stores.graph_tables import GraphTables
from coderag.system.gc_tuning import pause_gc
from coderag.system.process_messages import HelperProcesses

if TYPE_CHECKING:
    from coderag.codegraph.scip.imported_edges import ImportedEdges

LINKING_VERSION = 8
"""Incremented when the same facts give other edges or dependency keys; all files are then linked again."""

_IMPORTED_FILE = "scip-edges.arrow"


class CodeGraphBuilder:
    """Builds the code graph of each generation of an index.

    Args:
        imported: Edges of a SCIP index, which replace linked edges of the files that it covers.
        helpers: Worker processes that share the linking.
    """

    def __init__(self, imported: "ImportedEdges | None" = None, helpers: HelperProcesses | None = None) -> None:
        self._imported = imported
        self._helpers = helpers
        digest = sha256(imported.to_bytes()).hexdigest()[:12] if imported else ""
        self.version = f"{LINKING_VERSION}{digest and '-'}{digest}"
        """Version of linking and of the imported edges; a change of it relinks all files."""

    def declare(self, files: Sequence[FileRecord], facts: Mapping[str, PackedFacts]) -> GraphTables:
        """Return the graph of a first generation before its files are linked: declarations without edges.

        Args:
            files: The record of every candidate file.
            facts: Facts of all indexed files.
        """
        from coderag.codegraph.incremental_build import declare_graph  # noqa: PLC0415  # as below

        with pause_gc():
            return declare_graph(files, facts)

    def build(
        self,
        last: GraphTables | None,
        files: Sequence[FileRecord],
        facts: Mapping[str, PackedFacts],
        *,
        relink: bool = False,
    ) -> GraphTables:
        """Return the code graph of all indexed files; an incremental build equals a build from scratch.

        Args:
            last: The graph of the last generation with its facts; None builds from scratch.
            files: The record of every candidate file.
            facts: Facts of the files that were read since; those of `last` hold for all others.
            relink: Whether to link all files.
        """
        from coderag.codegraph.incremental_build import build_graph  # noqa: PLC0415  # a run without changes never loads the linker

        with pause_gc():
            return build_graph(last, files, facts, self._imported, relink=relink, helpers=self._helpers)


def load_imported_edges(directory: Path) -> "ImportedEdges | None":
    """Return the imported SCIP edges of an index; None if none were imported.

    Raises:
        StoreError: The file is damaged.
    """
    path = directory / _IMPORTED_FILE
    if not path.exists():
        return None
    from coderag.codegraph.scip.imported_edges import ImportedEdges  # noqa: PLC0415  # few indexes have imported edges

    with map_storage_errors(f"read {path}"):
        return ImportedEdges.from_bytes(path.read_bytes())


def save_imported_edges(directory: Path, imported: "ImportedEdges") -> None:
    """Save imported SCIP edges in the index folder, for all later generations."""
    replace_file(directory / _IMPORTED_FILE, imported.to_bytes())
