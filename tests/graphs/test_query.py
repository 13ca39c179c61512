"""Query graph: its drawing, routes, and the nodes that run for each goal."""

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from coderag.app import CodeRAG
from coderag.engine.graph_loader import load_query_graph
from coderag.errors import InvalidQueryError
from coderag.nodes.steps import walk
from coderag.question.analysis import analyze
from coderag.schema.query import QueryOutput
from coderag.schema.records import to_answer, to_context
from coderag.schema.vocabulary import Intent
from tests.support.candidates import names_of, paths_of
from tests.support.corpora import make_context, write_files
from tests.support.graphs import run, steps

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "shop/money.py": (
        'def round_up(value):\n    """Round a value up to whole units."""\n    return int(value + 0.5)\n\n\n'
        "class Money:\n    def __init__(self, amount):\n        self.amount = round_up(amount)\n"
    ),
    "shop/cart.py": (
        "from shop.money import Money, round_up\n\n\nclass Basket:\n    size = 1\n\n\nclass Cart(Basket):\n"
        '    """Holds items."""\n\n    def total(self):\n        return round_up(sum(self.items))\n'
    ),
    "tests/test_money.py": "from shop.money import round_up\n\n\ndef test_rounding():\n    assert round_up(0.2) == 1\n",
    "docs/money.md": "# Money\n\nValues are rounded up to whole units before they are shown: ticket 12 asked for it.\n",
}
LOOKED_UP = ["analyze", "lookup", "retrieve", "rerank"]
SEARCHED = ["analyze", "retrieve", "rerank"]
WIDENED = ["widen", "retrieve", "rerank"]


@pytest.fixture(scope="module")
def graph():
    return load_query_graph()


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    return make_context(FILES, tmp_path_factory.mktemp("shop"))


# The drawing


def drawing(graph):
    return graph.get_graph().draw_mermaid().strip()


def test_drawing_matches_the_snapshot(graph):
    assert drawing(graph) == (Path(__file__).parent / "query.mmd").read_text(encoding="utf-8").strip()


def test_readme_shows_the_drawing(graph):
    readme = ROOT / "README.md"
    assert readme.is_file(), "there is no README.md"
    blocks = re.findall(r"<!-- graph:query -->\s*```mermaid\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 1, "README.md has no block '<!-- graph:query -->' followed by ```mermaid … ```"
    assert blocks[0].strip() == drawing(graph), "README.md shows another graph: copy tests/graphs/query.mmd into it"


# Routes

ROUTES = {
    "find_definition": ("where is round_up defined", LOOKED_UP),
    "find_usage": ("who calls round_up", LOOKED_UP),
    "hierarchy": ("what extends Basket", LOOKED_UP),
    "find_tests": ("what tests round_up", LOOKED_UP),
    "find_similar": ("code like shop/money.py:1", LOOKED_UP),
    "understand_module": ("how are values rounded up", SEARCHED),
    "documentation": ("what do the docs say about rounded values", SEARCHED),
    "backlog": ("which ticket is about values rounded", SEARCHED),
    "history": ("when was round_up last changed", SEARCHED),
    "general": ("values rounded up to whole units", SEARCHED),
}


def test_every_intent_has_a_route():
    assert ROUTES.keys() == set(get_args(Intent))


@pytest.mark.parametrize("intent", ROUTES)
def test_intent_takes_its_route(context, intent):
    query, route = ROUTES[intent]
    output = run(context, query)
    assert output["analysis"]["intent"] == intent
    assert steps(output) == route
    assert output["evidence"] == "found"


@pytest.mark.parametrize(
    ("goal", "further"), [("search", []), ("context", ["expand", "budget"]), ("answer", ["expand", "budget", "answer"])]
)
async def test_goal_determines_the_last_node(graph, context, goal, further):
    output = await graph.ainvoke({"query": "how are values rounded up", "goal": goal}, context=context)
    assert steps(output) == SEARCHED + further
    assert ("context" in output, "answer" in output) == ("expand" in further, "answer" in further)


@pytest.mark.parametrize("goal", ["search", "context"])
@pytest.mark.parametrize("query", [query for query, _ in ROUTES.values()] + ["kubernetes ingress annotations"])
def test_walk_equals_the_graph(context, query, goal):
    walked, ran = walk({"query": query, "goal": goal}, context), run(context, query, goal)
    assert steps(walked) == steps(ran)
    assert {**walked, "trace": []} == {**ran, "trace": []}


def test_default_goal_is_a_search(graph, context):
    assert steps(graph.invoke({"query": "values rounded up"}, context=context)) == SEARCHED


@pytest.mark.parametrize(
    ("goal", "further"), [("search", []), ("context", ["expand", "budget"]), ("answer", ["expand", "budget", "answer"])]
)
async def test_weak_verdict_is_widened_exactly_once(graph, context, goal, further):
    output = await graph.ainvoke({"query": "kubernetes ingress annotations", "goal": goal}, context=context)
    assert steps(output) == SEARCHED + WIDENED + further
    assert output["evidence"] == "not_found"


def test_misspelt_identifier_is_found_by_widening(context):
    output = run(context, "where is roundd_upp defined")
    assert steps(output) == LOOKED_UP + WIDENED
    assert names_of(context.corpus, output["results"])[0] == "round_up"


# What comes out


@pytest.mark.parametrize("query", [query for query, _ in ROUTES.values()] + ["kubernetes ingress annotations"])
async def test_output_has_plain_values(graph, context, query):
    output = await graph.ainvoke({"query": query, "goal": "answer"}, context=context)
    assert json.loads(json.dumps(output)) == output
    assert output.keys() == QueryOutput.__annotations__.keys()


async def test_context_and_answer_are_records_of_public_dataclasses(graph, context):
    asked = await graph.ainvoke({"query": "who calls round_up", "goal": "answer"}, context=context)
    assert to_answer(asked["answer"], []).intent == "find_usage"
    assert asked["context"] == {}  # an answer without a model needs none
    packed = await graph.ainvoke({"query": "who calls round_up", "goal": "context"}, context=context)
    assert to_context(packed["context"]).intent == "find_usage"


def test_same_question_has_the_same_results(context):
    first, second = (run(context, "how are values rounded up", "context") for _ in range(2))
    assert first["results"] == second["results"]
    assert first["context"] == second["context"]


def test_users_precede_the_used_declaration(context):
    names = names_of(context.corpus, run(context, "who calls round_up")["results"])
    assert set(names[:3]) == {"Cart.total", "Money.__init__", "test_rounding"}


def test_all_overloads_of_a_definition_are_found():
    source = (
        "export function parse(x: string): string;\nexport function parse(x: number): number;\n"
        "export function parse(x: any): any {\n  return x;\n}\n"
    )
    output = run(make_context({"parse.ts": source}), "where is parse defined")
    assert sorted(candidate["start_line"] for candidate in output["results"]) == [1, 2, 3]


def test_referenced_location_is_not_a_result(context):
    output = run(context, "code like shop/money.py:1")
    assert "round_up" not in names_of(context.corpus, output["results"])


def test_limits_and_filters_of_the_caller_apply(context):
    filters = {"languages": ["python"], "kinds": [], "paths": ["tests"], "roles": []}
    for query, _ in ROUTES.values():
        output = run(context, query, top_k=2, filters=filters)
        assert len(output["results"]) <= 2
        assert set(paths_of(context.corpus, output["results"])) <= {"tests/test_money.py"}


def test_token_budget_of_the_caller_applies(context):
    packed = run(context, "how are values rounded up", "context", token_budget=200)["context"]
    assert packed["tokens"] <= packed["token_budget"] == 200


def test_empty_index_is_not_found():
    output = run(make_context({}), "how are values rounded up", "context")
    assert (output["results"], output["evidence"]) == ([], "not_found")
    assert "Nothing in the index" in output["context"]["text"]


def test_invalid_question_is_rejected(context):
    with pytest.raises(InvalidQueryError):
        run(context, "?")


def test_trace_has_the_duration_of_every_node(context):
    trace = run(context, "values rounded up", "context")["trace"]
    assert trace
    assert all(entry["ms"] >= 0 for entry in trace)


def test_index_on_disk_is_searched_like_one_in_memory(context, tmp_path):
    rag = CodeRAG(write_files(tmp_path / "shop", FILES), ingestion={"chunk": {"min_tokens": 0}})
    rag.index()
    for query, _ in ROUTES.values():
        hits = rag.search(query)
        assert [hit.qualified_name for hit in hits] == names_of(context.corpus, run(context, query)["results"])


@pytest.mark.parametrize("query", [query for query, _ in ROUTES.values()])
def test_question_has_the_intent_of_its_route(query):
    assert ROUTES[analyze(query)["intent"]][0] == query
