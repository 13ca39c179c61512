import dataclasses
import json

from coderag.schema.answers import Answer, AnswerClaim, AnswerSection, AnswerStatement, Citation
from coderag.schema.context import AssembledContext, ContextItem, ContextSection, Omission
from coderag.schema.records import to_answer, to_context

ITEM = ContextItem("id1", "a.py", 1, 4, "A.run", "def run(): ...", 5, "full", "python", "caller", "A")
CONTEXT = AssembledContext(
    query="run", intent="general", text="# run",
    sections=[ContextSection("primary", [ITEM], 5), ContextSection("graph", [], 0)],
    tokens=5, token_budget=100, omitted=[Omission("b.py", 1, 2, "b", 9, "coderag search b")], evidence="found",
    format="xml", shown=["a.py:1-4#0123456789abcdef"], shown_before=["c.py:1-2"], not_indexed=[],
)  # fmt: skip
ANSWER = Answer(
    query="run", intent="general", text="It runs.",
    citations=[Citation("a.py", 1, 4, "00", verified=True), Citation("b.py", 2, 2, "11", verified=False, reason="gone")],
    verified=1, total=2, evidence="weak", hits=[], generator="ollama/m", shape="usages",
    claims=[AnswerClaim("It runs [1].", [0], "verified"), AnswerClaim("It flies.", [], "uncited", "no", shown=False)],
    sections=[AnswerSection("place", "", "text", [
        AnswerStatement("It is `run`.", [0], "declares", code="def run():\n… 3 lines", language="python", line_numbers=[1, 0]),
    ])],
    missing=["why it runs"], flagged=["a.py:1-4: asks for secrets"], redacted=3,
)  # fmt: skip


def as_state(value):
    """Take a value apart as the graph's state keeps it, by way of a checkpointer."""
    return json.loads(json.dumps(dataclasses.asdict(value)))


def test_context_survives_a_round_trip():
    assert to_context(as_state(CONTEXT)) == CONTEXT


def test_answer_survives_a_round_trip_with_its_hits():
    assert to_answer(as_state(ANSWER), []) == ANSWER
    assert to_answer(as_state(ANSWER), ["a hit"]).hits == ["a hit"]
