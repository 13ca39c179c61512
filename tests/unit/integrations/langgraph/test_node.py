"""CodeRAG as a node of somebody else's graph."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel
from typing_extensions import TypedDict

from coderag import CodeRAG, CodeState, Filters, as_node
from coderag.errors import ConfigurationError, IndexNotFoundError, InvalidQueryError, ModelError
from coderag.models.llms.scripted import ScriptedModel
from coderag.text.token_counts import count_tokens

QUESTION = "where is hash_password defined"
HERE = {"configurable": {"thread_id": "1"}}


class Parent(MessagesState, CodeState):
    token_budget: int


def parent(node, state=Parent, saver=None):
    builder = StateGraph(state)
    builder.add_node("coderag", node)
    builder.add_edge(START, "coderag")
    return builder.compile(checkpointer=saver)


def asked(question=QUESTION, **values):
    return {"messages": [HumanMessage(question)], **values}


def test_the_code_for_the_last_question_comes_into_the_state(repository):
    output = parent(as_node(repository)).invoke(asked())
    assert "def hash_password(secret):" in output["code_context"]
    first = output["citations"][0]
    assert (first["path"], first["start_line"], first["name"]) == ("auth/passwords.py", 1, "hash_password")
    assert output["coderag_tokens"] == count_tokens(output["code_context"])
    assert output["coderag_evidence"] == "found"
    question, reply = output["messages"]
    assert isinstance(reply, AIMessage)
    assert (question.content, reply.content, reply.name) == (QUESTION, output["code_context"], "coderag")


async def test_awaited_it_writes_the_same(repository):
    graph = parent(as_node(repository))
    waited, called = await graph.ainvoke(asked()), graph.invoke(asked())
    assert waited.pop("messages")[1].content == called.pop("messages")[1].content
    assert waited == called


def test_an_answer_has_citations_that_were_checked(repository):
    output = parent(as_node(repository, goal="answer")).invoke(asked("who calls check_password"))
    assert "Session.login" in output["messages"][1].content
    assert all(one["verified"] for one in output["citations"])
    assert {one["path"] for one in output["citations"]} >= {"auth/session.py"}
    assert output["coderag_tokens"] == count_tokens(output["code_context"])


async def test_an_answer_can_be_awaited(repository):
    output = await parent(as_node(repository, goal="answer")).ainvoke(asked("who calls check_password"))
    assert "Session.login" in output["code_context"]


def test_the_parents_budget_goes_before_the_nodes(repository):
    graph = parent(as_node(repository, token_budget=4_000))
    assert graph.invoke(asked(token_budget=200))["coderag_tokens"] <= 200 < graph.invoke(asked())["coderag_tokens"]


@pytest.mark.parametrize("budget", [3, "many", True, 1.5])
def test_a_budget_that_is_none_is_an_error(repository, budget):
    with pytest.raises(InvalidQueryError, match="token_budget"):
        parent(as_node(repository)).invoke(asked(token_budget=budget))


def test_filters_hold(repository):
    only = parent(as_node(repository, filters=Filters(languages=("javascript",))))
    assert {one["path"] for one in only.invoke(asked("total of a cart"))["citations"]} == {"web/cart.js"}


@pytest.mark.parametrize(
    "messages",
    [
        QUESTION,
        [QUESTION],
        [{"role": "user", "content": QUESTION}],
        [("user", "something else"), ("ai", "yes"), ("user", QUESTION), ("ai", "I shall ask.")],
        [HumanMessage([{"type": "text", "text": "where is hash_password "}, {"type": "text", "text": "defined"}])],
    ],
    ids=["text", "texts", "dicts", "pairs", "blocks"],
)
def test_messages_may_have_any_form(repository, messages):
    class Plain(TypedDict, total=False):
        messages: Any
        code_context: str

    output = parent(as_node(repository, keys={"messages": None}), Plain).invoke({"messages": messages})
    assert output["code_context"].startswith(f"# Context: {QUESTION}\n")


@dataclass
class DataState:
    task: str
    found: str = ""
    places: list = field(default_factory=list)
    token_limit: int | None = None


class ModelState(BaseModel):
    task: str
    found: str = ""
    places: list[dict[str, Any]] = []
    token_limit: int | None = None


@pytest.mark.parametrize("state", [DataState, ModelState])
def test_a_parent_may_have_any_kind_of_state_and_names_of_its_own(repository, state):
    keys = {"code_context": "found", "citations": "places"}
    node = as_node(repository, question_key="task", budget_key="token_limit", keys=keys)
    output = parent(node, state).invoke({"task": QUESTION, "token_limit": 250})
    assert 0 < count_tokens(output["found"]) <= 250
    assert output["places"][0]["path"] == "auth/passwords.py"


def test_a_name_that_is_not_written_cannot_be_renamed(repository):
    with pytest.raises(ConfigurationError, match="unknown keys citation; known keys: messages, code_context"):
        as_node(repository, keys={"citation": "places"})


@pytest.mark.parametrize("messages", [[], [AIMessage("hello")], [HumanMessage(" ")]])
def test_a_state_without_a_question_is_an_error_that_says_where_it_belongs(repository, messages):
    with pytest.raises(InvalidQueryError, match=r"no question under 'messages'.*question_key='question'"):
        parent(as_node(repository)).invoke({"messages": messages})


def test_what_is_no_message_is_an_error(repository):
    class Plain(TypedDict, total=False):
        messages: list

    with pytest.raises(InvalidQueryError, match="an invalid message: 7"):
        parent(as_node(repository), Plain).invoke({"messages": [7]})


def test_without_an_index_the_error_says_what_to_do(unindexed):
    with pytest.raises(IndexNotFoundError, match=r"not indexed yet. Run `coderag index`.*`index=True`"):
        parent(as_node(unindexed)).invoke(asked())


async def test_calls_at_once_index_once(unindexed):
    graph = parent(as_node(CodeRAG(unindexed), index=True))
    outputs = await asyncio.gather(*[graph.ainvoke(asked()) for _ in range(3)])
    assert {output["citations"][0]["name"] for output in outputs} == {"hash_password"}
    assert CodeRAG(unindexed).status().generation == 1


def test_a_parents_checkpoints_are_its_own_and_plain_values(repository):
    saver = InMemorySaver()
    graph = parent(as_node(repository, goal="answer"), saver=saver)
    graph.invoke(asked(), HERE)
    assert {one.config["configurable"]["checkpoint_ns"] for one in saver.list(None)} == {""}
    values = graph.get_state(HERE).values
    assert json.loads(json.dumps(values["citations"])) == values["citations"]


def test_a_parent_may_keep_its_state_in_sqlite(repository, tmp_path, caplog):
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        parent(as_node(repository, goal="answer"), saver=saver).invoke(asked("who calls check_password"), HERE)
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        values = parent(as_node(repository), saver=saver).get_state(HERE).values
    assert "Session.login" in values["messages"][1].content
    assert values["citations"][0]["verified"] is True
    assert [record for record in caplog.records if "unregistered type" in record.getMessage()] == []


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("goal", ["context", "answer"])
async def test_a_parent_may_store_its_steps_whenever_it_likes(repository, tmp_path, goal, durability):
    node = as_node(repository, goal=goal)
    with SqliteSaver.from_conn_string(str(tmp_path / "called.db")) as saver:
        parent(node, saver=saver).invoke(asked(), HERE, durability=durability)
        called = parent(node, saver=saver).get_state(HERE).values
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "awaited.db")) as saver:
        await parent(node, saver=saver).ainvoke(asked(), HERE, durability=durability)
        awaited = (await parent(node, saver=saver).aget_state(HERE)).values
    assert "hash_password" in called["code_context"]
    assert called["code_context"] == awaited["code_context"]


async def test_a_parent_may_keep_its_state_in_sqlite_without_blocking(repository, tmp_path):
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        graph = parent(as_node(repository), saver=saver)
        await graph.ainvoke(asked(), HERE)
        await graph.ainvoke(asked("who calls check_password"), HERE)
        values = (await graph.aget_state(HERE)).values
    assert [message.type for message in values["messages"]] == ["human", "ai", "human", "ai"]
    assert values["code_context"].startswith("# Context: who calls check_password")


async def test_the_steps_reach_who_streams_the_parent(repository):
    graph = parent(as_node(repository))
    steps = [step async for step in graph.astream(asked(), stream_mode="updates", subgraphs=True)]
    inner = [next(iter(update)) for place, update in steps if place]
    assert inner[0] == "analyze"
    assert inner[-1] == "budget"
    assert list(steps[-1][1]) == ["coderag"]


def words(events):
    return "".join(said["text"] for _, mode, said in events if mode == "custom" and said["kind"] == "text")


async def test_the_words_of_an_answer_reach_who_streams_the_parent(repository):
    graph = parent(as_node(repository, goal="answer"))
    given, modes = asked("who calls check_password"), ["custom", "values"]
    awaited = [event async for event in graph.astream(given, stream_mode=modes, subgraphs=True)]
    assert words(awaited) == awaited[-1][2]["code_context"] != ""


def test_the_words_of_an_answer_reach_who_does_not_await_them(repository):
    graph = parent(as_node(repository, goal="answer"))
    called = list(graph.stream(asked("who calls check_password"), stream_mode=["custom", "values"], subgraphs=True))
    assert words(called) == called[-1][2]["code_context"] != ""


async def test_a_parent_may_be_called_where_an_event_loop_runs(repository):
    output = parent(as_node(repository, goal="answer"), saver=InMemorySaver()).invoke(asked(), HERE)
    assert "hash_password" in output["code_context"]


async def test_a_language_model_that_fails_is_an_error_for_the_parent(repository):
    rag = CodeRAG(repository, language_model=ScriptedModel(ModelError("the server is gone", hint="Start it.")))
    with pytest.raises(ModelError, match=r"the server is gone. Start it\."):
        await parent(as_node(rag, goal="answer")).ainvoke(asked())


def test_a_context_needs_no_language_model(repository):
    rag = CodeRAG(repository, language_model=ScriptedModel())
    assert parent(as_node(rag)).invoke(asked())["coderag_evidence"] == "found"


def test_secrets_are_not_handed_on_and_tokens_are_of_what_is(unindexed):
    token = "ghp_" + "a1B2c3D4e5F6" * 3  # in two parts, so that no scanner takes it for one
    (unindexed / "auth" / "remote.py").write_text(f'def remote_token():\n    return "{token}"\n')
    output = parent(as_node(unindexed, index=True)).invoke(asked("where is remote_token defined"))
    assert "[secret removed" in output["code_context"]
    assert token not in output["messages"][1].content
    assert output["coderag_tokens"] == count_tokens(output["code_context"])
