"""Neighbourhoods, arrangements, descriptions and suggestions."""

import math

import pytest

from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.codegraph.view.pictures import Step
from coderag.engine.graph_views import GraphViews
from coderag.errors import AmbiguousNameError, UnknownNameError
from coderag.schema.graph_view import GraphView, ViewFilter
from tests.support.graph_tables import make_tables

N_USERS = 30
FILES = {
    "lib/core.py": [("Base", "class", 1, 9), ("Base.run", "method", 2, 5), ("helper", "function", 10, 12)],
    "lib/twice.h": [("twice", "function", 1, 2), ("twice", "function", 4, 5)],
    "app/use.py": [(f"use_{n:02}", "function", n + 1, n + 1) for n in range(N_USERS)],
    "tests/test_core.py": [("test_run", "function", 1, 2)],
    "top.py": [("top", "function", 1, 2)],
}
EDGES = [
    *((f"use_{n:02}", "calls", "Base.run", n + 1) for n in range(N_USERS)),
    ("Base.run", "calls", "helper"),
    ("test_run", "tests", "Base.run"),
    ("top", "calls", "use_00"),
    ("top.py", "imports", "json"),
    ("top.py", "imports", "app/use.py"),
    ("helper", "calls", "lib/twice.h:4", 11, 0.3),
]
RUN = "lib/core.py::Base.run"


@pytest.fixture(scope="module")
def views() -> GraphViews:
    return GraphViews(CodeGraph(SymbolGraph(make_tables(FILES, EDGES, ["json"]))))


def keys(view: GraphView) -> list[str]:
    return [node.key for node in view.nodes]


def test_a_neighbourhood_is_bounded_and_tells_how_many_there_are(views):
    view = views.build_neighbourhood("Base.run")
    assert view.nodes[0].key == RUN
    (step,) = view.steps
    assert (step.drawn, step.total) == (13, N_USERS + 2)
    more = views.build_neighbourhood(RUN, [Step(RUN, limit=40)])
    assert (more.steps[0].drawn, more.steps[0].total) == (N_USERS + 2, N_USERS + 2)


def test_what_uses_a_node_is_left_of_it_and_what_it_uses_right(views):
    view = views.build_neighbourhood(RUN, [Step(RUN, limit=100)])
    columns = {node.key: node.x for node in view.nodes}
    assert columns["lib/core.py::helper"] > columns[RUN] > columns["app/use.py::use_03"]
    assert len({(node.x, node.y) for node in view.nodes}) == len(view.nodes)


def test_later_steps_add_nodes_and_move_none(views):
    first = views.build_neighbourhood(RUN)
    second = views.build_neighbourhood(RUN, [Step(RUN), Step("app/use.py::use_00", "in")])
    assert set(keys(second)) - set(keys(first)) == {"top.py::top"}
    places = {node.key: (node.x, node.y) for node in second.nodes}
    assert {node.key: (node.x, node.y) for node in first.nodes}.items() <= places.items()
    assert {node.key: node.distance for node in second.nodes}["top.py::top"] == 2


def test_steps_follow_one_direction_and_some_relations(views):
    callees = views.build_neighbourhood(RUN, [Step(RUN, "out", ["calls"])])
    assert keys(callees) == [RUN, "lib/core.py::helper"]
    tests = views.build_neighbourhood(RUN, [Step(RUN, "in", ["tests"])])
    assert keys(tests) == [RUN, "tests/test_core.py::test_run"]
    contained = views.build_neighbourhood("Base", [Step("lib/core.py::Base", "out", ["contains"])])
    assert keys(contained) == ["lib/core.py::Base", RUN]
    assert contained.edges[0].relations == {"contains": 1}


def test_doubtful_edges_appear_when_they_are_asked_for(views):
    helper = "lib/core.py::helper"
    assert "lib/twice.h::twice#2" not in keys(views.build_neighbourhood(helper))
    assert "lib/twice.h::twice#2" in keys(views.build_neighbourhood(helper, (), ViewFilter(min_confidence=0.2)))


def test_neighbours_of_files_are_files_and_of_folders_folders(views):
    assert set(keys(views.build_neighbourhood("app/use.py"))) == {"app/use.py", "lib/core.py", "top.py"}
    assert set(keys(views.build_neighbourhood("app"))) == {"app/", "lib/", "top.py"}
    assert set(keys(views.build_neighbourhood("::json"))) == {"::json", "top.py"}


def test_names_are_resolved_or_refused(views):
    assert views.build_neighbourhood("twice").nodes[0].key == "lib/twice.h::twice"
    assert views.describe("lib/twice.h::twice@4").node.key == "lib/twice.h::twice#2"
    with pytest.raises(UnknownNameError):
        views.build_neighbourhood("gone")
    with pytest.raises(UnknownNameError):
        views.build_neighbourhood(RUN, [Step("lib/gone.py::gone")])


def test_an_ambiguous_name_is_refused():
    files = {
        "a.py": [("A", "class", 1, 4), ("A.go", "method", 2, 3)],
        "b.py": [("B", "class", 1, 4), ("B.go", "method", 2, 3)],
    }
    with pytest.raises(AmbiguousNameError):
        GraphViews(CodeGraph(SymbolGraph(make_tables(files)))).build_neighbourhood("go")


def test_rings_stand_for_distances_and_unknown_nodes_are_counted(views):
    distances = {RUN: 0, **{f"app/use.py::use_{n:02}": 1 for n in range(9)}, "top.py::top": 2, "gone.py::x": 1}
    view = views.arrange(distances, "rings")
    assert view.omitted_nodes == 1
    center, *rest = view.nodes
    assert (center.x, center.y) == (0, 0)
    inner = max(math.hypot(node.x, node.y) for node in rest if node.distance == 1)
    assert all(abs(node.y) + abs(node.x) > inner * 0.6 for node in rest if node.distance == 2)
    assert {view.nodes[edge.source].key for edge in view.edges} > {"top.py::top"}


def test_lines_and_rings_place_every_node_apart(views):
    for arrangement in ("line", "ring"):
        view = views.arrange(dict.fromkeys(["top.py::top", "app/use.py::use_00", RUN], 0), arrangement)
        assert len({(node.x, node.y) for node in view.nodes}) == 3
        assert len(view.edges) == 2


def test_a_description_counts_neighbours_by_relation(views):
    details = views.describe(RUN, limit=5)
    assert [node.key for node in details.ancestors] == ["lib/", "lib/core.py", "lib/core.py::Base"]
    counts = {(count.relation, count.direction): (count.total, len(count.nodes)) for count in details.relations}
    assert counts["calls", "in"] == (N_USERS, 5)
    assert counts["tests", "in"] == (1, 1)
    assert counts["calls", "out"] == (1, 1)
    hidden = views.describe(RUN, ViewFilter(has_tests=False))
    assert ("tests", "in") not in {(count.relation, count.direction) for count in hidden.relations}


def test_suggestions_begin_with_exact_names(views):
    assert views.suggest("run")[0].key == RUN
    assert [node.key for node in views.suggest("Base.r")] == [RUN]
    assert views.suggest("use.py")[0].key == "app/use.py"
    assert views.suggest("lib")[0].key == "lib/"
    assert len(views.suggest("use_", limit=7)) == 7
    assert views.suggest("jso")[0].kind == "external"
    assert views.suggest("  ") == []
    assert views.suggest("[(*") == []
