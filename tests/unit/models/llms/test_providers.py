"""Which model the settings name, and what is peculiar to one provider."""

import subprocess
import sys

import pytest

from coderag.config.sections import LLMSettings
from coderag.errors import ConfigurationError, ModelAuthenticationError, ModelError, ModelUnavailableError
from coderag.models.llms.providers import get_max_concurrency, make_language_model
from coderag.models.llms.remote import ChatRequest
from coderag.models.llms.servers import resolve_llm_remote
from coderag.schema.prompts import ModelPrompt
from tests.loopback import Reply
from tests.loopback.chat_api import sse
from tests.loopback.chat_cases import EXTRAS
from tests.loopback.gemini_server import refusal

PROMPT = ModelPrompt(user="Where is the session opened?")
REMOTE_PROVIDERS = ["openai", "anthropic", "gemini"]


async def failure(model, kind=ModelError):
    with pytest.raises(kind) as caught:
        await model.complete(PROMPT)
    return caught.value


# --- choosing a model


def test_without_a_provider_there_is_no_model():
    assert make_language_model(LLMSettings()) is None


def test_ollama_has_a_default_model_and_address():
    model = make_language_model(LLMSettings(provider="ollama"))
    assert model.name == "ollama/qwen2.5-coder"
    assert resolve_llm_remote(LLMSettings(provider="ollama"), "m").address == "http://localhost:11434"


@pytest.mark.parametrize(("provider", "example"), [("openai", "gpt-"), ("anthropic", "claude-"), ("gemini", "gemini-")])
def test_other_providers_need_a_model_and_give_an_example(provider, example):
    pytest.importorskip(EXTRAS[provider], reason=f"the extra {provider} is not installed")
    with pytest.raises(ConfigurationError, match=r"llm\.model is not set") as caught:
        make_language_model(LLMSettings(provider=provider))
    assert f"for example to {example}" in caught.value.hint


@pytest.mark.parametrize("provider", REMOTE_PROVIDERS)
def test_missing_extra_says_how_to_install_it(monkeypatch, provider):
    monkeypatch.setitem(sys.modules, EXTRAS[provider], None)
    with pytest.raises(
        ConfigurationError, match=f"provider '{provider}' needs an extra that is not installed"
    ) as caught:
        make_language_model(LLMSettings(provider=provider, model="m"))
    assert f'pip install ".[{provider}]"' in caught.value.hint


@pytest.mark.parametrize("url", ["localhost:11434", "ftp://localhost", "http://", "http://me:secret@localhost"])
def test_invalid_address_is_reported_before_the_first_request(url):
    with pytest.raises(ConfigurationError, match=r"llm\.base_url") as caught:
        make_language_model(LLMSettings(provider="ollama", base_url=url))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("provider", REMOTE_PROVIDERS)
async def test_providers_address_needs_a_key_only_on_request(monkeypatch, provider):
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    pytest.importorskip(EXTRAS[provider], reason=f"the extra {provider} is not installed")
    model = make_language_model(LLMSettings(provider=provider, model="m"))
    error = await failure(model, ModelAuthenticationError)
    assert f"{provider} at https://" in str(error)
    assert "needs a key, and llm.api_key is not set" in str(error)
    assert f"{provider.upper()}_API_KEY" in error.hint
    assert "llm.api_key_file" in error.hint


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
        ("gemini", "GOOGLE_API_KEY"),
    ],
)
def test_environment_key_is_only_for_the_providers_address(monkeypatch, provider, variable):
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv(variable, "of-the-environment")
    assert resolve_llm_remote(LLMSettings(provider=provider), "m").secret == "of-the-environment"
    assert resolve_llm_remote(LLMSettings(provider=provider, base_url="https://models.example/v1"), "m").secret == ""


def test_importing_the_providers_imports_none_of_their_packages():
    code = """
import sys, coderag.models.llms.providers, coderag.models.llms.model_listing
from coderag.config.settings import LLMSettings
coderag.models.llms.providers.make_language_model(LLMSettings(provider="ollama"))
print(sorted({name.partition(".")[0] for name in sys.modules} & set(sys.argv[1:])))
"""
    heavy = ["llama_index", "ollama", "openai", "anthropic", "google", "httpx", "httpx2", "tenacity", "tiktoken"]
    assert subprocess.check_output([sys.executable, "-c", code, *heavy], text=True).strip() == "[]"


def test_reply_as_large_as_the_context_window_is_refused():
    with pytest.raises(ValueError, match="max_output_tokens must be smaller than context_window"):
        LLMSettings(context_window=4_096, max_output_tokens=4_096)


def test_only_remote_servers_get_concurrent_requests():
    def number(**options):
        return get_max_concurrency(LLMSettings(provider="openai", **options))

    assert number() == 4
    assert number(base_url="http://localhost:8000/v1") == 1
    assert number(base_url="http://localhost:8000/v1", concurrency=9) == 9
    assert get_max_concurrency(LLMSettings()) == 1


# --- Ollama


async def test_ollama_gets_the_context_window(ollama):
    await ollama.model(context_window=4_096).complete(PROMPT)
    (request,) = ollama.server.requests
    assert request.path == "/api/chat"
    assert request.body["options"] == {"temperature": 0.1, "num_ctx": 4_096, "num_predict": 2_048}


async def test_unstreamed_reply_is_accepted(ollama):
    message = {"role": "assistant", "content": "Here."}
    ollama.server.next(Reply({"message": message, "done": True, "done_reason": "stop"}))
    assert (await ollama.model().complete(PROMPT)).text == "Here."


async def test_timeout_applies_to_each_piece(ollama):
    frames = [part for frame in ollama.server.frames(["here "] * 8) for part in (0.25, frame)]
    ollama.server.next(ollama.stream(*frames))
    assert (await ollama.model(timeout_s=1.8).complete(PROMPT)).text.split() == ["here"] * 8


# --- OpenAI


async def test_refusal_message_is_an_error_with_its_text(openai):
    openai.server.next(openai.stream(*openai.server.refusal_frames(["I cannot ", "help with that."])))
    error = await failure(openai.model())
    assert str(error) == "openai/gpt-4o-mini refuses to answer: I cannot help with that."
    assert not error.retryable


async def test_reply_that_the_server_filters_is_a_refusal(openai):
    openai.server.next(openai.server.streamed("The ", finish="content_filter"))
    assert "refuses to answer" in str(await failure(openai.model()))


async def test_tokens_are_counted_if_the_server_sends_no_counts(openai):
    *frames, _, done = openai.server.frames(["The session."])
    openai.server.next(openai.stream(*frames, done))
    completion = await openai.model().complete(PROMPT)
    assert completion.input_tokens == 6
    assert completion.output_tokens == 3


async def test_compatible_server_gets_common_parameters(openai):
    await openai.model().complete(PROMPT)
    sent = openai.server.bodies[0]
    assert (sent["max_tokens"], sent["temperature"], sent["stream"]) == (2_048, 0.1, True)


def test_openai_gets_the_parameters_of_reasoning_models(openai):
    from coderag.models.llms.openai import _make_model

    del openai
    settings = LLMSettings(provider="openai", model="gpt-9", api_key="key")
    sent = _make_model(ChatRequest(resolve_llm_remote(settings, "gpt-9"), settings, PROMPT), None)._get_model_kwargs(
        stream=True
    )
    assert sent["max_completion_tokens"] == 2_048
    assert "max_tokens" not in sent
    assert not sent["temperature"]  # openai's mark of what is not sent


async def test_model_without_chat_is_refused(openai):
    with pytest.raises(ConfigurationError, match=r"llm\.model: .*gpt-5\.4-pro"):
        await openai.model(model="gpt-5.4-pro").complete(PROMPT)


# --- Anthropic


async def test_anthropic_refusal_is_an_error_after_its_text(anthropic):
    anthropic.server.next(anthropic.server.streamed("I ", finish="refused"))
    error = await failure(anthropic.model())
    assert str(error) == "anthropic/claude-sonnet-5 refuses to answer"


async def test_anthropic_default_temperature_is_not_overridden(anthropic):
    await anthropic.model().complete(PROMPT)
    assert "temperature" not in anthropic.server.bodies[0]
    with pytest.raises(ConfigurationError, match=r"llm\.temperature is 1\.5.*accepts 0 to 1"):
        anthropic.model(temperature=1.5)


async def test_model_unknown_to_llama_index_is_usable(anthropic):
    anthropic.server.models = ("claude-of-next-year",)
    assert (await anthropic.model(model="claude-of-next-year").complete(PROMPT)).text == anthropic.server.answer


async def test_keep_alives_do_not_count_as_pieces(anthropic):
    await anthropic.model().complete(PROMPT)
    ping = sse({"type": "ping"}, "ping")
    begin = anthropic.server.frames([], finish="")
    anthropic.server.next(anthropic.stream(*begin, *[part for _ in range(20) for part in (0.1, ping)]))
    assert "within 0.5 s" in str(await failure(anthropic.model(timeout_s=0.5), ModelUnavailableError))


# --- Gemini


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, "the prompt is blocked: PROHIBITED_CONTENT"),
        ({"candidates": [{"finishReason": "SAFETY", "index": 0}]}, "SAFETY"),
        ({"candidates": [{"finishReason": "RECITATION", "index": 0}]}, "RECITATION"),
    ],
)
async def test_gemini_block_is_a_refusal_with_its_reason(gemini, content, reason):
    gemini.server.next(gemini.stream(sse(content)))
    assert str(await failure(gemini.model())) == f"gemini/gemini-3.7-flash refuses to answer: {reason}"


async def test_gemini_reasoning_is_not_part_of_the_reply(gemini):
    thought = {"content": {"parts": [{"text": "The user asks.", "thought": True}], "role": "model"}}
    gemini.server.next(gemini.stream(sse({"candidates": [thought]}), *gemini.server.frames(["Here."])))
    assert (await gemini.model().complete(PROMPT)).text == "Here."


async def test_gemini_default_temperature_is_not_overridden(gemini):
    await gemini.model().complete(PROMPT)
    assert "temperature" not in gemini.server.bodies[0]["generationConfig"]


async def test_gemini_retry_delay_is_parsed(gemini):
    wait = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12s"}
    gemini.server.next(refusal(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", wait))
    await gemini.model().complete(PROMPT)
    assert gemini.waits == [12.0]


async def test_gemini_rejected_key_is_an_authentication_error(gemini):
    gemini.server.key = "another"
    error = await failure(gemini.model(api_key="wrong"), ModelAuthenticationError)
    assert "refuses the key" in str(error)
