"""Overviews: what is drawn, that nothing is lost or invented in aggregation, and that places stay."""

import math
from typing import get_args

import pytest

from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.codegraph.view.layout_cache import LayoutCache
from coderag.codegraph.view.overview import OverviewBuilder
from coderag.codegraph.view.units import Units
from coderag.schema.graph_view import VIEW_RELATIONS, GraphView, ViewFilter
from coderag.schema.vocabulary import EdgeRelation
from coderag.stores.pointer import EmbeddingInfo, Pointer
from coderag.stores.view_files import ViewFiles
from tests.support.graph_tables import make_tables

FILES = {
    "README.md": [],
    "shop/cart.py": [("Cart", "class", 1, 20), ("Cart.total", "method", 2, 10), ("Cart.add", "method", 11, 20)],
    "shop/deep/inner/money.py": [("round_up", "function", 1, 4), ("round_up", "function", 6, 9)],
    "shop/main.py": [("main", "function", 1, 5)],
    "tests/test_cart.py": [("test_total", "function", 1, 3)],
}
EDGES = [
    ("Cart.total", "calls", "shop/deep/inner/money.py:1"),
    ("Cart.add", "calls", "shop/deep/inner/money.py:1"),
    ("main", "instantiates", "Cart"),
    ("main", "calls", "Cart.total", 3, 0.3),
    ("shop/main.py", "imports", "shop/cart.py"),
    ("shop/main.py", "imports", "numpy"),
    ("test_total", "tests", "Cart.total"),
]


@pytest.fixture(scope="module")
def graph() -> SymbolGraph:
    return SymbolGraph(make_tables(FILES, EDGES, ["numpy"]))


def make_pointer(generation: int) -> Pointer:
    return Pointer(generation, {}, "lexical", EmbeddingInfo("none", "none", 1), 1, f"2026-01-0{generation}T00:00:00")


def draw(graph, opened=None, max_nodes=100, max_edges=100, layouts=None, **filters) -> GraphView:
    builder = OverviewBuilder(Units(graph), layouts or LayoutCache(), ViewFilter(**filters))
    return builder.build(opened, max_nodes, max_edges)


def list_edges(view: GraphView) -> dict[tuple[str, str], dict[str, int]]:
    return {
        (view.nodes[edge.source].key, view.nodes[edge.target].key): dict(edge.relations)
        for edge in view.edges
        if edge.count == sum(edge.relations.values())
    }


def test_closed_folders_sum_the_edges_of_all_inside(graph):
    view = draw(graph, [])
    assert {node.key for node in view.nodes} == {"README.md", "shop/", "tests/", "::"}
    assert list_edges(view) == {("shop/", "::"): {"imports": 1}, ("tests/", "shop/"): {"tests": 1}}
    shop = next(node for node in view.nodes if node.key == "shop/")
    assert (shop.kind, shop.files, shop.declarations, shop.language) == ("folder", 3, 6, "python")


def test_opening_shows_what_is_inside_and_its_own_edges(graph):
    view = draw(graph, ["shop/", "shop/cart.py"])
    assert {"shop/cart.py", "shop/main.py", "shop/deep/inner/", "shop/cart.py::Cart"} <= {n.key for n in view.nodes}
    edges = list_edges(view)
    assert edges["shop/cart.py::Cart", "shop/deep/inner/"] == {"calls": 2}
    assert edges["shop/main.py", "shop/cart.py"] == {"imports": 1}
    assert edges["shop/main.py", "shop/cart.py::Cart"] == {"instantiates": 1}


def test_folders_with_a_single_folder_are_one_node(graph):
    inner = next(node for node in draw(graph, ["shop/"]).nodes if node.key == "shop/deep/inner/")
    assert inner.label == "deep/inner/"
    assert draw(graph, ["shop/", "shop/deep/"]).opened == ["shop/", "shop/deep/inner/"]


def test_edges_of_omitted_nodes_belong_to_what_is_around_them(graph):
    view = draw(graph, ["shop/"], max_nodes=5)
    assert view.omitted_nodes == 2
    assert list_edges(view) == {
        ("shop/cart.py", "shop/"): {"calls": 2},
        ("shop/", "shop/cart.py"): {"imports": 1, "instantiates": 1},
        ("shop/", "::"): {"imports": 1},
        ("tests/", "shop/cart.py"): {"tests": 1},
    }


def test_limits_bound_nodes_and_edges_and_tell_what_they_left_out(graph):
    opened = ["shop/", "shop/cart.py", "shop/cart.py::Cart", "shop/main.py", "shop/deep/inner/", "tests/"]
    everything = draw(graph, opened)
    bounded = draw(graph, opened, max_nodes=8, max_edges=2)
    assert len(bounded.nodes) == 8
    assert bounded.omitted_nodes + 8 <= len(everything.nodes)
    assert len(bounded.edges) == 2
    assert bounded.omitted_edges > 0
    strongest = draw(graph, opened, max_edges=1).edges
    assert strongest[0].count == max(edge.count for edge in everything.edges)


def test_filters_hide_tests_packages_relations_and_doubtful_edges(graph):
    assert {node.key for node in draw(graph, [], has_tests=False, has_external=False).nodes} == {"README.md", "shop/"}
    opened = ["shop/", "shop/cart.py", "shop/cart.py::Cart", "shop/main.py"]
    pair = ("shop/main.py::main", "shop/cart.py::Cart.total")
    assert pair not in list_edges(draw(graph, opened))
    assert list_edges(draw(graph, opened, min_confidence=0.2))[pair] == {"calls": 1}
    only_imports = draw(graph, opened, relations=frozenset({"imports"}))
    assert {relation for edge in only_imports.edges for relation in edge.relations} == {"imports"}


def test_unknown_opened_keys_are_ignored(graph):
    assert draw(graph, ["gone/", "shop/gone.py", "shop/cart.py::Gone"]).opened == []


def test_an_empty_graph_is_an_empty_picture():
    view = draw(SymbolGraph(make_tables({})))
    assert (view.nodes, view.edges) == ([], [])


def test_circles_of_siblings_do_not_overlap_and_lie_in_their_container():
    files = {
        f"pkg{n % 7}/file{n}.py": [(f"f{n}_{k}", "function", k + 1, k + 1) for k in range(n % 13)] for n in range(90)
    }
    edges = [
        (f"pkg{n % 7}/file{n}.py", "imports", f"pkg{(n * 5 + 1) % 90 % 7}/file{(n * 5 + 1) % 90}.py") for n in range(90)
    ]
    view = draw(SymbolGraph(make_tables(files, edges)), [f"pkg{n}/" for n in range(7)], max_nodes=500)
    by_parent: dict[int, list] = {}
    for node in view.nodes:
        by_parent.setdefault(node.parent, []).append(node)
        if node.parent >= 0:
            container = view.nodes[node.parent]
            distance = math.hypot(node.x - container.x, node.y - container.y)
            assert distance + node.radius <= container.radius * 1.001
    for siblings in by_parent.values():
        for position, first in enumerate(siblings):
            for second in siblings[position + 1 :]:
                assert math.hypot(first.x - second.x, first.y - second.y) >= (first.radius + second.radius) * 0.999


def test_opening_and_filtering_move_nothing(graph):
    layouts = LayoutCache()
    closed = {node.key: (node.x, node.y) for node in draw(graph, [], layouts=layouts).nodes}
    opened = {n.key: (n.x, n.y) for n in draw(graph, ["shop/", "tests/"], layouts=layouts, has_external=False).nodes}
    assert {key: opened[key] for key in closed if key != "::"} == {k: v for k, v in closed.items() if k != "::"}


def test_layouts_are_stored_and_start_from_those_of_the_previous_generation(graph, tmp_path):
    files = ViewFiles(tmp_path, make_pointer(1))
    before = {node.key: (node.x, node.y) for node in draw(graph, ["shop/"], layouts=LayoutCache(files)).nodes}
    assert {n.key: (n.x, n.y) for n in draw(graph, ["shop/"], layouts=LayoutCache(files)).nodes} == before
    changed = SymbolGraph(make_tables({**FILES, "new.py": [("fresh", "function", 1, 2)]}, EDGES, ["numpy"]))
    cache = LayoutCache(ViewFiles(tmp_path, make_pointer(2)))
    after = {node.key: (node.x, node.y) for node in draw(changed, ["shop/"], layouts=cache).nodes}
    moved = [math.dist(before[key], after[key]) for key in before]
    assert max(moved) < 500
    unrelated = {node.key: (node.x, node.y) for node in draw(changed, ["shop/"]).nodes}
    assert sum(moved) < sum(math.dist(before[key], unrelated[key]) for key in before)


def test_damaged_layouts_are_computed_again(graph, tmp_path):
    files = ViewFiles(tmp_path, make_pointer(1))
    before = draw(graph, ["shop/"], layouts=LayoutCache(files)).nodes
    for path in tmp_path.rglob("*.npz"):
        path.write_bytes(b"broken")
    assert draw(graph, ["shop/"], layouts=LayoutCache(files)).nodes == before


def test_every_relation_of_the_graph_can_be_filtered():
    assert {*get_args(EdgeRelation), "contains"} == set(VIEW_RELATIONS)
