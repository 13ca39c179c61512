"""The arithmetic of the code graph's evaluation: what counts as found, right and wrong."""

import json
from pathlib import Path

import pytest

from evals.graph.compare import Verdict, by_line, judge, judge_bases, recall_calls, sample
from evals.graph.exported import ExportedGraph
from evals.graph.report import as_text, measure
from evals.graph.shares import Share
from evals.graph.truth import EvaluationError, Hierarchy, Place, Site, Target, Truth

NODES = [
    ("file", "shop.py", "shop.py", 1, 60, None),
    ("class", "Shop", "Shop", 1, 20, 0),
    ("method", "__init__", "Shop.__init__", 2, 4, 1),
    ("method", "sell", "Shop.sell", 6, 9, 1),
    ("class", "Bakery", "Bakery", 22, 40, 0),
    ("method", "sell", "Bakery.sell", 24, 30, 4),
    ("function", "open_all", "open_all", 42, 60, 0),
    ("external", "json", "json", 0, 0, None),
    ("method", "__call__", "Shop.__call__", 11, 12, 1),
]
SHOP, SHOP_INIT, SHOP_SELL = Place("shop.py", 1, "Shop"), Place("shop.py", 2, "__init__"), Place("shop.py", 6, "sell")
BAKERY, BAKERY_SELL = Place("shop.py", 22, "Bakery"), Place("shop.py", 24, "sell")


def graph(folder: Path, *edges: tuple[str, int, int, int], confidence: float = 0.9) -> ExportedGraph:
    """Return a graph with edges of relation, source, target and line."""
    names = ("kind", "name", "qualified_name", "start_line", "end_line", "parent")
    nodes = [
        {"id": number, "path": "shop.py", **dict(zip(names, row, strict=True))} for number, row in enumerate(NODES)
    ]
    rows = [
        {
            "relation": relation,
            "source": source,
            "target": target,
            "line": line,
            "resolver": "r",
            "confidence": confidence,
        }
        for relation, source, target, line in edges
    ]
    file = folder / "graph.json"
    file.write_text(json.dumps({"format": 1, "nodes": nodes, "edges": rows}), encoding="utf-8")
    return ExportedGraph(file)


def call(line: int, name: str, *targets: Target, outside: bool = False, held: bool = False) -> Site:
    return Site("shop.py", line, name, targets, outside, held)


@pytest.mark.parametrize(
    ("part", "total", "low", "high"), [(8, 10, 0.4902, 0.9433), (0, 20, 0.0, 0.1611), (95, 100, 0.8882, 0.9785)]
)
def test_interval_is_wilsons(part: int, total: int, low: float, high: float) -> None:
    assert Share(part, total).interval == pytest.approx((low, high), abs=1e-4)


def test_nothing_has_no_share() -> None:
    assert Share(0, 0).value is None
    assert Share(0, 0).interval is None
    assert str(Share(0, 0)) == "none"


def test_call_is_found_by_file_line_and_target(tmp_path: Path) -> None:
    known = [call(45, "sell", Target(SHOP_SELL, "call"))]
    (found,) = recall_calls(graph(tmp_path, ("calls", 6, 3, 45)), known)
    (other_line,) = recall_calls(graph(tmp_path, ("calls", 6, 3, 46)), known)
    (other_target,) = recall_calls(graph(tmp_path, ("calls", 6, 5, 45)), known)
    assert (found.found, other_line.found, other_target.found) == (True, False, False)


def test_candidates_are_no_edges(tmp_path: Path) -> None:
    (row,) = recall_calls(
        graph(tmp_path, ("calls", 6, 3, 45), confidence=0.4), [call(45, "sell", Target(SHOP_SELL, "call"))]
    )
    assert row.in_graph
    assert not row.found


@pytest.mark.parametrize("edge", [("calls", 6, 2, 45), ("instantiates", 6, 1, 45), ("calls", 6, 1, 45)])
@pytest.mark.parametrize("place", [SHOP, SHOP_INIT])
def test_class_and_its_constructor_are_one_target(
    tmp_path: Path, edge: tuple[str, int, int, int], place: Place
) -> None:
    (row,) = recall_calls(graph(tmp_path, edge), [call(45, "Shop", Target(place, "new"))])
    assert row.found


def test_constructor_of_a_base_is_as_good_as_the_class(tmp_path: Path) -> None:
    (row,) = recall_calls(
        graph(tmp_path, ("calls", 6, 2, 45)), [call(45, "Bakery", Target(BAKERY, "new", also=(SHOP_INIT,)))]
    )
    assert row.found


def test_edge_to_the_overridden_method_is_counted_beside(tmp_path: Path) -> None:
    known = [call(45, "sell", Target(BAKERY_SELL, "call", overridden=(SHOP_SELL,)))]
    (row,) = recall_calls(graph(tmp_path, ("calls", 6, 3, 45)), known)
    assert (row.found, row.found_overridden) == (False, True)


def test_callee_that_the_graph_lacks_is_told_apart(tmp_path: Path) -> None:
    (row,) = recall_calls(graph(tmp_path), [call(45, "close", Target(Place("shop.py", 55, "close"), "call"))])
    assert not row.in_graph


def test_overload_that_the_graph_has_is_enough(tmp_path: Path) -> None:
    head = Place("shop.py", 55, "sell")  # a signature without a body, which is no declaration of the graph
    (row,) = recall_calls(
        graph(tmp_path, ("calls", 6, 3, 45)), [call(45, "sell", Target(head, "call", also=(SHOP_SELL,)))]
    )
    assert (row.in_graph, row.found) == (True, True)


def test_declaration_is_found_by_any_line_of_its_head(tmp_path: Path) -> None:
    """Tools give the line of the name; a decorated declaration may start above it."""
    (row,) = recall_calls(
        graph(tmp_path, ("calls", 6, 5, 45)), [call(45, "sell", Target(Place("shop.py", 25, "sell"), "call"))]
    )
    assert row.found


def verdict(folder: Path, *sites: Site, line: int = 45) -> Verdict:
    made = graph(folder, ("calls", 6, 3, line))
    return judge(made.edges[0], by_line(sites), made)


def test_edge_is_right_when_one_tool_confirms_it(tmp_path: Path) -> None:
    sites = [call(45, "sell", outside=True), call(45, "sell", Target(SHOP_SELL, "call"))]
    assert verdict(tmp_path, *sites) == "right"


def test_edge_to_the_overridden_method_is_right(tmp_path: Path) -> None:
    assert verdict(tmp_path, call(45, "sell", Target(BAKERY_SELL, "call", overridden=(SHOP_SELL,)))) == "right"


@pytest.mark.parametrize(
    "sites",
    [
        [call(45, "sell", Target(BAKERY_SELL, "call"))],
        [call(45, "sell", outside=True)],
        [call(45, "sell", outside=True), call(45, "sell")],
        [call(45, "sell", held=True)],
        [call(45, "alias", Target(BAKERY_SELL, "call"))],
        [],
    ],
    ids=["elsewhere", "outside", "one tool knows", "a variable", "by another name", "no call"],
)
def test_edge_is_wrong_when_a_tool_knows_better(tmp_path: Path, sites: list[Site]) -> None:
    assert verdict(tmp_path, *sites) == "wrong"


def test_edge_is_undecided_when_no_tool_knows(tmp_path: Path) -> None:
    sites = [
        call(45, "sell"),
        call(45, "print", outside=True),
    ]  # the other call of the line tells nothing about this one
    assert verdict(tmp_path, *sites) == "undecided"


def test_edge_to_the_method_of_a_called_object_is_undecided_when_the_tools_know_a_variable(tmp_path: Path) -> None:
    made = graph(tmp_path, ("calls", 6, 8, 45))
    assert judge(made.edges[0], by_line([call(45, "shop", held=True)]), made) == "undecided"
    assert judge(made.edges[0], by_line([call(45, "shop", outside=True)]), made) == "wrong"


def test_bases_are_judged_for_known_classes(tmp_path: Path) -> None:
    made = graph(tmp_path, ("inherits", 4, 1, 22), ("inherits", 1, 4, 1))
    precision, recall = judge_bases(made, [Hierarchy(BAKERY, (SHOP,)), Hierarchy(SHOP, ())])
    assert (precision, recall) == (Share(1, 2), Share(1, 1))


def test_sample_keeps_what_two_graphs_share(tmp_path: Path) -> None:
    edges = [("calls", 6, 3, line) for line in range(42, 60)]
    whole = sample(graph(tmp_path, *edges).edges, 6, seed=1)
    fewer = sample(graph(tmp_path, *edges[:12]).edges, 6, seed=1)
    assert len(whole) == len(fewer) == 6
    assert {edge.line for edge in whole if edge.line < 54} <= {edge.line for edge in fewer}
    assert [edge.line for edge in whole] != [edge.line for edge in sample(graph(tmp_path, *edges).edges, 6, seed=2)]


def test_sample_draws_each_edge_once_and_no_other_relation(tmp_path: Path) -> None:
    made = graph(tmp_path, ("calls", 6, 1, 45), ("instantiates", 6, 1, 45), ("inherits", 4, 1, 22))
    assert len(sample(made.edges, 0, seed=0)) == 1


def test_report_counts_kinds_and_tests_apart(tmp_path: Path) -> None:
    made = graph(tmp_path, ("calls", 6, 3, 45))
    sites = [
        call(45, "sell", Target(SHOP_SELL, "call")),
        call(46, "sell", Target(BAKERY_SELL, "call")),
        call(47, "handler", Target(SHOP_SELL, "value")),
        call(48, "Shop", Target(SHOP, "decorator")),
        Site("tests/test_shop.py", 3, "sell", (Target(SHOP_SELL, "call"),)),
    ]
    figures = measure(made, Truth("tests", sites), made.edges, sites, examples=1)
    parts = {name: (row["part"], row["total"]) for name, row in figures["recall"].items()}
    assert parts == {
        "calls": (1, 3),
        "calls outside tests": (1, 2),
        "of kind call": (1, 3),
        "of kind decorator": (0, 1),
        "of kind value": (0, 1),
        "bases": (0, 0),
    }
    assert figures["missed"] == ["shop.py:46 sell -> shop.py:24 sell"]
    text = as_text(figures)
    assert "calls outside tests  0.500" in text
    assert "missed: shop.py:46" in text


def test_truth_survives_its_file(tmp_path: Path) -> None:
    site = call(45, "sell", Target(BAKERY_SELL, "call", (SHOP_INIT,), (SHOP_SELL,)), outside=True)
    truth = Truth("tests", [site], [Hierarchy(BAKERY, (SHOP,))], {"left out": 2}, ("shop.py",))
    truth.save(tmp_path / "kept" / "calls.json")
    assert Truth.load(tmp_path / "kept" / "calls.json") == truth


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        ("{", "no JSON"),
        ('{"format": 2}', "no graph of format 1; write one with `coderag graph export"),
        ('{"format": 1, "nodes": [], "edges": [{"target": 1}]}', "confidence"),
        ('{"format": 1, "nodes": [{"kind": "file"}], "edges": []}', "id"),
    ],
)
def test_bad_graph_is_an_error_that_names_the_file(tmp_path: Path, content: str | None, message: str) -> None:
    file = tmp_path / "graph.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(EvaluationError, match=message) as caught:
        ExportedGraph(file)
    assert str(file) in str(caught.value)
