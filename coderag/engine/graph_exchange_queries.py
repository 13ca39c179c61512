"""Exchange of the code graph with other systems, as the facade offers it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from coderag.config.settings import Settings
from coderag.stores.index_store import IndexStore

if TYPE_CHECKING:
    from llama_index.core.graph_stores.types import PropertyGraphStore

    from coderag.codegraph.export.formats import ExportFormat
    from coderag.codegraph.property_graph.store import PropertyGraphCounts, ServerKind


class GraphExchange:
    """Base class of the facade: the code graph in files and property graphs."""

    root: Path
    settings: Settings
    _store: IndexStore

    @property
    def _project(self) -> str:
        return self.settings.project or self.root.name

    def export_graph(self, to: "ExportFormat" = "json") -> Iterator[bytes]:
        """Yield the code graph in an exchange format, in pieces.

        Args:
            to: ``json``, ``graphml``, or Cypher as Neo4j (``cypher``, ``neo4j``) or ``memgraph`` read it.
        """
        from coderag.codegraph.export.formats import stream_graph  # noqa: PLC0415  # only this method needs it

        return stream_graph(self._store.open().read_graph(), to, self._project)

    def send_graph(self, to: "ServerKind") -> "PropertyGraphCounts":
        """Replace this repository's graph in the configured property graph.

        Raises:
            ConfigurationError: ``graph.url`` is not set, or the extra for the server is not installed.
            StoreError: The server is unreachable or rejects the graph.
        """
        from coderag.engine.graph_exchange import send_graph  # noqa: PLC0415  # an extra

        return send_graph(self._store, self._project, to, self.settings.graph)

    def open_property_graph(self, path: Path | None = None) -> "PropertyGraphStore":
        """Open the configured property graph for Cypher queries.

        The embedded one holds the current graph; a server holds what `send_graph` sent.

        Args:
            path: File of the embedded database, which must not exist yet; None keeps it in memory.

        Raises:
            ConfigurationError: ``graph.url`` is not set, or the extra is not installed.
            StoreError: The database cannot be opened, or the server cannot be reached.
        """
        from coderag.engine.graph_exchange import open_property_graph  # noqa: PLC0415  # an extra

        return open_property_graph(self._store, self._project, path, self.settings.graph)
