import asyncio
import socket

import pytest

from coderag.errors import ConfigurationError, ModelAuthenticationError, ModelError, ModelUnavailableError
from coderag.models.llms.providers import make_language_model
from coderag.settings import LLMSettings
from tests.loopback import Reply
from tests.loopback.ollama_server import OllamaServer


@pytest.fixture
def server():
    with OllamaServer() as running:
        yield running


@pytest.fixture
def waits():
    return []


@pytest.fixture
def writer_for(waits):
    async def sleep(seconds):
        waits.append(seconds)

    def make(url, **options):
        return make_language_model(LLMSettings(provider="ollama", base_url=url, **options), sleep=sleep)

    return make


def test_without_a_provider_there_is_no_writer():
    assert make_language_model(LLMSettings()) is None


async def test_a_prompt_is_answered(server, writer_for):
    writer = writer_for(server.url)
    assert writer.name == "ollama/qwen2.5-coder"
    assert await writer.write("Where is the session opened?") == server.answer


async def test_the_request_names_model_prompt_and_context_window(server, writer_for):
    await writer_for(server.url, context_window=4_096).write("Where?")
    (request,) = server.requests
    assert request.path == "/api/chat"
    assert request.body["model"] == "qwen2.5-coder"
    assert [(message["role"], message["content"]) for message in request.body["messages"]] == [("user", "Where?")]
    assert request.body["options"]["num_ctx"] == 4_096
    assert request.body["stream"] is False


def test_one_writer_serves_several_event_loops(server, writer_for):
    writer = writer_for(server.url)
    assert [asyncio.run(writer.write("Where?")) for _ in range(2)] == [server.answer] * 2


async def test_the_environments_key_is_not_sent_to_an_address_from_the_settings(server, writer_for, monkeypatch):
    monkeypatch.setenv("OLLAMA_API_KEY", "sk-of-the-environment")
    await writer_for(server.url).write("Where?")
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize("answer", ["", "  \n"])
async def test_an_empty_answer_is_an_error(server, writer_for, answer):
    server.answer = answer
    with pytest.raises(ModelError, match=r"empty answer of the model qwen2\.5-coder"):
        await writer_for(server.url).write("Where?")


async def test_a_busy_server_is_asked_again(server, writer_for, waits):
    server.next(Reply({"error": "server busy"}, 503, {"Retry-After": "7"}), Reply({"error": "server busy"}, 429))
    assert await writer_for(server.url).write("Where?") == server.answer
    assert waits == [7.0, 2.0]


async def test_a_server_that_stays_broken_is_given_up(server, writer_for, waits):
    server.next(*[Reply({"error": "llama runner terminated"}, 500)] * 3)
    with pytest.raises(ModelUnavailableError, match=r"status 500.*llama runner terminated"):
        await writer_for(server.url).write("Where?")
    assert len(server.requests) == 3
    assert waits == [1.0, 2.0]


async def test_an_answer_that_takes_too_long_is_not_asked_for_again(server, writer_for, waits):
    server.next(Reply(delay_s=5))
    with pytest.raises(ModelUnavailableError, match=r"within 0\.2 s") as caught:
        await writer_for(server.url, timeout_s=0.2).write("Where?")
    assert "llm.timeout_s" in caught.value.hint
    assert waits == []


async def test_nobody_at_the_address(writer_for, waits):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ModelUnavailableError, match=url) as caught:
        await writer_for(url).write("Where?")
    assert "ollama serve" in caught.value.hint
    assert caught.value.retryable
    assert waits == []


async def test_a_model_that_is_not_there_is_told_how_to_get(server, writer_for):
    with pytest.raises(ModelUnavailableError, match="no model codellama") as caught:
        await writer_for(server.url, model="codellama").write("Where?")
    assert "ollama pull codellama" in caught.value.hint


async def test_a_refused_caller(server, writer_for):
    server.next(Reply({"error": "unauthorized"}, 401))
    with pytest.raises(ModelAuthenticationError, match="status 401"):
        await writer_for(server.url).write("Where?")


@pytest.mark.parametrize("body", ['{"model": "qwen', "<html>", "[]", '{"done": true, "message": 3}'])
async def test_a_reply_that_is_none(server, writer_for, body):
    server.next(Reply(body))
    with pytest.raises(ModelError, match="cannot be understood") as caught:
        await writer_for(server.url).write("Where?")
    assert not caught.value.retryable


async def test_a_prompt_beyond_the_context_window_is_refused_before_it_is_sent(server, writer_for):
    writer = writer_for(server.url, context_window=1_024)
    assert await writer.write("a fairly ordinary word " * 200)  # more than 1,024 bytes, fewer tokens
    with pytest.raises(ModelError, match=r"too long for ollama/qwen2\.5-coder, which reads 1024"):
        await writer.write("a fairly ordinary word " * 300)
    assert len(server.requests) == 1


@pytest.mark.parametrize("url", ["", "localhost:11434", "ftp://localhost", "http://", "http://localhost:port"])
def test_an_address_that_is_none(writer_for, url):
    with pytest.raises(ConfigurationError, match=r"llm\.base_url is not the address of a server"):
        writer_for(url)
