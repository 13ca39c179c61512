import io
from xml.etree import ElementTree as ET

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.codegraph.export.graphml import stream_graphml
from tests.support.graph_tables import make_tables
from tests.support.shop_graph import HOSTILE, shop_graph


def read(tables):
    return nx.read_graphml(io.BytesIO(b"".join(stream_graphml(tables))), force_multigraph=True)


@pytest.fixture
def shop():
    return read(shop_graph())


def test_networkx_reads_nodes_with_their_properties(shop):
    by_name = {data["qualified_name"]: data for _, data in shop.nodes(data=True)}
    assert len(by_name) == 20
    assert by_name["Cart.total"] == {
        "kind": "method", "name": "total", "qualified_name": "Cart.total", "path": "shop/cart.py", "language": "python",
        "role": "source", "start_line": 4, "end_line": 9, "centrality": 0.0,
    }  # fmt: skip
    assert by_name["json"]["kind"] == "external"
    assert HOSTILE in by_name


def test_networkx_reads_edges_and_containment(shop):
    name = shop.nodes(data="qualified_name")
    edges = {
        (name[source], data["relation"], name[target], data["line"]): data
        for source, target, data in shop.edges(data=True)
    }
    assert edges["Cart.total", "calls", "Item.cost", 7]["confidence"] == pytest.approx(0.9)
    assert ("Cart.total", "calls", "Item.cost", 5) in edges
    assert ("Cart", "contains", "Cart.total", 4) in edges
    assert ("shop/cart.py", "contains", "Cart", 1) in edges
    assert ("Cart.total", "calls", "Gift.cost", 5) not in edges  # a candidate
    assert len(edges) == 18 + 13


@given(st.text(min_size=1, max_size=30))
def test_names_round_trip_except_invalid_xml_characters(name):
    tables = make_tables({"a.py": [("f", "function", 1, 1)]})
    nodes = tables.nodes.set_column(1, "name", [["a.py", name]])
    text = b"".join(stream_graphml(tables._replace(nodes=nodes)))
    root = ET.fromstring(text)
    space = "{http://graphml.graphdrawing.org/xmlns}"
    names = [data.text for data in root.iter(f"{space}data") if data.get("key") == "node_name"]
    held = "".join(
        node if node in "\t\n\r" or (ord(node) >= 32 and ord(node) not in (0xFFFE, 0xFFFF)) else "\ufffd"
        for node in name
    )
    assert names[1] == held


def test_empty_graph_is_valid_graphml():
    assert len(read(make_tables({}))) == 0
