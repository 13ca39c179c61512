"""Chat graph: its drawing, routes, types and checkpoints."""

import json
from pathlib import Path
from typing import get_type_hints

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from coderag.answering.chat.state import ChatContext, ChatInput, ChatOutput, ChatState, ChatUpdate
from coderag.engine.graph_loader import load_chat_graph, load_query_graph
from tests.support.chats import SHOP
from tests.support.corpora import make_context

UNTRACKED = {"answer", "results"}


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    async def run_query(query, given):
        return query, await load_query_graph().ainvoke(given, context=query)

    query = make_context(SHOP, tmp_path_factory.mktemp("shop"))
    return ChatContext(query=query, run_query=run_query, history_tokens=3_000, reply_tokens=2_048)


@pytest.fixture
def ask(context):
    """Return what runs a turn of one conversation, and the nodes that it went through."""
    graph = load_chat_graph().copy({"checkpointer": InMemorySaver()})
    config = {"configurable": {"thread_id": "one"}}

    async def run(text):
        nodes, values = [], {}
        given = {"text": text, "asked": "2025-01-01T00:00:00+00:00"}
        async for mode, chunk in graph.astream(given, config, context=context, stream_mode=["updates", "values"]):
            if mode == "updates":
                nodes += list(chunk)
            else:
                values = chunk
        return nodes, values, await graph.aget_state(config)

    return run


def test_drawing_matches_the_snapshot():
    drawn = load_chat_graph().get_graph().draw_mermaid().strip()
    assert drawn == (Path(__file__).parent / "chat.mmd").read_text(encoding="utf-8").strip()


def test_updates_have_only_state_keys():
    inputs, outputs, state = (get_type_hints(kind).keys() for kind in (ChatInput, ChatOutput, ChatState))
    assert inputs | outputs <= state
    assert get_type_hints(ChatUpdate).keys() == state - {"text", "asked"}


async def test_standalone_question_runs_at_once(ask):
    nodes, values, _ = await ask("who calls round_up")
    assert nodes == ["resolve", "ask", "remember"]
    assert values["exchanges"][-1]["focus"] == ["`round_up`"]


async def test_follow_up_is_rewritten_first(ask):
    await ask("who calls round_up")
    nodes, values, _ = await ask("where is it defined?")
    assert nodes == ["resolve", "rewrite", "ask", "remember"]
    assert values["exchanges"][-1]["question"] == "where is `round_up` defined?"


async def test_cited_lines_are_shown_without_a_search(ask):
    _, before, _ = await ask("who calls round_up")
    nodes, values, _ = await ask("open 2")
    assert nodes == ["resolve", "show", "remember"]
    place = before["exchanges"][-1]["cited"][1]
    assert place["name"].rpartition(".")[2] in values["answer"]["text"]
    assert values["exchanges"][-1]["cited"] == before["exchanges"][-1]["cited"]
    assert values["exchanges"][-1]["focus"] == [f"`{place['name']}`"]


async def test_query_graph_stream_is_forwarded(context):
    graph = load_chat_graph()
    seen = set()
    given = {"text": "who calls round_up", "asked": ""}
    async for namespace, mode, chunk in graph.astream(
        given, context=context, stream_mode=["custom", "updates"], subgraphs=True
    ):
        seen |= {(bool(namespace), mode, key) for key in (chunk if mode == "updates" else [chunk["kind"]])}
    assert (True, "updates", "retrieve") in seen
    assert (True, "custom", "text") in seen
    assert (False, "updates", "remember") in seen


async def test_checkpoint_holds_plain_values_without_evidence(ask):
    await ask("who calls round_up")
    _, values, stored = await ask("how is money rounded")
    assert values.keys() >= UNTRACKED
    assert not UNTRACKED & stored.values.keys()
    assert json.loads(json.dumps(stored.values)) == stored.values


async def test_turn_resets_the_last_decisions(ask):
    await ask("open 1")
    _, values, _ = await ask("more")
    assert (values["places"], values["remark"]) == ([], "")
