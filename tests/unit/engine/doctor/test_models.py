"""The checks of models, against servers on this machine that speak as the real ones do."""

import json
import socket

import pytest

from coderag.engine.doctor.examination import Examination
from coderag.models.ollama_models import describe_models, guess_use
from coderag.models.remote_errors import Remote
from coderag.stores.pointer import EmbeddingInfo
from tests.loopback import Reply
from tests.loopback.chat_cases import MODELS, PROVIDERS, SERVERS
from tests.loopback.ollama_server import OllamaServer
from tests.loopback.openai_server import OpenAIServer


@pytest.fixture
def ollama():
    with OllamaServer(answer="ready") as server:
        yield server


@pytest.fixture
def openai():
    with OpenAIServer(answer="ready", key="sk-loopback-key") as server:
        yield server


@pytest.fixture
def check(tmp_path):
    """Check one group with some settings; return the checks by the second part of their names."""

    def run(group, *, timeout_s=None, offline=False, **settings):
        (tmp_path / ".coderag.yaml").write_text(json.dumps(settings), encoding="utf-8")
        checks = Examination(tmp_path, only=[group], timeout_s=timeout_s, offline=offline).report().checks
        return {one.name.removeprefix(f"{group}."): one for one in checks}

    return run


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


# --- nothing configured


def test_without_models_nothing_is_asked(check):
    for group in ("llm", "reranker"):
        (only,) = check(group).values()
        assert only.status == "ok"
        assert "not configured" in only.message


def test_the_embedded_model_answers_offline_too(check):
    request = check("embedding", offline=True)["request"]
    assert request.status == "ok"
    assert "embedded/" in request.message


# --- Ollama


def test_an_ollama_that_has_the_model_passes_all_checks(check, ollama):
    checks = check("llm", llm={"provider": "ollama", "base_url": ollama.url})
    assert {name: one.status for name, one in checks.items()} == dict.fromkeys(
        ("server", "model", "window", "request"), "ok"
    )
    assert '"ready"' in checks["request"].message
    assert "16,384 of the 32,768 tokens" in checks["window"].message


def test_nothing_of_the_repository_is_sent(check, ollama, tmp_path):
    (tmp_path / "secret_module.py").write_text("def secret(): ...\n", encoding="utf-8")
    for group in ("llm", "embedding", "reranker"):
        check(group, **{group: {"provider": "ollama", "base_url": ollama.url}})
    assert ollama.bodies
    assert not any("secret" in json.dumps(body) or tmp_path.name in json.dumps(body) for body in ollama.bodies)


def test_a_server_that_is_not_there_is_told_once(check):
    checks = check("llm", llm={"provider": "ollama", "base_url": closed_port()})
    assert (checks["server"].status, checks["server"].error) == ("failed", "ModelUnavailableError")
    assert "ollama serve" in checks["server"].hint
    assert [checks[name].status for name in ("model", "window", "request")] == ["skipped"] * 3


def test_a_model_that_is_missing_is_told_with_those_that_are_there(check, ollama):
    model = check("llm", llm={"provider": "ollama", "base_url": ollama.url, "model": "llama3.2"})["model"]
    assert (model.status, model.error) == ("failed", "ModelUnavailableError")
    assert "which has qwen2.5-coder:latest, has no model llama3.2" in model.message
    assert "nomic-embed-text" not in model.message
    assert "`ollama pull llama3.2`" in model.hint


def test_a_missing_embedding_model_is_offered_the_others_of_its_kind(check, ollama):
    model = check("embedding", embedding={"provider": "ollama", "base_url": ollama.url, "model": "bge-m3"})["model"]
    assert "which has nomic-embed-text:latest, has no model bge-m3" in model.message


def test_a_window_larger_than_the_models_is_refused(check):
    with OllamaServer(context_length=8_192) as server:
        window = check("llm", llm={"provider": "ollama", "base_url": server.url})["window"]
    assert (window.status, window.error) == ("failed", "ConfigurationError")
    assert "llm.context_window is 16,384, but qwen2.5-coder reads 8,192" in window.message
    assert "llm.context_window to 8192" in window.hint


def test_a_model_for_embedding_is_none_that_writes(check, ollama):
    window = check("llm", llm={"provider": "ollama", "base_url": ollama.url, "model": "nomic-embed-text"})["window"]
    assert window.status == "failed"
    assert "is an embedding model" in window.message


def test_a_server_that_is_too_slow_ends_in_time(check, ollama):
    ollama.next(Reply({}, delay_s=30))
    server = check("llm", timeout_s=0.3, llm={"provider": "ollama", "base_url": ollama.url})["server"]
    assert (server.status, server.error) == ("failed", "ModelUnavailableError")
    assert "did not answer" in server.message
    assert server.ms < 20_000


def test_a_server_that_is_none_of_ollama_is_told(check, ollama):
    ollama.next(Reply("<html>", headers={"Content-Type": "text/html"}))
    server = check("llm", llm={"provider": "ollama", "base_url": ollama.url})["server"]
    assert (server.status, server.error) == ("failed", "ModelError")
    assert "sent an invalid reply" in server.message


def test_an_embedding_model_tells_its_dimension(check, ollama):
    checks = check("embedding", embedding={"provider": "ollama", "base_url": ollama.url})
    assert [one.status for one in checks.values()] == ["ok"] * 3
    assert "ollama/nomic-embed-text (64 dimensions)" in checks["request"].message


@pytest.mark.parametrize(("dimension", "status"), [(64, "ok"), (768, "failed")])
def test_its_dimension_is_that_of_the_index(check, ollama, monkeypatch, dimension, status):
    class Indexed:
        embedding = EmbeddingInfo("ollama", "nomic-embed-text", dimension)

    monkeypatch.setattr("coderag.stores.index_store.IndexStore.read_pointer", lambda store: Indexed)
    request = check("embedding", embedding={"provider": "ollama", "base_url": ollama.url})["request"]
    assert request.status == status
    assert ("as in the index" if status == "ok" else "those of the index have 768") in request.message


def test_offline_nothing_is_asked(check, ollama):
    checks = check("llm", offline=True, llm={"provider": "ollama", "base_url": ollama.url})
    assert {one.status for one in checks.values()} == {"skipped"}
    assert ollama.requests == []


def test_a_reranker_scores_two_texts(check, ollama):
    ollama.answer = '{"score": 4}'
    request = check("reranker", reranker={"provider": "ollama", "base_url": ollama.url})["request"]
    assert (request.status, request.message.partition(" in ")[0]) == ("ok", "ollama/qwen2.5-coder scored two texts")


def test_a_reranker_without_scores_is_worth_a_note(check, ollama):
    request = check("reranker", reranker={"provider": "ollama", "base_url": ollama.url})["request"]
    assert request.status == "note"
    assert "has no score" in request.message


# --- OpenAI and its like


def test_a_compatible_server_passes_all_checks(check, openai):
    settings = {"provider": "openai", "base_url": openai.url, "api_key": "${LOOPBACK_KEY}"}
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("LOOPBACK_KEY", "sk-loopback-key")
        llm = check("llm", llm={**settings, "model": "gpt-4o-mini"})
        embedding = check("embedding", embedding={**settings, "model": "text-embedding-3-small"})
    assert [one.status for one in llm.values()] == ["ok"] * 3
    assert [one.status for one in embedding.values()] == ["ok"] * 3


@pytest.mark.parametrize("group", ["llm", "embedding"])
def test_a_refused_key_is_told_and_not_shown(check, openai, monkeypatch, group):
    monkeypatch.setenv("LOOPBACK_KEY", "sk-wrong-0123456789")
    settings = {"provider": "openai", "base_url": openai.url, "api_key": "${LOOPBACK_KEY}", "model": "gpt-4o-mini"}
    checks = check(group, **{group: settings})
    assert (checks["server"].status, checks["server"].error) == ("failed", "ModelAuthenticationError")
    assert not any("sk-wrong" in one.message + one.hint for one in checks.values())


def test_a_name_that_the_server_does_not_list_is_tried_all_the_same(check, openai, monkeypatch):
    monkeypatch.setenv("LOOPBACK_KEY", "sk-loopback-key")
    settings = {"provider": "openai", "base_url": openai.url, "api_key": "${LOOPBACK_KEY}", "model": "gpt-9"}
    checks = check("llm", llm=settings)
    assert (checks["model"].status, checks["request"].status) == ("note", "failed")
    assert "does not list gpt-9" in checks["model"].message


@pytest.mark.parametrize("group", ["llm", "embedding"])
def test_a_model_that_is_not_named_is_told_before_anything_is_asked(check, openai, group):
    server = check(group, **{group: {"provider": "openai", "base_url": openai.url}})["server"]
    assert (server.status, server.error) == ("failed", "ConfigurationError")
    assert f"{group}.model is not set" in server.message
    assert openai.requests == []


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_provider_of_language_models_is_asked_in_its_own_words(check, provider):
    with SERVERS[provider](answer="ready") as server:
        settings = {"provider": provider, "base_url": server.url, "model": MODELS[provider]}
        checks = check("llm", llm=settings)
    assert {one.status for one in checks.values()} == {"ok"}
    assert f'{provider}/{MODELS[provider]} replied "ready"' in checks["request"].message


def test_a_provider_without_its_key_is_told_which_variable_to_set(check):
    server = check("llm", llm={"provider": "anthropic", "model": "m"})["server"]
    assert (server.status, server.error) == ("failed", "ModelAuthenticationError")
    assert "ANTHROPIC_API_KEY" in server.hint


# --- what Ollama tells of models


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("nomic-embed-text:latest", "embedding"),
        ("mxbai-embed-large", "embedding"),
        ("all-minilm:33m", "embedding"),
        ("bge-m3", "embedding"),
        ("snowflake-arctic-embed2", "embedding"),
        ("granite-embedding:30m", "embedding"),
        ("qwen3-embedding:0.6b", "embedding"),
        ("embeddinggemma", "embedding"),
        ("paraphrase-multilingual", "embedding"),
        ("qwen2.5-coder:7b", "answers"),
        ("llama3.2", "answers"),
        ("gemma3:4b", "answers"),
        ("deepseek-coder-v2:16b", "answers"),
    ],
)
def test_known_names_tell_what_a_model_is_for(name, use):
    assert guess_use(name) == use


def test_the_server_knows_better_than_the_name(ollama):
    ollama.next(Reply({"capabilities": ["embedding"], "model_info": {"bert.context_length": 512}}))
    (model,) = describe_models(Remote("ollama", "any", ollama.url, "llm", 5.0), ["my-own"], 5.0)
    assert (model.use, model.context_length) == ("embedding", 512)


def test_an_old_or_broken_server_leaves_it_to_the_name(ollama):
    ollama.next(Reply({"details": {}}), Reply({"error": "no"}, 500))
    names = ["nomic-embed-text", "llama3.2", "never-asked"]
    models = describe_models(Remote("ollama", "any", ollama.url, "llm", 5.0), names[:2], 5.0)
    late = describe_models(Remote("ollama", "any", ollama.url, "llm", 5.0), names[2:], 0.0)
    assert [model.use for model in (*models, *late)] == ["embedding", "answers", "answers"]
    assert len(ollama.requests) == 2
