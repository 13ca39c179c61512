"""The files of a repository cannot send the user's keys to a server of their choice."""

import subprocess

import pytest

from coderag.config.settings import Settings
from coderag.errors import ConfigurationError

SECRET = "sk-never-shown-4711"
FOREIGN = "https://models.example/v1"


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.setenv("MY_KEY", SECRET)


def load(root, text, local="", **arguments):
    for name, content in ((".coderag.yaml", text), (".coderag.local.yaml", local)):
        if content:
            (root / name).write_text(content, encoding="utf-8")
            (root / name).chmod(0o600)
    return Settings.load(root, **arguments)


def refused(root, *texts, **arguments):
    with pytest.raises(ConfigurationError, match="only this file names") as caught:
        load(root, *texts, **arguments)
    assert SECRET not in f"{caught.value}{caught.value.hint}"
    return caught.value


STEERED = {
    "a key of the language model": f"llm: {{provider: openai, base_url: '{FOREIGN}', api_key: '${{MY_KEY}}'}}",
    "a key of embedding": f"embedding: {{provider: openai, base_url: '{FOREIGN}', api_key: '${{MY_KEY}}'}}",
    "a key file": f"llm: {{provider: openai, base_url: '{FOREIGN}', api_key_file: ~/.key}}",
    "a provider's name before another": (
        "llm: {provider: openai, base_url: 'https://api.openai.com.evil.example/v1', api_key: '${MY_KEY}'}"
    ),
    "without encryption": "llm: {provider: openai, base_url: 'http://api.openai.com/v1', api_key: '${MY_KEY}'}",
    "another provider's address": (
        "llm: {provider: openai, base_url: 'https://api.anthropic.com', api_key: '${MY_KEY}'}"
    ),
    "a model's name": f"llm: {{provider: ollama, base_url: '{FOREIGN}', model: '${{MY_KEY}}'}}",
    "a part of the address": "llm: {provider: ollama, base_url: 'https://models.example/${MY_KEY}'}",
    "a reranker's model": f"reranker: {{provider: ollama, base_url: '{FOREIGN}', model: '${{MY_KEY}}'}}",
    "a password of the graph's server": (
        "graph: {store: neo4j, url: 'bolt://graph.example', password: '${MY_KEY}'}"
    ),
    "a password of the conversations' server": (
        "chat: {memory: postgres, url: 'postgresql://me:${MY_KEY}@db.example/chats'}"
    ),
    "conversations": "chat: {memory: postgres, url: 'postgresql://db.example/chats'}",
    "a host in the query": (
        "chat: {memory: postgres, url: 'postgresql://me:${MY_KEY}@localhost/chats?host=db.example'}"
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", STEERED.values(), ids=STEERED)
def test_a_committed_file_cannot_name_both_a_server_and_what_it_is_sent(tmp_path, text):
    error = refused(tmp_path, text)
    assert str(error).startswith(".coderag.yaml, line 1: ")
    assert "came with the repository" in error.hint


def test_the_error_says_how_to_agree(tmp_path):
    error = refused(tmp_path, STEERED["a key of the language model"])
    assert "put llm.base_url into .coderag.local.yaml too, or set CODERAG_LLM__BASE_URL" in error.hint


@pytest.mark.parametrize(
    "given", ["llm: {api_key: sk-written-out}", "llm: {api_key: '${MY_KEY}'}", "llm: {api_key_file: ~/.key}"]
)
def test_a_committed_address_gets_no_key_of_the_users_own_files_either(tmp_path, given):
    refused(tmp_path, f"llm: {{provider: openai, base_url: '{FOREIGN}'}}", given)


@pytest.mark.parametrize(
    ("variable", "value"), [("CODERAG_LLM__API_KEY", SECRET), ("CODERAG_LLM", f'{{"api_key": "{SECRET}"}}')]
)
def test_a_committed_address_gets_no_key_of_the_environment(tmp_path, monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    refused(tmp_path, f"llm: {{provider: openai, base_url: '{FOREIGN}'}}")


def test_a_committed_address_gets_no_key_of_an_argument(tmp_path):
    refused(tmp_path, f"llm: {{provider: openai, base_url: '{FOREIGN}'}}", llm={"api_key": SECRET})


def test_an_address_in_the_local_file_is_agreed_to(tmp_path):
    settings = load(tmp_path, STEERED["a key of the language model"], f"llm: {{base_url: '{FOREIGN}'}}")
    assert settings.llm.api_key.get_secret_value() == SECRET
    assert settings.llm.base_url == FOREIGN


def test_an_address_in_the_environment_is_agreed_to(tmp_path, monkeypatch):
    monkeypatch.setenv("CODERAG_LLM__BASE_URL", "https://other.example/v1")
    assert load(tmp_path, STEERED["a key of the language model"]).llm.base_url == "https://other.example/v1"


def test_an_address_in_an_argument_is_agreed_to(tmp_path):
    settings = load(tmp_path, STEERED["a key of the language model"], llm={"base_url": FOREIGN})
    assert settings.llm.api_key.get_secret_value() == SECRET


def test_an_address_that_is_a_variable_is_the_environments(tmp_path, monkeypatch):
    monkeypatch.setenv("MODELS_URL", FOREIGN)
    settings = load(tmp_path, "llm: {provider: openai, base_url: '${MODELS_URL}', api_key: '${MY_KEY}'}")
    assert settings.llm.base_url == FOREIGN


def test_an_argument_or_a_variable_for_something_else_is_no_agreement(tmp_path, monkeypatch):
    monkeypatch.setenv("CODERAG_LLM__MODEL", "m")
    monkeypatch.setenv("CODERAG_LLM", '{"temperature": 0}')
    refused(tmp_path, STEERED["a key of the language model"], "llm: {context_window: 9000}", llm={"timeout_s": 9})


@pytest.mark.parametrize(
    "address",
    [
        "",
        "https://api.openai.com/v1",
        "https://API.openai.com:443/v2/",
        "http://localhost:8000/v1",
        "http://127.0.0.1:8000",
        "http://[::1]/v1",
    ],
)
def test_the_providers_own_address_and_this_machine_need_no_agreement(tmp_path, address):
    text = f"llm: {{provider: openai, base_url: '{address}', api_key: '${{MY_KEY}}'}}"
    assert load(tmp_path, text).llm.api_key.get_secret_value() == SECRET


@pytest.mark.parametrize(
    "text",
    [
        f"llm: {{provider: openai, base_url: '{FOREIGN}'}}",
        f"embedding: {{provider: ollama, base_url: '{FOREIGN}', model: m}}\nproject: ${{MY_KEY}}",
        f"llm: {{provider: none, base_url: '{FOREIGN}', api_key: '${{MY_KEY}}'}}",
        "chat: {memory: sqlite, url: 'postgresql://me:${MY_KEY}@db.example/chats'}",
    ],
    ids=["no key", "elsewhere", "no server", "not used"],
)
def test_where_nothing_is_sent_a_committed_address_is_fine(tmp_path, text):
    load(tmp_path, text)


def test_a_local_file_that_came_with_the_repository_is_no_agreement(tmp_path):
    local = STEERED["a key of the language model"]
    load(tmp_path, "", local)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    load(tmp_path, "", local)
    subprocess.run(["git", "add", ".coderag.local.yaml"], cwd=tmp_path, check=True)
    error = refused(tmp_path, "", local)
    assert str(error).startswith(".coderag.local.yaml, line 1: llm.base_url: ")
    assert "`git rm --cached .coderag.local.yaml`" in error.hint
