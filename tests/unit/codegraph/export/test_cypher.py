import re
from ast import literal_eval

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.codegraph.export.cypher import build_schema_statements, format_literal, stream_cypher
from tests.support.graph_tables import make_tables
from tests.support.shop_graph import HOSTILE, shop_graph


def build_statements(tables, dialect="neo4j"):
    return b"".join(stream_cypher(tables, "shop", dialect)).decode()


@given(st.text(max_size=40))
def test_text_literal_evaluates_to_the_text(text):
    written = format_literal(text)
    parts = re.findall(r"'(?:[^'\\]|\\.)*'", written)
    assert "+".join(parts) == written  # nothing stands outside of quotes
    # What is escaped here, Python escapes alike.
    assert "".join(literal_eval(part) for part in parts) == text
    assert not re.search(r"[\x00-\x1f]", written)


@pytest.mark.parametrize("text", ["\\u0027", "\\U00000027", "a\\\\u0027 b", "\\\\\\u0027", "\\", "'", HOSTILE])
def test_text_backslash_never_precedes_u(text):
    # Neo4j may replace \uXXXX before it reads quotes: a name must not be able to end its literal.
    assert not re.search(r"\\[uU]", format_literal(text))


def test_row_is_a_map_literal():
    assert format_literal({"id": "a", "line": 3, "confidence": 0.5}) == "{id: 'a', line: 3, confidence: 0.5}"


def test_file_creates_indexes_then_deletes_then_loads():
    text = build_statements(shop_graph())
    assert "CREATE CONSTRAINT coderag_function_id IF NOT EXISTS FOR (n:Function) REQUIRE n.id IS UNIQUE;" in text
    assert "MATCH (n:Function {project: 'shop'}) DETACH DELETE n;" in text
    created = text.index("] AS row\nCREATE (n:Function")
    assert text.index("DETACH DELETE") < created < text.index("CREATE (a)-[:CALLS")
    assert (
        "{source: 'shop:shop/cart.py::Cart.total', target: 'shop:shop/item.py::Item.cost', resolver: 'scope', " in text
    )


def test_memgraph_index_statements_differ():
    assert "CREATE INDEX ON :Function(id)" in build_schema_statements("memgraph")
    assert "CREATE CONSTRAINT ON (n:Function) ASSERT n.id IS UNIQUE" in build_schema_statements("memgraph")
    assert not any(" FOR " in statement for statement in build_schema_statements("memgraph"))


def test_statements_are_limited_to_a_batch():
    text = build_statements(make_tables({"a.py": [(f"f{n}", "function", n, n) for n in range(1, 1_201)]}))
    sizes = [block.count("\n{") for block in text.split("UNWIND")[1:]]
    assert max(sizes) == 500
    assert sum(sizes) == 1_202 + 1_201  # functions, file and project; what stands in what


def test_project_name_cannot_escape_the_comment():
    assert b"".join(stream_cypher(make_tables({}), "x\nMATCH (n) DELETE n")).decode().splitlines()[0].startswith("// ")
