"""Nodes as functions: their updates, without changes to the state."""

import copy
import inspect
from dataclasses import replace
from typing import get_type_hints

import pytest
from langgraph.runtime import Runtime

from coderag.errors import InvalidQueryError
from coderag.models.protocols import RerankScores
from coderag.nodes.analyze import analyze
from coderag.nodes.answer import answer
from coderag.nodes.budget import budget
from coderag.nodes.expand import expand
from coderag.nodes.lookup import lookup
from coderag.nodes.rerank import rerank
from coderag.nodes.retrieve import retrieve
from coderag.nodes.widen import widen
from coderag.schema.query import QueryUpdate
from tests.support.candidates import candidate, names_of, paths_of
from tests.support.corpora import make_context, row_named
from tests.support.graphs import state

FILES = {
    "shop/money.py": 'def round_up(value):\n    """Round a value up."""\n    return int(value + 0.5)\n',
    "shop/cart.py": (
        "from shop.money import round_up\n\n\nclass Cart:\n    def total(self):\n        return round_up(sum(self.items))\n"
    ),
    "tests/test_money.py": "from shop.money import round_up\n\n\ndef test_rounding():\n    assert round_up(0.2) == 1\n",
}
FLOW_FILES = {
    "a.py": "from b import middle\n\n\ndef start(x):\n    return middle(x)\n",
    "b.py": "from c import finish\n\n\ndef middle(x):\n    return finish(x * 2)\n",
    "c.py": "def finish(x):\n    return x + 1\n",
}
NODES = (analyze, lookup, retrieve, rerank, widen, expand, budget, answer)
PYTHON_ONLY = {"languages": ["python"], "kinds": [], "paths": [], "roles": []}


@pytest.fixture
def context(tmp_path):
    return make_context(FILES, tmp_path)


def call(node, context, given):
    """Call a node and check what holds for each: one trace entry, and nothing of the state touched."""
    before = copy.deepcopy(given)
    update = node(given, Runtime(context=context))
    assert given == before
    assert [entry["node"] for entry in update["trace"]] == [node.__name__]
    assert update["trace"][0]["ms"] >= 0
    assert update.keys() <= QueryUpdate.__annotations__.keys()
    return update


def ready(context, query, **values):
    """Return a state with results, as it is after `rerank`."""
    given = state(query, **values)
    for node in (lookup, retrieve, rerank):
        given.update({key: value for key, value in call(node, context, given).items() if key != "trace"})
    return given


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.__name__)
def test_node_maps_state_and_runtime_to_an_update(node):
    assert list(inspect.signature(node).parameters) == ["state", "runtime"]
    assert get_type_hints(node)["return"] is QueryUpdate


def test_analyze_sets_the_analysis_and_resets_the_state(context):
    update = call(analyze, context, {"query": "who calls round_up"})
    assert update["analysis"]["intent"] == "find_usage"
    assert (update["candidates"], update["widened"], update["related"]) == ([], False, [])


def test_analyze_rejects_an_invalid_question(context):
    with pytest.raises(InvalidQueryError):
        analyze({"query": " "}, Runtime(context=context))


def test_lookup_finds_users_and_counts_them(context):
    update = call(lookup, context, state("who calls round_up"))
    assert set(names_of(context.corpus, update["candidates"])) == {"Cart.total", "test_rounding"}
    assert update["trace"][0]["detail"]["found"] == 2


def test_lookup_resolves_a_location_to_its_code(context):
    update = call(lookup, context, state("code like shop/money.py:1"))
    assert "int(value + 0.5)" in update["analysis"]["text"]


def test_retrieve_puts_lookup_candidates_first(context):
    known = candidate(context.corpus, row_named(context.corpus, "Cart"), symbol="Cart.total", lookup=0.8)
    update = call(retrieve, context, state("who calls round_up", candidates=[known]))
    assert update["candidates"][0]["symbol"] == "Cart.total"
    assert len(update["candidates"]) > 1


def test_retrieve_does_not_accumulate_candidates(context):
    first = call(retrieve, context, state("rounding"))["candidates"]
    again = call(retrieve, context, state("rounding", candidates=first))["candidates"]
    assert again == first


def test_retrieve_applies_filters(context):
    filters = {**PYTHON_ONLY, "roles": ["test"]}
    update = call(retrieve, context, state("rounding values", filters=filters))
    assert set(paths_of(context.corpus, update["candidates"])) == {"tests/test_money.py"}


def test_filters_apply_to_lookup_candidates(context):
    filters = {**PYTHON_ONLY, "roles": ["test"]}
    given = state("who calls round_up", filters=filters)
    given["candidates"] = call(lookup, context, given)["candidates"]
    update = call(retrieve, context, given)
    assert set(paths_of(context.corpus, update["candidates"])) == {"tests/test_money.py"}


@pytest.mark.parametrize(("given", "expected"), [({"top_k": 1}, 1), ({}, 2)])
def test_rerank_limits_results_to_top_k(tmp_path, given, expected):
    context = make_context(FILES, top_k=2)
    assert len(ready(context, "rounding values", **given)["results"]) == expected


def test_rerank_judges_the_results(context):
    assert ready(context, "where is round_up defined")["evidence"] == "found"
    assert ready(context, "kubernetes ingress annotations")["evidence"] == "not_found"


class LastFirst:
    """A `Reranker` that turns the order round."""

    name, candidates, remote = "fake/last-first", 20, False

    def __init__(self):
        self.calls = 0

    def rerank(self, query, texts):
        self.calls += 1
        return RerankScores(list(range(len(texts))))


def results_with(model, query="round a value up", **given):
    return [item["chunk_id"] for item in ready(make_context(FILES, reranker=model), query, **given)["results"]]


def test_rerank_uses_a_configured_model():
    assert results_with(LastFirst()) == results_with(None)[::-1]


def test_model_reranks_more_candidates_than_top_k():
    assert results_with(LastFirst(), top_k=1) == results_with(None)[-1:]


def test_model_runs_only_after_widening():
    model = LastFirst()
    requested = make_context(FILES, reranker=model)
    given = ready(requested, "kubernetes value annotations")
    assert model.calls == 0
    call(rerank, requested, {**given, "widened": True})
    assert model.calls == 1


def test_trace_describes_reranking(context):
    given = state("round a value up")
    given["candidates"] = call(retrieve, context, given)["candidates"]
    update = call(rerank, replace(context, reranker=LastFirst()), given)
    assert update["trace"][0]["detail"]["reranker"] == "fake/last-first"
    assert update["trace"][0]["detail"]["reranked"] == 5


def test_channel_ranks_are_added_on_request(context):
    plain, explained = (ready(context, "round a value up", **given)["results"] for given in ({}, {"explain": True}))
    assert all("ranks" not in result for result in plain)
    for result in explained:
        assert set(result["ranks"]) >= set(result["channels"]) - {"lookup", "literal"}
    assert {1} <= {rank for result in explained for rank in result["ranks"].values()}


def test_widen_adds_and_records_terms(context):
    update = call(widen, context, state("where is round_upp"))
    assert "=roundup" in update["analysis"]["expanded_terms"]
    assert update["widened"] is True
    assert update["trace"][0]["detail"]["terms"] == update["analysis"]["expanded_terms"]


def test_widen_without_new_terms_counts_as_the_retry(context):
    update = call(widen, context, state("photosynthesis"))
    assert (update["analysis"]["expanded_terms"], update["widened"]) == ([], True)


def test_expand_adds_code_that_is_not_a_result(context):
    given = ready(context, "where is round_up defined", top_k=1)
    related = call(expand, context, given)["related"]
    assert "caller" in {item["relation"] for item in related}
    assert {item["chunk_id"] for item in related}.isdisjoint(item["chunk_id"] for item in given["results"])
    assert {item["related_to"] for item in related if item["depth"] == 1} == {"round_up"}


def test_expand_does_not_relate_later_results_to_the_first():
    names = "abcdefgh"
    chain = {
        f"{name}.py": f"from {after} import value_{after}\n\n\ndef value_{name}(x):\n    return value_{after}(x)\n"
        for name, after in zip(names, names[1:] + names[0], strict=True)
    }
    context = make_context(chain, max_per_file=2)
    given = ready(context, "value of x", top_k=16)
    assert len(given["results"]) == context.corpus.n_chunks
    assert call(expand, context, given)["related"] == []


@pytest.mark.parametrize("settings", [{"expand_depth": 0}, {"max_related": 0}])
def test_expand_can_be_disabled(settings):
    context = make_context(FILES, **settings)
    assert call(expand, context, ready(context, "where is round_up defined", top_k=1))["related"] == []


def test_flow_has_its_calls_and_the_declarations_on_the_way():
    context = make_context(FLOW_FILES)
    given = ready(context, "how does start get to finish", top_k=1)
    update = call(expand, context, given)
    assert [line.split(" (")[0] for line in update["flow"]] == [
        "1. `start` calls `middle`",
        "2. `middle` calls `finish`",
    ]
    names = names_of(context.corpus, update["to_read"])
    assert set(names[:3]) == {"start", "middle", "finish"}
    packed = call(budget, context, {**given, **update})["context"]
    assert "1. `start` calls `middle` (b.py:4) at a.py:5: `return middle(x)`" in packed["text"]
    assert "return finish(x * 2)" in packed["text"]


def test_other_questions_have_no_flow(context):
    given = ready(context, "where is round_up defined")
    update = call(expand, context, given)
    assert (update["flow"], update["to_read"]) == ([], given["to_read"])


@pytest.mark.parametrize(("given", "expected"), [({"token_budget": 300}, 300), ({}, 1_234)])
def test_budget_obeys_the_input_or_the_settings(given, expected):
    context = make_context(FILES, token_budget=1_234)
    packed = call(budget, context, ready(context, "rounding values", **given))["context"]
    assert packed["tokens"] <= packed["token_budget"] == expected
    assert "round_up" in packed["text"]


async def test_answer_is_checked_against_the_files(context):
    given = ready(context, "where is round_up defined")
    given["context"] = call(budget, context, given)["context"]
    update = await answer(given, Runtime(context=context))
    assert update["answer"]["verified"] == update["answer"]["total"] > 0
    assert update["trace"][0]["detail"]["generator"] == "extractive"
