"""The arithmetic of the code graph's evaluation: what counts as found, right and wrong."""

import json
from pathlib import Path

import pytest

from evals.graph.comparison import (
    EdgeJudgment,
    find_recalled_calls,
    group_by_line,
    judge_edge,
    measure_bases,
    sample_edges,
)
from evals.graph.exported_graph import ExportedGraph
from evals.graph.ground_truth import CallSite, CallTarget, ClassBases, DeclarationSite, EvaluationError, GroundTruth
from evals.graph.proportions import Proportion
from evals.graph.report import format_text, measure_graph

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
SHOP, SHOP_INIT, SHOP_SELL = (
    DeclarationSite("shop.py", 1, "Shop"),
    DeclarationSite("shop.py", 2, "__init__"),
    DeclarationSite("shop.py", 6, "sell"),
)
BAKERY, BAKERY_SELL = DeclarationSite("shop.py", 22, "Bakery"), DeclarationSite("shop.py", 24, "sell")


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


def call(line: int, name: str, *targets: CallTarget, outside: bool = False, held: bool = False) -> CallSite:
    return CallSite("shop.py", line, name, targets, outside, held)


@pytest.mark.parametrize(
    ("part", "total", "low", "high"), [(8, 10, 0.4902, 0.9433), (0, 20, 0.0, 0.1611), (95, 100, 0.8882, 0.9785)]
)
def test_interval_is_wilsons(part: int, total: int, low: float, high: float) -> None:
    assert Proportion(part, total).interval == pytest.approx((low, high), abs=1e-4)


def test_nothing_has_no_share() -> None:
    assert Proportion(0, 0).value is None
    assert Proportion(0, 0).interval is None
    assert str(Proportion(0, 0)) == "none"


def test_call_is_found_by_file_line_and_target(tmp_path: Path) -> None:
    known = [call(45, "sell", CallTarget(SHOP_SELL, "call"))]
    (found,) = find_recalled_calls(graph(tmp_path, ("calls", 6, 3, 45)), known)
    (other_line,) = find_recalled_calls(graph(tmp_path, ("calls", 6, 3, 46)), known)
    (other_target,) = find_recalled_calls(graph(tmp_path, ("calls", 6, 5, 45)), known)
    assert (found.is_found, other_line.is_found, other_target.is_found) == (True, False, False)


def test_candidates_are_no_edges(tmp_path: Path) -> None:
    (row,) = find_recalled_calls(
        graph(tmp_path, ("calls", 6, 3, 45), confidence=0.4), [call(45, "sell", CallTarget(SHOP_SELL, "call"))]
    )
    assert row.is_in_graph
    assert not row.is_found


@pytest.mark.parametrize("edge", [("calls", 6, 2, 45), ("instantiates", 6, 1, 45), ("calls", 6, 1, 45)])
@pytest.mark.parametrize("place", [SHOP, SHOP_INIT])
def test_class_and_its_constructor_are_one_target(
    tmp_path: Path, edge: tuple[str, int, int, int], place: DeclarationSite
) -> None:
    (row,) = find_recalled_calls(graph(tmp_path, edge), [call(45, "Shop", CallTarget(place, "new"))])
    assert row.is_found


def test_constructor_of_a_base_is_as_good_as_the_class(tmp_path: Path) -> None:
    (row,) = find_recalled_calls(
        graph(tmp_path, ("calls", 6, 2, 45)), [call(45, "Bakery", CallTarget(BAKERY, "new", also=(SHOP_INIT,)))]
    )
    assert row.is_found


def test_edge_to_the_overridden_method_is_counted_beside(tmp_path: Path) -> None:
    known = [call(45, "sell", CallTarget(BAKERY_SELL, "call", overridden=(SHOP_SELL,)))]
    (row,) = find_recalled_calls(graph(tmp_path, ("calls", 6, 3, 45)), known)
    assert (row.is_found, row.is_override_found) == (False, True)


def test_callee_that_the_graph_lacks_is_told_apart(tmp_path: Path) -> None:
    (row,) = find_recalled_calls(
        graph(tmp_path), [call(45, "close", CallTarget(DeclarationSite("shop.py", 55, "close"), "call"))]
    )
    assert not row.is_in_graph


def test_overload_that_the_graph_has_is_enough(tmp_path: Path) -> None:
    head = DeclarationSite("shop.py", 55, "sell")  # a signature without a body, which is no declaration of the graph
    (row,) = find_recalled_calls(
        graph(tmp_path, ("calls", 6, 3, 45)), [call(45, "sell", CallTarget(head, "call", also=(SHOP_SELL,)))]
    )
    assert (row.is_in_graph, row.is_found) == (True, True)


def test_declaration_is_found_by_any_line_of_its_head(tmp_path: Path) -> None:
    """Tools give the line of the name; a decorated declaration may start above it."""
    (row,) = find_recalled_calls(
        graph(tmp_path, ("calls", 6, 5, 45)),
        [call(45, "sell", CallTarget(DeclarationSite("shop.py", 25, "sell"), "call"))],
    )
    assert row.is_found


def verdict(folder: Path, *sites: CallSite, line: int = 45) -> EdgeJudgment:
    made = graph(folder, ("calls", 6, 3, line))
    return judge_edge(made.edges[0], group_by_line(sites), made)


def test_edge_is_right_when_one_tool_confirms_it(tmp_path: Path) -> None:
    sites = [call(45, "sell", outside=True), call(45, "sell", CallTarget(SHOP_SELL, "call"))]
    assert verdict(tmp_path, *sites) == "right"


def test_edge_to_the_overridden_method_is_right(tmp_path: Path) -> None:
    assert verdict(tmp_path, call(45, "sell", CallTarget(BAKERY_SELL, "call", overridden=(SHOP_SELL,)))) == "right"


@pytest.mark.parametrize(
    "sites",
    [
        [call(45, "sell", CallTarget(BAKERY_SELL, "call"))],
        [call(45, "sell", outside=True)],
        [call(45, "sell", outside=True), call(45, "sell")],
        [call(45, "sell", held=True)],
        [call(45, "alias", CallTarget(BAKERY_SELL, "call"))],
        [],
    ],
    ids=["elsewhere", "outside", "one tool knows", "a variable", "by another name", "no call"],
)
def test_edge_is_wrong_when_a_tool_knows_better(tmp_path: Path, sites: list[CallSite]) -> None:
    assert verdict(tmp_path, *sites) == "wrong"


def test_edge_is_undecided_when_no_tool_knows(tmp_path: Path) -> None:
    sites = [
        call(45, "sell"),
        call(45, "print", outside=True),
    ]  # the other call of the line tells nothing about this one
    assert verdict(tmp_path, *sites) == "undecided"


def test_edge_to_the_method_of_a_called_object_is_undecided_when_the_tools_know_a_variable(tmp_path: Path) -> None:
    made = graph(tmp_path, ("calls", 6, 8, 45))
    assert judge_edge(made.edges[0], group_by_line([call(45, "shop", held=True)]), made) == "undecided"
    assert judge_edge(made.edges[0], group_by_line([call(45, "shop", outside=True)]), made) == "wrong"


def test_bases_are_judged_for_known_classes(tmp_path: Path) -> None:
    made = graph(tmp_path, ("inherits", 4, 1, 22), ("inherits", 1, 4, 1))
    precision, recall = measure_bases(made, [ClassBases(BAKERY, (SHOP,)), ClassBases(SHOP, ())])
    assert (precision, recall) == (Proportion(1, 2), Proportion(1, 1))


def test_sample_keeps_what_two_graphs_share(tmp_path: Path) -> None:
    edges = [("calls", 6, 3, line) for line in range(42, 60)]
    whole = sample_edges(graph(tmp_path, *edges).edges, 6, seed=1)
    fewer = sample_edges(graph(tmp_path, *edges[:12]).edges, 6, seed=1)
    assert len(whole) == len(fewer) == 6
    assert {edge.line for edge in whole if edge.line < 54} <= {edge.line for edge in fewer}
    assert [edge.line for edge in whole] != [
        edge.line for edge in sample_edges(graph(tmp_path, *edges).edges, 6, seed=2)
    ]


def test_sample_draws_each_edge_once_and_no_other_relation(tmp_path: Path) -> None:
    made = graph(tmp_path, ("calls", 6, 1, 45), ("instantiates", 6, 1, 45), ("inherits", 4, 1, 22))
    assert len(sample_edges(made.edges, 0, seed=0)) == 1


def test_report_counts_kinds_and_tests_apart(tmp_path: Path) -> None:
    made = graph(tmp_path, ("calls", 6, 3, 45))
    sites = [
        call(45, "sell", CallTarget(SHOP_SELL, "call")),
        call(46, "sell", CallTarget(BAKERY_SELL, "call")),
        call(47, "handler", CallTarget(SHOP_SELL, "value")),
        call(48, "Shop", CallTarget(SHOP, "decorator")),
        CallSite("tests/test_shop.py", 3, "sell", (CallTarget(SHOP_SELL, "call"),)),
    ]
    figures = measure_graph(made, GroundTruth("tests", sites), made.edges, sites, max_examples=1)
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
    text = format_text(figures)
    assert "calls outside tests  0.500" in text
    assert "missed: shop.py:46" in text


def test_truth_survives_its_file(tmp_path: Path) -> None:
    site = call(45, "sell", CallTarget(BAKERY_SELL, "call", (SHOP_INIT,), (SHOP_SELL,)), outside=True)
    truth = GroundTruth("tests", [site], [ClassBases(BAKERY, (SHOP,))], {"left out": 2}, ("shop.py",))
    truth.save(tmp_path / "kept" / "calls.json")
    assert GroundTruth.load(tmp_path / "kept" / "calls.json") == truth


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        ("{", "not valid JSON"),
        ('{"format": 2}', "not a graph of format 1; write one with `coderag graph export"),
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
