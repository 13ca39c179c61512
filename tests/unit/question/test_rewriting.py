import asyncio
import dataclasses
import socket

import pytest

from coderag.config.sections import LLMSettings, SearchSettings
from coderag.models.llms.providers import make_language_model
from coderag.prompting import PACKAGED
from coderag.question.analysis import analyze
from coderag.question.rewriting import rewrite, with_rewritten
from coderag.text.path_masking import MaskedPaths, PathMask
from tests.loopback.ollama_server import OllamaServer
from tests.support.candidates import names_of
from tests.support.corpora import make_context
from tests.support.graphs import run

FILES = {
    "shop/rounding.py": "def ceil_amount(amount):\n    return -(-amount // 1)\n",
    "shop/paint.py": "def paint(canvas):\n    canvas.fill('red')\n",
    "shop/cart.py": "def add(cart, thing):\n    cart.things.append(thing)\n",
}
QUESTION = "where do prices become whole numbers"


@pytest.fixture
def server():
    with OllamaServer(answer='- ceil amount\n2. "rounding of an amount"\n') as running:
        yield running


def model_at(url):
    return make_language_model(LLMSettings(provider="ollama", base_url=url))


def context_with(model, way):
    return dataclasses.replace(make_context(FILES), language_model=model, settings=SearchSettings(rewrite=way))


def test_each_line_is_a_query(server):
    assert rewrite(model_at(server.url), QUESTION, "queries", PACKAGED) == ["ceil amount", "rounding of an amount"]
    (request,) = server.requests
    assert QUESTION in request.body["messages"][-1]["content"]


def test_code_comes_without_its_fence(server):
    server.answer = "```python\ndef ceil_amount(x): ...\n```"
    assert rewrite(model_at(server.url), QUESTION, "hypothetical", PACKAGED) == ["def ceil_amount(x): ..."]


async def test_a_running_event_loop_is_no_hindrance(server):
    assert asyncio.get_running_loop()
    assert rewrite(model_at(server.url), QUESTION, "queries", PACKAGED)


def test_paths_are_masked(server):
    paths = MaskedPaths(PathMask(b"key"), ["shop/rounding.py"])
    rewrite(model_at(server.url), "what is in shop/rounding.py", "queries", PACKAGED, paths)
    assert "shop/rounding.py" not in server.requests[0].body["messages"][-1]["content"]


def test_what_was_written_is_added_to_the_question():
    analysis = analyze(QUESTION)
    queries = with_rewritten(analysis, ["ceil amount", "prices"], "queries")
    assert queries["terms"] == analysis["terms"]
    assert queries["expanded_terms"] == ["ceil", "amount"]
    assert queries["text"] == analysis["text"]
    assert "def ceil_amount" in with_rewritten(analysis, ["def ceil_amount(x): ..."], "hypothetical")["text"]


@pytest.mark.parametrize("way", ["queries", "hypothetical"])
def test_a_search_finds_what_only_the_model_named(server, way):
    server.answer = "def ceil_amount(amount)"
    context = context_with(model_at(server.url), way)
    output = run(context, QUESTION)
    assert names_of(context.corpus, output["results"])[0] == "ceil_amount"
    detail = output["trace"][0]["detail"]
    assert (detail["rewrite"], detail["model"]) == (way, "ollama/qwen2.5-coder")
    assert detail["rewritten"] == ["def ceil_amount(amount)"]


def test_the_model_is_not_asked_unless_the_settings_say_so(server):
    run(context_with(model_at(server.url), "none"), QUESTION)
    assert server.requests == []


def test_a_name_needs_no_rewriting(server):
    run(context_with(model_at(server.url), "queries"), "ceil_amount")
    assert server.requests == []


def test_without_a_model_the_plain_question_is_asked_and_the_trace_says_so():
    output = run(context_with(None, "queries"), "paint the canvas")
    assert "llm.provider" in output["trace"][0]["detail"]["warning"]
    assert output["results"]


def test_a_model_that_cannot_be_reached_is_a_warning():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        output = run(context_with(model_at(f"http://127.0.0.1:{port}"), "queries"), "paint the canvas")
    assert "not rewritten" in output["trace"][0]["detail"]["warning"]
    assert output["results"]
