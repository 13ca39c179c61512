"""What a node writes, made of contexts and answers."""

from coderag.integrations.langgraph.state import collect_answer_citations, collect_context_citations
from coderag.schema.answers import Answer, Citation
from coderag.schema.context import AssembledContext, ContextItem, ContextSection


def item(path, start, **values):
    return ContextItem("id", path, start, start + 4, "title", "text", 5, "full", name=f"name_{start}", **values)


def test_a_context_cites_results_and_related_code_and_not_its_graph():
    sections = [
        ContextSection("primary", [item("a.py", 1)], 5),
        ContextSection("related", [item("b.py", 7, relation="caller", related_to="name_1")], 5),
        ContextSection("graph", [item("", 0)], 5),
    ]
    context = AssembledContext("q", "general", "text", sections, 15, 100, [], "found")
    assert collect_context_citations(context) == [
        {"path": "a.py", "start_line": 1, "end_line": 5, "name": "name_1"},
        {"path": "b.py", "start_line": 7, "end_line": 11, "name": "name_7", "relation": "caller"},
    ]


def test_an_answers_citations_say_whether_they_hold():
    cited = [
        Citation("a.py", 1, 2, "hash", verified=True),
        Citation("b.py", 3, 3, "hash", verified=False, reason="gone"),
    ]
    answer = Answer("q", "general", "text", cited, 1, 2, "found", [])
    assert collect_answer_citations(answer) == [
        {"path": "a.py", "start_line": 1, "end_line": 2, "verified": True},
        {"path": "b.py", "start_line": 3, "end_line": 3, "verified": False, "reason": "gone"},
    ]
