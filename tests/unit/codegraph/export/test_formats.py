import pytest

from coderag.codegraph.export.formats import stream_graph
from coderag.errors import StoreError
from coderag.stores.disk import write_chunks
from tests.support.shop_graph import shop_graph


def fail_halfway():
    yield b"half"
    raise RuntimeError("no more")


def test_failed_export_keeps_the_old_file(tmp_path):
    path = tmp_path / "graph.json"
    path.write_text("old")
    with pytest.raises(StoreError, match="Cannot write"):
        write_chunks(path, fail_halfway())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_missing_folder_raises(tmp_path):
    with pytest.raises(StoreError, match="Cannot write"):
        write_chunks(tmp_path / "none" / "graph.json", [b""])


@pytest.mark.parametrize(
    ("to", "start"),
    [
        ("json", b'{"format":1'),
        ("graphml", b"<?xml"),
        ("cypher", b"// The code graph of shop, for neo4j."),
        ("neo4j", b"// The code graph of shop, for neo4j."),
        ("memgraph", b"// The code graph of shop, for memgraph."),
    ],
)
def test_every_format_produces_its_text(to, start):
    assert b"".join(stream_graph(shop_graph(), to, "shop")).startswith(start)
