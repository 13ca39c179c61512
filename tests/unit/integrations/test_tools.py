"""CodeRAG as tools that a model calls."""

import json

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from llama_index.core.tools import FunctionTool
from pydantic import ValidationError

from coderag import as_tool, as_tools
from coderag.errors import ConfigurationError, IndexNotFoundError, InvalidQueryError, UnknownNameError
from coderag.text.token_counts import count_tokens

NAMES = ["get_code_context", "search_code", "get_symbol", "read_code"]
GITHUB_TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3  # in two parts, so that no scanner takes it for one


def called(tool, **args):
    """Return the message that a model which calls the tool is given."""
    message = tool.invoke({"type": "tool_call", "id": "1", "name": tool.name, "args": args})
    assert isinstance(message, ToolMessage)
    assert json.loads(json.dumps(message.artifact)) == message.artifact
    return message


def tool_named(repository, tool):
    return as_tool(repository, tool=tool)


def test_each_framework_gets_all_tools(repository):
    assert [tool.name for tool in as_tools(repository)] == NAMES
    assert [tool.metadata.name for tool in as_tools(repository, "llama_index")] == NAMES


def test_a_model_is_told_what_each_argument_is_and_its_bounds(repository):
    for ours in (*as_tools(repository), *as_tools(repository, "llama_index")):
        if isinstance(ours, FunctionTool):
            schema = ours.metadata.get_parameters_dict()
            assert ours.metadata.description
        else:
            described = convert_to_openai_tool(ours)["function"]
            schema = described["parameters"]
            assert described["description"]
        assert all(argument["description"] for argument in schema["properties"].values())
    schema = convert_to_openai_tool(as_tool(repository))["function"]["parameters"]
    assert schema["required"] == ["query"]
    assert schema["properties"]["token_budget"]["minimum"] == 200


def test_a_context_is_within_the_budget_and_cites_what_it_shows(repository):
    message = called(as_tool(repository), query="hash_password", token_budget=300)
    assert "def hash_password(secret):" in message.content
    assert message.artifact["tokens"] == count_tokens(message.content) <= 300
    assert message.artifact["citations"][0]["path"] == "auth/passwords.py"


def test_a_search_lists_places_and_no_code(repository):
    message = called(tool_named(repository, "search"), query="where is Session defined", top_k=2)
    first, place, signature, summary = message.content.splitlines()[:4]
    assert first == "evidence: found (2 results)"
    assert place == "1. auth/session.py:4-5 class `Session`"  # its members are results of their own
    assert (signature.strip(), summary.strip()) == ("class Session:", "A user who has logged in.")
    assert "PermissionError" not in message.content
    assert message.artifact["hits"][0]["name"] == "Session"


def test_results_can_be_of_one_folder_or_language(repository):
    search = tool_named(repository, "search")
    assert {hit["path"] for hit in called(search, query="total", language="JavaScript").artifact["hits"]} == {
        "web/cart.js"
    }
    assert {hit["path"] for hit in called(search, query="password", path="tests").artifact["hits"]} == {
        "tests/test_passwords.py"
    }


def test_a_symbol_comes_with_callers_callees_and_tests(repository):
    message = called(tool_named(repository, "symbol"), name="check_password")
    assert "def check_password(secret, stored):" in message.content
    assert "called by:\n- `Session.login` (auth/session.py:9)" in message.content
    assert "calls:\n- `hash_password` (auth/passwords.py:8)" in message.content
    assert "tested by:\n- `test_a_password_is_checked`" in message.content
    assert [one["name"] for one in message.artifact["calls"]] == ["hash_password"]


def test_a_file_is_a_symbol_too(repository):
    message = called(tool_named(repository, "symbol"), name="auth/passwords.py")
    assert "test_a_password_is_checked" in message.content


def test_a_file_that_nothing_needs_is_told_to_be_one(repository):
    message = called(tool_named(repository, "symbol"), name="web/cart.js")
    assert "Nothing calls or tests web/cart.js" in message.content


def test_a_name_that_much_calls_does_not_flood_the_model(unindexed):
    calls = "\n\n\n".join(f"def caller_{number}():\n    return hub()" for number in range(25))
    (unindexed / "hub.py").write_text(f"def hub():\n    return 1\n\n\n{calls}\n")
    message = called(as_tool(unindexed, tool="symbol", index=True), name="hub")
    assert message.content.count("- `caller_") == 20
    assert "- 5 more" in message.content
    assert len(message.artifact["called_by"]) == 25


@pytest.mark.parametrize("places", [["auth/session.py:7-8"], "auth/session.py:7-8"])
def test_places_can_be_read(repository, places):
    message = called(tool_named(repository, "read"), places=places)
    assert "def login(self, name, secret):" in message.content
    assert "self.open(name)" not in message.content


@pytest.mark.parametrize(
    ("tool", "args", "told"),
    [
        ("symbol", {"name": "hash_pasword"}, "Did you mean `hash_password`"),
        ("search", {"query": "x1", "language": "cobol"}, "cobol"),
        ("read", {"places": ["nowhere.py"]}, "nowhere.py"),
        ("read", {"places": ["../outside.py"]}, "outside.py"),
        ("context", {"query": "x1", "token_budget": 7}, "token_budget: Input should be greater than or equal to 200"),
        ("search", {"query": "x1", "top": 3}, "top: Extra inputs are not permitted"),
        ("search", {}, "query: Field required"),
    ],
)
def test_what_a_model_can_mend_it_is_told(repository, tool, args, told):
    message = called(tool_named(repository, tool), **args)
    assert message.status == "error"
    assert told in message.content


async def test_a_graph_runs_them_by_its_tool_node_and_keeps_what_they_say(repository):
    def model(state):
        calls = [("search_code", {"query": "hash_password"}), ("get_symbol", {"name": "hash_pasword"})]
        tools = [{"id": name, "name": name, "args": args} for name, args in calls]
        return {"messages": [AIMessage("", tool_calls=tools)]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode(as_tools(repository)))
    builder.add_edge(START, "model")
    builder.add_edge("model", "tools")
    graph = builder.compile(checkpointer=InMemorySaver())
    here = {"configurable": {"thread_id": "1"}}
    await graph.ainvoke({"messages": "go"}, here)
    found, missed = (await graph.aget_state(here)).values["messages"][-2:]
    assert (found.status, missed.status) == ("success", "error")
    assert found.artifact["hits"][0]["name"] == "hash_password"
    assert "Did you mean" in missed.content


@pytest.mark.parametrize("framework", ["langchain", "llama_index"])
def test_what_a_model_cannot_mend_is_raised(unindexed, framework):
    tool = as_tool(unindexed, framework)
    with pytest.raises(IndexNotFoundError, match=r"not indexed yet.*index=True"):
        tool.invoke({"query": "x1"}) if framework == "langchain" else tool.call(query="x1")


async def test_tools_can_be_awaited(repository):
    ours, theirs = as_tool(repository), as_tool(repository, "llama_index")
    text = (await theirs.acall(query="hash_password")).content
    assert text == await ours.ainvoke({"query": "hash_password"}) == ours.invoke({"query": "hash_password"})


def test_a_llama_index_tool_gives_the_model_text_and_the_program_data(repository):
    output = as_tool(repository, "llama_index").call(query="hash_password", token_budget=300)
    assert output.content.startswith("# Context: hash_password")
    assert output.raw_output["citations"][0]["name"] == "hash_password"
    assert output.raw_input["token_budget"] == 300


def test_a_llama_index_tool_raises_what_is_wrong_with_the_hint_in_its_text(repository):
    with pytest.raises(UnknownNameError, match="Did you mean `hash_password`"):
        as_tool(repository, "llama_index", tool="symbol").call(name="hash_pasword")
    with pytest.raises(ValidationError, match="greater than or equal to 200"):
        as_tool(repository, "llama_index").call(query="x1", token_budget=7)
    with pytest.raises(InvalidQueryError):
        as_tool(repository, "llama_index").call(query=" ")


def test_there_is_no_other_tool_or_framework(repository):
    with pytest.raises(ConfigurationError, match="unknown tool 'edit'; known tools: context, search, symbol, read"):
        as_tool(repository, tool="edit")
    with pytest.raises(ConfigurationError, match="known frameworks: langchain, llama_index"):
        as_tools(repository, "crew")


@pytest.mark.parametrize(("redact", "shown"), [(True, False), (False, True)])
def test_a_model_sees_no_secrets_unless_it_may(unindexed, redact, shown):
    (unindexed / "auth" / "remote.py").write_text(f'def remote_token():\n    return "{GITHUB_TOKEN}"\n')
    (unindexed / ".coderag.yaml").write_text(f"privacy:\n  redact_secrets: {str(redact).lower()}\n")
    for tool in as_tools(unindexed, index=True)[:1]:
        content = called(tool, query="remote_token").content
        assert (GITHUB_TOKEN in content, "[secret removed" in content) == (shown, not shown)
