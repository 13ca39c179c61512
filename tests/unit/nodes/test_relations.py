"""The relation of a question on its way from the look-up to contexts and answers."""

import json

import pytest

from coderag.codegraph.graph import CodeGraph
from coderag.schema.records import to_relation_records, to_relations
from tests.support.corpora import make_context
from tests.support.extracted import FILES, extracted
from tests.support.graphs import ask, run

QUERIES = ("callers", "users", "importers", "subclasses", "bases", "overrides", "overridden", "tests", "impact", "path")


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    return make_context(FILES, tmp_path_factory.mktemp("shop"))


def make_spy(name, query, calls):
    def spy(graph, *names, **options):
        if graph._is_permissive:
            calls.append((name, *names, options.get("candidates", False)))
        return query(graph, *names, **options)

    return spy


@pytest.fixture
def graph_calls(monkeypatch):
    """Record the queries to the code graph about the names of a question, each with its options."""
    calls = []
    for name in QUERIES:
        monkeypatch.setattr(CodeGraph, name, make_spy(name, getattr(CodeGraph, name), calls))
    return calls


def neighbours(output):
    return {neighbour["qualified_name"] for query in output["relations"] for neighbour in query["neighbours"]}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("who calls round_up", {"Cart.total", "test_rounding"}),
        ("what does Cart.pay call", {"charge", "Cart.total"}),
        ("subclasses of Basket", {"Cart", "WishList"}),
        ("which tests cover round_up", {"test_rounding"}),
        ("what breaks if charge changes", {"Cart.pay", "check_out"}),
        ("how does check_out reach charge", {"Cart.pay", "charge"}),
    ],
)
def test_output_has_the_neighbours_as_plain_values(context, query, expected):
    output = run(context, query)
    assert expected <= neighbours(output)
    assert json.loads(json.dumps(output["relations"])) == output["relations"]
    assert to_relation_records(to_relations(output["relations"])) == output["relations"]


@pytest.mark.parametrize("query", ["where is round_up defined", "how are values rounded"])
def test_other_questions_have_no_relation(context, query):
    assert run(context, query)["relations"] == []


def test_trace_has_the_relation_and_the_number_of_neighbours(context):
    output = run(context, "subclasses of Basket")
    detail = next(entry["detail"] for entry in output["trace"] if entry["node"] == "lookup")
    assert (detail["relation"], detail["direction"], detail["neighbours"]) == ("inherits", "in", 2)


def test_filters_select_neighbours(context):
    filters = {"languages": [], "kinds": [], "paths": [], "roles": ["test"]}
    assert neighbours(run(context, "who calls round_up", filters=filters)) == {"test_rounding"}
    assert "Cart.total" not in extracted(context, "who calls round_up", filters=filters).text
    filters = {"languages": [], "kinds": ["class"], "paths": [], "roles": []}
    assert neighbours(run(context, "who uses Basket", filters=filters)) == {"Cart", "WishList"}


@pytest.mark.parametrize(
    "query",
    ["who calls round_up", "subclasses of Basket", "which tests cover round_up", "how does check_out reach charge"],
)
async def test_answer_asks_the_graph_once(context, graph_calls, query):
    answer = await ask(context, query)
    assert answer.shape in ("usages", "flow")
    assert graph_calls
    assert len(graph_calls) == len(set(graph_calls))


def test_context_starts_with_the_lines_of_the_neighbours(context):
    text = run(context, "who calls round_up", goal="context")["context"]["text"]
    line = "- `Cart.total` calls `round_up` at shop/cart.py:18: `first = round_up(1)`"
    assert line in text
    assert text.index(line) < text.index("## Results")


def test_context_says_where_the_other_end_of_an_outgoing_relation_is(context):
    text = run(context, "what does Cart.pay call", goal="context")["context"]["text"]
    assert "- `Cart.pay` calls `charge` (shop/cart.py:25) at shop/cart.py:22: `" in text
