"""Opening and loading of the property graph that the settings select."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from coderag.codegraph.property_graph.labelled_graph import LabelledGraph
from coderag.config.sections import GraphSettings
from coderag.errors import ConfigurationError
from coderag.models.extras import require_extra
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE
from coderag.stores.graph_tables import GraphTables

if TYPE_CHECKING:
    from llama_index.core.graph_stores.types import PropertyGraphStore

    from coderag.codegraph.property_graph.embedded_store import EmbeddedPropertyGraphStore

ServerKind = Literal["neo4j", "memgraph"]


class PropertyGraphCounts(NamedTuple):
    """Numbers of nodes, including the project, and of relationships in a property graph."""

    nodes: int
    edges: int


class GraphServer(NamedTuple):
    """Address and credentials of a server; see `coderag.codegraph.property_graph.servers.open_server`."""

    url: str
    user: str = ""
    password: str = ""
    database: str = ""
    timeout_s: float = 30.0


def get_server(settings: GraphSettings, kind: ServerKind) -> GraphServer:
    """Return the server of the settings.

    Raises:
        ConfigurationError: ``graph.url`` is not set.
    """
    if not settings.url:
        hint = f"Set it to the address of {kind}, such as bolt://localhost:7687."
        raise ConfigurationError("graph.url is not set", hint=hint)
    password = settings.password.get_secret_value()
    return GraphServer(settings.url, settings.user, password, settings.database, settings.timeout_s)


def open_embedded_graph(
    tables: GraphTables, project: str, path: Path | None = None, min_confidence: float = MIN_RESOLVED_CONFIDENCE
) -> "EmbeddedPropertyGraphStore":
    """Return an embedded database with a graph, for Cypher queries.

    Args:
        tables: Tables of one generation.
        project: Name of the repository.
        path: Database file, which must not exist; None keeps the database in memory.
        min_confidence: Edges below this confidence, one of several candidates each, are left out.

    Raises:
        ConfigurationError: The extra ``graph-cypher`` is not installed.
        StoreError: The database cannot be opened.
    """
    require_extra("ladybug", "graph-cypher", "the embedded property graph")
    from coderag.codegraph.property_graph.embedded_store import EmbeddedPropertyGraphStore  # noqa: PLC0415 - 2 s, an extra

    store = EmbeddedPropertyGraphStore(path)
    store.load(LabelledGraph(tables, project, min_confidence))
    return store


def connect(kind: ServerKind, server: GraphServer) -> "PropertyGraphStore":
    """Return LlamaIndex's store for a server; `disconnect` it after use.

    Raises:
        ConfigurationError: The server's extra is not installed, or its address is invalid.
        StoreError: The server is unreachable or refuses the connection.
    """
    require_extra(f"llama_index.graph_stores.{kind}", kind, f"the graph store {kind!r}")
    from coderag.codegraph.property_graph.servers import open_server  # noqa: PLC0415 - 2 s, an extra

    return open_server(kind, **server._asdict())


def disconnect(store: "PropertyGraphStore") -> None:
    """Close a store from `connect`."""
    from coderag.codegraph.property_graph.servers import close_server  # noqa: PLC0415 - an extra, known to be installed

    close_server(store)


def send_to_server(
    tables: GraphTables,
    project: str,
    kind: ServerKind,
    server: GraphServer,
    min_confidence: float = MIN_RESOLVED_CONFIDENCE,
) -> PropertyGraphCounts:
    """Replace a project on a server.

    Raises:
        ConfigurationError: As for `connect`.
        StoreError: As for `connect`.
    """
    store = connect(kind, server)
    from coderag.codegraph.property_graph.servers import load_server  # noqa: PLC0415 - an extra, known to be installed

    graph = LabelledGraph(tables, project, min_confidence)
    try:
        load_server(store, kind, server.url, graph)
    finally:
        disconnect(store)
    return PropertyGraphCounts(graph.n_nodes, graph.n_edges)
