from pathlib import Path

import pytest
from llama_index.core.schema import Document, MetadataMode, NodeRelationship

from coderag.ingestion.parsing.languages import detect_language
from coderag.integrations.llama_index.node_parser import CodeNodeParser
from coderag.schema.chunks import ChunkMetadata

REPOSITORIES = Path(__file__).parents[3] / "fixtures" / "repos"
CART = (REPOSITORIES / "python" / "shop" / "cart.py").read_text(encoding="utf-8")


def document(text=CART, path="shop/cart.py", **metadata):
    return Document(
        text=text, id_=path, metadata={"path": path, "language": detect_language(path), "role": "source", **metadata}
    )


def test_file_becomes_one_node_per_chunk_in_order():
    nodes = CodeNodeParser().get_nodes_from_documents([document()])
    assert "".join(node.text for node in nodes) == CART
    assert [node.metadata["qualified_name"] for node in nodes] == [
        "shop/cart", "logger", "MAX_ITEMS", "CartError", "CartFullError", "PriceList", "Item",
        "Cart", "Cart.add", "Cart.is_empty", "Cart.total", "Cart.Visitor", "load_cart",
    ]  # fmt: skip


def test_node_has_the_metadata_of_the_schema_and_nothing_else():
    for node in CodeNodeParser()([document(secret="never copied")]):
        assert set(node.metadata) == set(ChunkMetadata.__annotations__)
        assert node.metadata["path"] == "shop/cart.py"
        assert list(node.relationships) == [NodeRelationship.SOURCE]
        assert node.ref_doc_id == "shop/cart.py"
        assert node.start_char_idx is None


def test_text_for_an_embedding_names_the_place_but_not_the_bookkeeping():
    node = CodeNodeParser()([document()])[8]
    text = node.get_content(MetadataMode.EMBED)
    assert "Cart.add" in text
    assert "class Cart:" in text
    assert "content_hash" not in text
    assert "start_byte" not in text
    assert "start_line: 48" in node.get_content(MetadataMode.LLM)


def test_ids_are_stable_and_depend_on_repository_path_and_place():
    def ids(repository="", path="shop/cart.py", text=CART):
        return [node.node_id for node in CodeNodeParser(repository=repository)([document(text, path)])]

    assert ids() == ids()
    assert len(set(ids())) == len(ids())
    assert not set(ids()) & set(ids("other"))
    assert not set(ids()) & set(ids(path="shop/other.py"))
    assert not set(ids()) & set(ids(text="\n" + CART))


def test_parts_of_a_line_have_distinct_ids():
    nodes = CodeNodeParser()([document("a word " * 6_000, "line.txt")])
    assert len(nodes) > 5
    assert len({node.node_id for node in nodes}) == len(nodes)


def test_notes_are_about_the_last_call():
    parser = CodeNodeParser()
    parser([document("def f(:\n    pass\n\n\ndef g():\n    return 1\n", "bad.py"), document()])
    assert list(parser.notes) == ["bad.py"]
    assert "syntax error" in parser.notes["bad.py"]
    parser([document()])
    assert parser.notes == {}


def test_language_is_detected_if_not_given():
    (node,) = CodeNodeParser()([Document(text="#!/usr/bin/env python\nimport os\n", metadata={"path": "bin/run"})])
    assert (node.metadata["language"], node.metadata["role"], node.metadata["imports"]) == ("python", "source", ["os"])


@pytest.mark.parametrize(("field", "value"), [("max_tokens", 1), ("min_tokens", -1), ("timeout_s", 0)])
def test_limits_out_of_bounds_are_rejected(field, value):
    with pytest.raises(ValueError, match=field):
        CodeNodeParser(**{field: value})


def test_options_that_change_nodes_are_serialized():
    described = CodeNodeParser(max_tokens=500, min_tokens=50, repository="r", timeout_s=1).to_dict()
    assert {key: described[key] for key in ("class_name", "max_tokens", "min_tokens", "repository", "timeout_s")} == {
        "class_name": "CodeNodeParser", "max_tokens": 500, "min_tokens": 50, "repository": "r", "timeout_s": 1
    }  # fmt: skip


async def _parse(parser):
    return await parser.acall([document()])


def test_asynchronous_call_gives_the_same_nodes():
    import asyncio

    parser = CodeNodeParser()
    assert [node.node_id for node in asyncio.run(_parse(parser))] == [node.node_id for node in parser([document()])]


def test_parsed_file_needs_no_llama_index():
    parsed = CodeNodeParser(max_tokens=100).parse_file("shop/cart.py", CART, "python", "source")
    assert parsed.note == ""
    assert parsed.chunks[0].metadata["kind"] == "module"
