"""Property graphs on Neo4j and Memgraph servers, through LlamaIndex's store classes."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final

import neo4j
from llama_index.core.graph_stores.types import PropertyGraphStore

from coderag.codegraph.export.cypher import Dialect, build_load_statements, build_schema_statements
from coderag.codegraph.property_graph.labelled_graph import LabelledGraph
from coderag.codegraph.property_graph.schema import LABELS
from coderag.errors import ConfigurationError, StoreError

_LLAMA_INDEX_LABELS: Final = ("__Node__", "__Entity__")
"""Labels by which LlamaIndex's classes find nodes."""

_LOAD_BATCH_ROWS: Final = 2_000
_DELETE_BATCH_NODES: Final = 5_000


def open_server(
    dialect: Dialect, *, url: str, user: str = "", password: str = "", database: str = "", timeout_s: float = 30.0
) -> PropertyGraphStore:
    """Connect to a server.

    Args:
        dialect: Kind of server.
        url: Address, such as ``bolt://localhost:7687`` or ``neo4j+s://host``.
        user, password: Credentials; empty if the server requires none.
        database: Name of the database; empty for the default, which is named like the server.
        timeout_s: Connection timeout in seconds.

    Raises:
        ConfigurationError: The address is invalid.
        StoreError: The server is unreachable or refuses the connection.
    """
    timeouts: dict[str, Any] = dict.fromkeys(
        ("connection_timeout", "connection_acquisition_timeout", "max_transaction_retry_time"), timeout_s
    )
    options: dict[str, Any] = {
        "username": user,
        "password": password,
        "url": url,
        "database": database or dialect,
        "refresh_schema": False,  # needs APOC on Neo4j, and scans the whole database on both
        **timeouts,
    }
    with map_server_errors(dialect, url):
        # Checked first, because LlamaIndex's classes leak their driver on failure.
        with neo4j.GraphDatabase.driver(url, auth=(user, password), **timeouts) as driver:
            driver.verify_connectivity()
        if dialect == "neo4j":
            from llama_index.graph_stores.neo4j import Neo4jPropertyGraphStore  # noqa: PLC0415 - an extra

            store: PropertyGraphStore = Neo4jPropertyGraphStore(**options)
        else:
            from llama_index.graph_stores.memgraph import MemgraphPropertyGraphStore  # noqa: PLC0415 - an extra

            store = MemgraphPropertyGraphStore(**options)
        return store


def load_server(store: PropertyGraphStore, dialect: Dialect, url: str, graph: LabelledGraph) -> None:
    """Replace a project on a server. Other projects are not touched; after a failure, run it again.

    Args:
        store: Store from `open_server`.
        dialect, url: Arguments of `open_server`.
        graph: The project.

    Raises:
        StoreError: The server became unreachable or refuses a statement.
    """
    with map_server_errors(dialect, url):
        for statement in build_schema_statements(dialect):
            store.structured_query(statement)
        project = {"project": graph.project, "limit": _DELETE_BATCH_NODES}
        for label in LABELS:
            delete = f"MATCH (n:{label} {{project: $project}}) WITH n LIMIT $limit DETACH DELETE n RETURN count(*) AS n"
            while store.structured_query(delete, project)[0]["n"]:
                pass
        for statement, rows in build_load_statements(graph, _LOAD_BATCH_ROWS, _LLAMA_INDEX_LABELS):
            store.structured_query(f"UNWIND $rows AS row {statement}", {"rows": rows})


def close_server(store: PropertyGraphStore) -> None:
    """Close a store from `open_server`."""
    store.client.close()
    async_driver = getattr(store, "_async_driver", None)
    if async_driver is not None:  # Neo4jPropertyGraphStore.close leaves it open
        with ThreadPoolExecutor(1) as pool:  # this thread may run an event loop
            pool.submit(asyncio.run, async_driver.close()).result()


@contextmanager
def map_server_errors(dialect: Dialect, url: str) -> Iterator[None]:
    """Map errors of the driver to CodeRAG's errors."""
    name = {"neo4j": "Neo4j", "memgraph": "Memgraph"}[dialect]
    try:
        yield
    except neo4j.exceptions.AuthError as error:
        raise StoreError(
            f"{name} at {url} rejects the user name or password", hint="Check graph.user and graph.password."
        ) from error
    except (neo4j.exceptions.ConfigurationError, ValueError) as error:
        message = f"graph.url: {url!r} is not a valid address of a {name} server: {error}"
        raise ConfigurationError(message, hint="Write it as bolt://host:7687.") from error
    except neo4j.exceptions.DriverError as error:
        hint = f"Start {name}, or check graph.url. No other feature needs it."
        raise StoreError(f"{name} at {url} cannot be reached: {error}", hint=hint) from error
    except neo4j.exceptions.Neo4jError as error:
        raise StoreError(f"{name} at {url} rejects a statement: {error.message}", hint=error.code or "") from error
