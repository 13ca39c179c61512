"""Chat graph on LangGraph's server, whose checkpointer stores the conversation."""

from importlib import import_module

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from coderag.models.llms.scripted import ScriptedModel
from tests.support.chats import make_shop

HERE = {"configurable": {"thread_id": "1"}}


@pytest.fixture
def module():
    module = import_module("coderag.graphs.served_chat")
    module.open_repository.cache_clear()
    return module


@pytest.fixture
def served(module):
    """Return the graph as the server runs it: with a checkpointer."""
    return module.graph.copy(update={"checkpointer": InMemorySaver()})


@pytest.fixture
def shop(tmp_path):
    return make_shop(tmp_path / "shop")


async def test_server_thread_is_a_conversation(served, shop):
    where = {"repository": str(shop.root)}
    await served.ainvoke({"text": "who calls round_up", **where}, HERE)
    output = await served.ainvoke({"text": "where is it defined?", **where}, HERE)
    assert [exchange["question"] for exchange in output["exchanges"]] == [
        "who calls round_up",
        "where is `round_up` defined?",
    ]
    assert "def round_up" in output["answer"]["text"]
    assert not (shop.root / ".coderag/chat.sqlite").exists()


async def test_steps_and_words_are_streamed(served, shop):
    given = {"text": "who calls round_up", "repository": str(shop.root)}
    seen = {
        name
        async for _, mode, chunk in served.astream(given, HERE, stream_mode=["updates", "custom"], subgraphs=True)
        for name in (chunk if mode == "updates" else [chunk["kind"]])
    }
    assert {"resolve", "retrieve", "text", "remember", "chat"} <= seen


async def test_approval_interrupts_the_run_and_resumes_it(served, module, shop, monkeypatch):
    model = ScriptedModel(lambda _: "`round_up` rounds [1].")
    rag = make_shop(shop.root.parent / "costly", language_model=model, chat={"confirm_tokens": 10})
    monkeypatch.setattr(module, "open_repository", lambda _: rag)
    waiting = await served.ainvoke({"text": "what does round_up do"}, HERE)
    assert waiting["__interrupt__"][0].value["limit"] == 10
    assert model.prompts == []
    output = await served.ainvoke(Command(resume=True), HERE)
    assert output["answer"]["generator"] == "scripted/1"
    assert len(output["exchanges"]) == 1


async def test_error_has_a_hint(served, tmp_path):
    with pytest.raises(RuntimeError, match=r"IndexNotFoundError: .* `coderag index`"):
        await served.ainvoke({"text": "who calls round_up", "repository": str(tmp_path)}, HERE)
