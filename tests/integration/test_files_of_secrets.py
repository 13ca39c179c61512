"""A value of a file of secrets leaves no trace: neither in the index, nor in what anybody is shown."""

from coderag.app import CodeRAG

VALUE = "correcthorse"


def test_no_reader_sees_a_value(tmp_path):
    root = tmp_path / "shop"
    root.mkdir()
    (root / ".env").write_text(f"SHOP_DB_PASSWORD={VALUE}\n")
    (root / "app.py").write_text("import os\n\nPASSWORD = os.environ['SHOP_DB_PASSWORD']\n")
    rag = CodeRAG(root, ingestion={"workers": 0})
    rag.index()
    shown = [
        rag.context("where is SHOP_DB_PASSWORD set").text,
        rag.ask("what is SHOP_DB_PASSWORD").text,
        rag.read([".env:1-2"]).text,
        *(hit.text for hit in rag.search("SHOP_DB_PASSWORD")),
        *(match.text for match in rag.search_text("SHOP_DB_PASSWORD").matches),
    ]
    assert any("SHOP_DB_PASSWORD=[value removed]" in text for text in shown)
    assert VALUE not in "\n".join(shown)
    assert not rag.search_text(VALUE).matches
    assert not [
        path for path in (root / ".coderag").rglob("*") if path.is_file() and VALUE.encode() in path.read_bytes()
    ]
    (root / ".env").write_text(f"SHOP_DB_PASSWORD={VALUE}s\nNEW_KEY=1\n")  # an edit that is not indexed yet
    assert VALUE not in "\n".join(hit.text for hit in rag.search("NEW_KEY"))
