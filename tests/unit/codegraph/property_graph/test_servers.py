"""Neo4j and Memgraph, through the official driver and LlamaIndex's classes, against a server that speaks their protocol."""

import socket

import pytest

from coderag.codegraph.property_graph.store import GraphServer, connect, disconnect, send_to_server
from coderag.errors import ConfigurationError, StoreError
from tests.loopback.bolt_server import BoltServer, Refusal
from tests.support.graph_tables import make_tables
from tests.support.shop_graph import shop_graph

pytest.importorskip("neo4j", reason="the extras neo4j and memgraph are not installed")
for module in ("neo4j", "memgraph"):
    pytest.importorskip(f"llama_index.graph_stores.{module}", reason=f"the extra {module} is not installed")

KINDS = ("neo4j", "memgraph")


class Database:
    """Counts what a project has left when it is deleted; everything else answers nothing."""

    def __init__(self):
        self.left = {"Function": 7_000}

    def __call__(self, query, parameters):
        if "dbms.components" in query:
            return ["name", "versions", "edition"], [["Neo4j Kernel", ["5.20.0"], "community"]]
        if "SHOW VERSION" in query:
            return ["version"], [["2.21.0"]]
        if "DETACH DELETE" in query:
            label = query.partition("(n:")[2].partition(" ")[0]
            deleted = min(self.left.get(label, 0), parameters["limit"])
            self.left[label] = self.left.get(label, 0) - deleted
            return ["n"], [[deleted]]
        return [], []


@pytest.fixture
def bolt():
    with BoltServer(Database()) as server:
        yield server


def list_queries(server):
    return [query for query, _ in server.queries]


@pytest.mark.parametrize("kind", KINDS)
def test_load_replaces_the_project(bolt, kind):
    loaded = send_to_server(shop_graph(), "shop", kind, GraphServer(bolt.url, "me", "secret"))
    assert loaded == (21, 36)
    assert ("me", "secret") in bolt.users
    sent = [(query, parameters) for query, parameters in bolt.queries if query.startswith("UNWIND $rows")]
    nodes = [row for query, parameters in sent if "CREATE (n:" in query for row in parameters["rows"]]
    edges = [row for query, parameters in sent if "CREATE (a)" in query for row in parameters["rows"]]
    assert (len(nodes), len(edges)) == (21, 36)
    assert {"id": "shop", "project": "shop", "kind": "project"}.items() <= nodes[0].items()
    calls = next(
        parameters["rows"]
        for query, parameters in sent
        if "(a:Method" in query and ":CALLS " in query and "(b:Method" in query
    )
    assert calls[0]["source"] == "shop:shop/cart.py::Cart.total"
    assert (calls[0]["line"], calls[0]["confidence"]) == (5, pytest.approx(0.9))
    assert all("CREATE (n:Function:__Node__:__Entity__ " in query for query, _ in sent if "(n:Function" in query)


@pytest.mark.parametrize("kind", KINDS)
def test_old_nodes_are_deleted_in_batches_before_loading(bolt, kind):
    send_to_server(make_tables({"a.py": []}), "shop", kind, GraphServer(bolt.url, "me", "secret"))
    deletions = [
        (n, parameters) for n, (query, parameters) in enumerate(bolt.queries) if "(n:Function {project" in query
    ]
    assert len(deletions) == 3  # 5,000, 2,000, and none left
    assert deletions[0][1] == {"project": "shop", "limit": 5_000}
    assert deletions[-1][0] < list_queries(bolt).index(
        next(query for query in list_queries(bolt) if query.startswith("UNWIND"))
    )


@pytest.mark.parametrize(
    ("kind", "index"),
    [("neo4j", "CREATE CONSTRAINT coderag_file_id IF NOT EXISTS"), ("memgraph", "CREATE INDEX ON :File(id)")],
)
def test_index_statements_match_the_dialect_without_apoc(bolt, kind, index):
    send_to_server(make_tables({"a.py": []}), "shop", kind, GraphServer(bolt.url, "me", "secret"))
    assert any(query.startswith(index) for query in list_queries(bolt))
    assert not any("apoc" in query for query in list_queries(bolt))


@pytest.mark.parametrize(
    ("kind", "name"), [("neo4j", "Neo4jPropertyGraphStore"), ("memgraph", "MemgraphPropertyGraphStore")]
)
def test_connection_is_a_llamaindex_store(bolt, kind, name):
    store = connect(kind, GraphServer(bolt.url, "me", "secret"))
    assert type(store).__name__ == name
    store.structured_query("MATCH (n) RETURN n")
    assert bolt.queries[-1] == ("MATCH (n) RETURN n", {})
    disconnect(store)


@pytest.mark.parametrize("kind", KINDS)
def test_unreachable_server_error_names_it(kind):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"bolt://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(StoreError, match=f"(Neo4j|Memgraph) at {url} cannot be reached") as caught:
        send_to_server(shop_graph(), "shop", kind, GraphServer(url, timeout_s=1.0))
    assert "check graph.url" in caught.value.hint


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_password_raises(bolt, kind):
    with pytest.raises(StoreError, match="rejects the user name or password") as caught:
        send_to_server(shop_graph(), "shop", kind, GraphServer(bolt.url, "me", "guess"))
    assert "graph.password" in caught.value.hint
    assert "guess" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("url", ["", "localhost", "http://localhost:7687"])
def test_invalid_address_raises(kind, url):
    with pytest.raises(ConfigurationError, match=r"graph\.url: .* is not a valid address"):
        send_to_server(shop_graph(), "shop", kind, GraphServer(url))


@pytest.mark.parametrize("kind", KINDS)
def test_rejected_statement_raises(kind):
    database = Database()

    def answer(query, parameters):
        if query.startswith("UNWIND"):
            raise Refusal("Neo.ClientError.Statement.AccessMode", "No write operations are allowed")
        return database(query, parameters)

    with BoltServer(answer) as server, pytest.raises(StoreError, match="No write operations are allowed"):
        send_to_server(shop_graph(), "shop", kind, GraphServer(server.url, "me", "secret"))
