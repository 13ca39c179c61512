"""Query graph on LangGraph's server, which opens the repository that the input names."""

import json
from importlib import import_module

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from coderag import CodeRAG

SOURCE = 'def hash_password(secret):\n    """Hash a password with a fresh salt."""\n    return secret[::-1]\n'
HERE = {"configurable": {"thread_id": "1"}}


@pytest.fixture
def served():
    return import_module("coderag.graphs.served").graph


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "passwords.py").write_text(SOURCE)
    (tmp_path / "salt.js").write_text("export function salt() {\n  return Math.random();\n}\n")
    return tmp_path


@pytest.fixture
def indexed(repository):
    CodeRAG(repository).index()
    return str(repository)


@pytest.fixture
def in_threads(served):
    """Return the graph as the server runs it: with a checkpointer."""
    return served.copy(update={"checkpointer": InMemorySaver()})


async def test_question_to_a_named_repository_is_answered(served, indexed):
    output = await served.ainvoke({"query": "how are passwords hashed", "repository": indexed})
    assert "passwords.py:1-3" in output["answer"]["text"]
    assert output["answer"]["verified"] == output["answer"]["total"] > 0
    assert json.loads(json.dumps(output)) == output


async def test_search_ends_with_its_results(served, indexed):
    question = {"query": "hash_password", "goal": "search", "top_k": 1, "repository": indexed, "explain": True}
    output = await served.ainvoke(question)
    assert [result["symbol"] for result in output["results"]] == ["hash_password"]
    assert output["results"][0]["ranks"]
    assert (output["context"], output["answer"]) == ({}, {})


async def test_all_query_arguments_are_accepted(served, indexed):
    question = {
        "query": "hash_password",
        "goal": "context",
        "repository": indexed,
        "token_budget": 300,
        "format": "xml",
        "filters": {"languages": ["python"]},
    }
    first = (await served.ainvoke(question))["context"]
    assert first["text"].startswith("<context")
    assert first["tokens"] <= 300
    assert {item["path"] for section in first["sections"] for item in section["items"]} == {"passwords.py"}
    again = (await served.ainvoke({**question, "shown": first["shown"]}))["context"]
    assert again["shown_before"] == ["passwords.py:1-3"]


async def test_next_run_of_a_thread_starts_fresh(in_threads, indexed):
    question = {
        "query": "hash_password",
        "repository": indexed,
        "filters": {"languages": ["python"]},
        "goal": "context",
    }
    first = await in_threads.ainvoke(question, HERE)
    second = await in_threads.ainvoke({"query": "salt", "repository": indexed}, HERE)
    assert first["context"]["query"] == "hash_password"
    assert second["answer"]["query"] == "salt"
    assert second["context"] == {}
    assert second["answer"]["citations"][0]["path"] == "salt.js"
    assert [entry["node"] for entry in second["trace"]].count("analyze") == 1


async def test_steps_and_words_are_streamed(served, indexed):
    question = {"query": "how are passwords hashed", "repository": indexed}
    modes = ["custom", "updates"]
    events = [event async for event in served.astream(question, stream_mode=modes, subgraphs=True)]
    steps = [next(iter(statement)) for place, mode, statement in events if place and mode == "updates"]
    words = [statement["text"] for _, mode, statement in events if mode == "custom" and statement["kind"] == "text"]
    assert (steps[0], steps[-1]) == ("analyze", "answer")
    assert "".join(words) == events[-1][2]["query"]["answer"]["text"]


async def test_graph_embeds_in_a_graph_with_the_same_keys(served, indexed):
    class Parent(TypedDict, total=False):
        query: str
        repository: str
        answer: dict
        places: list

    builder = StateGraph(Parent)
    builder.add_node("code", served)
    builder.add_node("cite", lambda state: {"places": [field["path"] for field in state["answer"]["citations"]]})
    builder.add_edge(START, "code")
    builder.add_edge("code", "cite")
    graph = builder.compile(checkpointer=InMemorySaver())
    output = await graph.ainvoke({"query": "hash_password", "repository": indexed}, HERE)
    assert "passwords.py" in output["places"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"query": ""}, "query: String should have at least 1 character"),
        ({}, "query: Field required"),
        ({"query": "x1", "goal": "guess"}, "goal: Input should be 'search', 'context' or 'answer'"),
        ({"query": "x1", "token_budget": 3}, "token_budget: Input should be greater than or equal to 200"),
        ({"query": "x1", "filters": {"lang": ["python"]}}, "filters.lang: Extra inputs are not permitted"),
    ],
)
async def test_invalid_input_is_reported_and_the_thread_continues(in_threads, indexed, wrong, message):
    with pytest.raises(RuntimeError, match=f"InvalidQueryError: invalid input: {message}"):
        await in_threads.ainvoke({"repository": indexed, **wrong}, HERE)
    output = await in_threads.ainvoke({"query": "hash_password", "goal": "search", "repository": indexed}, HERE)
    assert output["results"]


async def test_repository_without_an_index_is_reported(served, repository):
    with pytest.raises(
        RuntimeError, match=r"IndexNotFoundError: .* is not indexed yet. Run `coderag index` there first"
    ):
        await served.ainvoke({"query": "x1 y2", "repository": str(repository)})


def test_input_and_output_have_schemas(served):
    question, message = served.get_input_jsonschema(), served.get_output_jsonschema()
    assert question["required"] == ["query"]
    assert {"repository", "goal", "filters", "token_budget", "shown", "format"} <= question["properties"].keys()
    assert {"analysis", "results", "context", "answer", "trace"} <= message["properties"].keys()
