"""Node ``find_items``: the verdict with mirrored items, and questions that have none."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from coderag.nodes.find_items import find_items
from coderag.nodes.steps import route_evidence
from coderag.schema.query import FoundItems
from tests.support.corpora import make_context
from tests.support.graphs import state


class ItemFinderStub:
    """Finds nothing, with a verdict; counts the questions."""

    def __init__(self, verdict):
        self.verdict = verdict
        self.asked = []

    def find(self, query, scope):
        self.asked.append(scope)
        return FoundItems(hits=[], verdict=self.verdict, confidence=0.8, notes=[])


@pytest.fixture(scope="module")
def context():
    return make_context({"x.py": "x = 1\n"})


def run(context, finder, intent, verdict):
    given = state("q", judgement={"verdict": verdict, "confidence": 0.3, "features": {}, "not_indexed": []})
    given["analysis"] = {**given["analysis"], "intent": intent}
    return find_items(given, SimpleNamespace(context=replace(context, items=finder)))


@pytest.mark.parametrize(
    ("items", "repository", "expected"),
    [
        ("found", "weak", ("found", 0.8)),
        ("weak", "not_found", ("weak", 0.8)),
        ("weak", "found", None),
        ("not_found", "unknown", None),
    ],
)
def test_verdict_is_the_better_of_items_and_repository(context, items, repository, expected):
    update = run(context, ItemFinderStub(items), "backlog", repository)
    judgement = update.get("judgement")
    assert (judgement and (judgement["verdict"], judgement["confidence"])) == expected
    assert update.get("evidence") == (expected and expected[0])
    assert update["items"]["repository_verdict"] == repository


@pytest.mark.parametrize("intent", ["general", "find_usage", "understand_module"])
def test_question_of_another_kind_asks_for_no_items(context, intent):
    finder = ItemFinderStub("found")
    assert "items" not in run(context, finder, intent, "weak")
    assert finder.asked == []


@pytest.mark.parametrize(
    ("intent", "goal", "expected"),
    [
        ("backlog", "answer", "find_items"),
        ("documentation", "context", "find_items"),
        ("documentation", "search", "__end__"),
        ("general", "answer", "expand"),
    ],
)
def test_only_answers_and_contexts_of_such_questions_are_routed_to_items(intent, goal, expected):
    given = state("q", goal=goal, evidence="found", widened=False)
    given["analysis"] = {**given["analysis"], "intent": intent}
    assert route_evidence(given) == expected
