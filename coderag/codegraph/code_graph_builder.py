"""What makes the code graph of a generation, when one is to be made; until then nothing of it is loaded."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from coderag.schema.chunks import FileRecord
from coderag.stores.disk import map_storage_errors, replace_file
from coderag.stores.facts_codec import PackedFacts
from coderag.stores.graph_tables import GraphTables
from coderag.system.gc_tuning import collector_paused
from coderag.system.process_messages import Helpers

if TYPE_CHECKING:
    from coderag.codegraph.scip.imported_edges import ImportedEdges

LINKING_VERSION = 6
"""Raised when the same facts would give other edges, or other keys of what edges depend on; all files are then linked again."""

_IMPORTED_FILE = "scip-edges.arrow"


class CodeGraphBuilder:
    """Makes the code graph of each generation of an index.

    Args:
        imported: Edges of a SCIP index, which replace those that are linked.
        helpers: Processes that may link too.
    """

    def __init__(self, imported: "ImportedEdges | None" = None, helpers: Helpers | None = None) -> None:
        self._imported = imported
        self._helpers = helpers
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
        from coderag.codegraph.incremental_build import build_graph  # noqa: PLC0415  # a run without changes need not load it

        with collector_paused():
            return build_graph(last, files, facts, self._imported, relink=relink, helpers=self._helpers)


def load_imported_edges(directory: Path) -> "ImportedEdges | None":
    """Return the edges of a SCIP index that were imported into an index; None if none were.

    Raises:
        StoreError: They are damaged.
    """
    path = directory / _IMPORTED_FILE
    if not path.exists():
        return None
    from coderag.codegraph.scip.imported_edges import ImportedEdges  # noqa: PLC0415  # seldom there

    with map_storage_errors(f"read {path}"):
        return ImportedEdges.from_bytes(path.read_bytes())


def save_imported_edges(directory: Path, imported: "ImportedEdges") -> None:
    """Keep the edges of a SCIP index beside an index, for all generations to come."""
    replace_file(directory / _IMPORTED_FILE, imported.to_bytes())
