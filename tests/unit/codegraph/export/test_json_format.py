import orjson

from coderag.codegraph.export.json_format import stream_json
from coderag.stores.disk import write_chunks
from tests.support.graph_tables import make_tables
from tests.support.shop_graph import HOSTILE, shop_graph


def test_json_contains_every_row():
    graph = orjson.loads(b"".join(stream_json(shop_graph())))
    assert graph["format"] == 1
    assert [node["id"] for node in graph["nodes"]] == list(range(20))
    names = [node["qualified_name"] for node in graph["nodes"]]
    assert graph["nodes"][names.index("Cart.total")] == {
        "id": 4, "kind": "method", "name": "total", "qualified_name": "Cart.total", "path": "shop/cart.py",
        "language": "python", "role": "source", "start_line": 4, "end_line": 9, "parent": names.index("Cart"),
        "centrality": 0.0,
    }  # fmt: skip
    assert HOSTILE in names
    edges = [(names[row["source"]], row["relation"], names[row["target"]], row["line"]) for row in graph["edges"]]
    assert ("Cart.total", "calls", "Item.cost", 7) in edges
    candidate = graph["edges"][edges.index(("Cart.total", "calls", "Gift.cost", 5))]
    assert (candidate["resolver"], candidate["confidence"]) == ("candidates", 0.3)


def test_empty_graph_is_valid_json():
    assert orjson.loads(b"".join(stream_json(make_tables({})))) == {"format": 1, "nodes": [], "edges": []}


def test_large_graph_is_streamed_in_bounded_parts():
    files = {"a.py": [(f"f{n}", "function", n, n) for n in range(1, 12_000)]}
    pieces = list(stream_json(make_tables(files)))
    assert len(orjson.loads(b"".join(pieces))["nodes"]) == 12_000
    assert max(map(len, pieces)) < 1_000_000


def test_export_replaces_the_file_atomically(tmp_path):
    path = tmp_path / "graph.json"
    path.write_text("old")
    size = write_chunks(path, stream_json(shop_graph()))
    assert path.stat().st_size == size
    assert len(orjson.loads(path.read_bytes())["edges"]) == 19
    assert list(tmp_path.iterdir()) == [path]
