import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.codegraph.symbol_graph import GraphEdge, SymbolGraph
from coderag.stores.graph_tables import GraphTables, build_edge_schema, build_empty_graph, build_facts_schema
from tests.support.graph_tables import make_tables

FILES = {
    "shop/cart.py": [("Cart", "class", 3, 20), ("Cart.total", "method", 5, 9), ("Cart.total.inner", "function", 6, 7)],
    "shop/empty.py": [],
    "shop/money.py": [("round_up", "function", 1, 4)],
}
EDGES = [
    ("Cart.total", "calls", "round_up", 8, 0.9, "import"),
    ("Cart.total", "calls", "requests", 9, 0.3, "unique"),
    ("Cart.total.inner", "references", "round_up", 7),
    ("shop/cart.py", "imports", "round_up", 1),
]


@pytest.fixture(scope="module")
def graph():
    return SymbolGraph(make_tables(FILES, EDGES, ["requests"]))


def list_names(graph, nodes):
    return [graph.get_node(node).qualified_name for node in nodes]


def find_node(graph, name):
    (match,) = [number for number in range(graph.n_nodes) if graph.get_node(number).qualified_name == name]
    return match


def test_node_record_has_all_columns(graph):
    total = graph.get_node(find_node(graph, "Cart.total"))
    assert total[1:] == ("method", "total", "Cart.total", "shop/cart.py", 5, 9, total.parent, "python", "source", 0.0)
    assert graph.get_node(total.parent).qualified_name == "Cart"


def test_tables_are_read_lazily():
    def read():
        raise AssertionError

    SymbolGraph(read)


def test_tables_are_read_once():
    reads = []

    def read():
        reads.append(1)
        return make_tables(FILES, EDGES, ["requests"])

    graph = SymbolGraph(read)
    assert (graph.n_nodes, graph.n_edges, len(graph.find_edges(1, "out"))) == (8, 4, 0)
    assert len(reads) == 1


def test_empty_graph_is_empty():
    graph = SymbolGraph(build_empty_graph())
    assert (graph.n_nodes, graph.n_edges) == (0, 0)
    assert graph.find_file("a.py") is None
    assert graph.find_innermost("a.py", 1) is None
    assert graph.files.tolist() == []
    assert graph.find_edge_positions([], "in").tolist() == []


def test_edges_are_listed_at_both_ends(graph):
    total, round_up = find_node(graph, "Cart.total"), find_node(graph, "round_up")
    assert graph.find_edges(total, "out") == [GraphEdge("calls", total, round_up, "import", 0.9, 8)]
    assert list_names(graph, [edge.source for edge in graph.find_edges(round_up, "in")]) == [
        "shop/cart.py",
        "Cart.total",
        "Cart.total.inner",
    ]


def test_candidates_are_opt_in(graph):
    total = find_node(graph, "Cart.total")
    assert list_names(graph, [edge.target for edge in graph.find_edges(total, "out", min_confidence=0.0)]) == [
        "round_up",
        "requests",
    ]


def test_edges_filter_by_relation(graph):
    round_up = find_node(graph, "round_up")
    assert [edge.relation for edge in graph.find_edges(round_up, "in", {"imports", "references"})] == [
        "imports",
        "references",
    ]
    assert graph.find_edges(round_up, "in", {"overrides"}) == []


def test_children_are_direct_members(graph):
    assert list_names(graph, graph.find_children(find_node(graph, "shop/cart.py"))) == ["Cart"]
    assert list_names(graph, graph.find_children(find_node(graph, "Cart"))) == ["Cart.total"]
    assert graph.find_children(find_node(graph, "requests")) == []


def test_descendants_include_nested_members(graph):
    assert list_names(graph, graph.find_descendants(find_node(graph, "shop/cart.py"))) == [
        "Cart",
        "Cart.total",
        "Cart.total.inner",
    ]
    assert graph.find_descendants(find_node(graph, "round_up")) == []
    assert graph.find_descendants(find_node(graph, "requests")) == []


def test_ancestors_are_the_enclosing_declarations(graph):
    assert list_names(graph, graph.find_ancestors(find_node(graph, "Cart.total.inner"))) == ["Cart.total", "Cart"]
    assert graph.find_ancestors(find_node(graph, "shop/cart.py")) == []
    assert graph.find_ancestors(find_node(graph, "requests")) == []


def test_node_belongs_to_its_file(graph):
    assert graph.find_containing_file(find_node(graph, "Cart.total.inner")) == graph.find_file("shop/cart.py")
    assert graph.find_containing_file(graph.find_file("shop/empty.py")) == graph.find_file("shop/empty.py")
    assert graph.find_containing_file(find_node(graph, "requests")) is None


def test_file_nodes_exclude_packages(graph):
    assert list_names(graph, graph.get_file_nodes(graph.find_file("shop/money.py"))) == ["shop/money.py", "round_up"]
    assert list_names(graph, graph.get_file_nodes(graph.find_file("shop/empty.py"))) == ["shop/empty.py"]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (1, "shop/cart.py"),
        (3, "Cart"),
        (5, "Cart.total"),
        (6, "Cart.total.inner"),
        (9, "Cart.total"),
        (999, "shop/cart.py"),
    ],
)
def test_line_belongs_to_the_innermost_declaration(graph, line, name):
    assert graph.get_node(graph.find_innermost("shop/cart.py", line)).qualified_name == name


def test_later_declaration_on_a_line_is_the_inner_one():
    graph = SymbolGraph(make_tables({"a.ts": [("A", "class", 1, 1), ("A.m", "method", 1, 1)]}))
    assert graph.get_node(graph.find_innermost("a.ts", 1)).qualified_name == "A.m"


def test_table_batches_are_combined():
    tables = make_tables(FILES, EDGES, ["requests"])
    parts = [pa.Table.from_pylist([row], tables.nodes.schema) for row in tables.nodes.to_pylist()]
    graph = SymbolGraph(tables._replace(nodes=pa.concat_tables(parts)))
    full = SymbolGraph(tables)
    assert [graph.get_node(row) for row in range(graph.n_nodes)] == [full.get_node(row) for row in range(full.n_nodes)]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.booleans()), max_size=60))
def test_edges_of_several_nodes_are_concatenated(pairs):
    files = {"a.py": [(f"f{number}", "function", number + 1, number + 1) for number in range(10)]}
    edges = [(f"f{source}", "calls" if call else "references", f"f{target}") for source, target, call in pairs]
    graph = SymbolGraph(make_tables(files, edges))
    for direction, end in (("out", "source"), ("in", "target")):
        edges = graph.read_edges(graph.find_edge_positions([3, 1, 4], direction, {"calls"}))
        assert edges == [edge for node in (3, 1, 4) for edge in graph.find_edges(node, direction, {"calls"})]
        expected = sum(
            call and (source if end == "source" else target) + 1 in (3, 1, 4) for source, target, call in pairs
        )
        assert len(edges) == expected


def build_hub(n_edges):
    tables = make_tables({"a.py": [("hub", "function", 1, 1)]})
    nodes = pa.concat_tables([tables.nodes, *[tables.nodes.slice(1, 1)] * n_edges])
    edges = {
        "relation": ["calls"] * n_edges,
        "source": list(range(2, n_edges + 2)),
        "target": [1] * n_edges,
        "resolver": ["scope"] * n_edges,
        "confidence": [0.9] * n_edges,
        "line": [1] * n_edges,
    }
    return GraphTables(nodes, pa.table(edges).cast(build_edge_schema()), build_facts_schema().empty_table())


def test_hub_edges_are_complete():
    graph = SymbolGraph(build_hub(100_000))
    assert len(graph.find_edges(1, "in")) == 100_000
    assert graph.find_edges(1, "out") == []
