import sys

import pytest

from coderag.codegraph.property_graph.store import GraphServer, connect, open_embedded_graph
from coderag.errors import ConfigurationError
from tests.support.shop_graph import shop_graph


def test_missing_extra_error_for_embedded_graph_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ladybug", None)
    with pytest.raises(ConfigurationError, match="the embedded property graph needs an extra") as caught:
        open_embedded_graph(shop_graph(), "shop")
    assert 'pip install ".[graph-cypher]"' in caught.value.hint


@pytest.mark.parametrize("kind", ["neo4j", "memgraph"])
def test_missing_extra_error_for_server_names_it(monkeypatch, kind):
    monkeypatch.setitem(sys.modules, f"llama_index.graph_stores.{kind}", None)
    monkeypatch.setitem(sys.modules, "llama_index.graph_stores", None)
    with pytest.raises(ConfigurationError, match=f"the graph store '{kind}' needs an extra") as caught:
        connect(kind, GraphServer("bolt://localhost:7687"))
    assert f'pip install ".[{kind}]"' in caught.value.hint
