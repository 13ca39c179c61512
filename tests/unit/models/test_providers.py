import json
import re
import subprocess
import sys

import numpy as np
import pytest
from pydantic import SecretStr

from coderag.config.sections import EmbeddingSettings
from coderag.config.settings import Settings
from coderag.errors import ConfigurationError, ModelAuthenticationError, ModelError
from coderag.models.embedded_dense import EmbeddedDense
from coderag.models.prefixes import find_prefixes
from coderag.models.providers import build_ollama_options, get_model_name, make_dense_model
from coderag.models.word_vectors import WordVectors
from coderag.stores.pointer import EmbeddingInfo
from tests.loopback import Reply, bag_of_words
from tests.loopback.cases import Case, batch_of, embedded
from tests.loopback.openai_server import OpenAIServer

KEY = "sk-secret-of-this-test"


# --- choosing a model


def test_default_is_the_embedded_model():
    model = make_dense_model(EmbeddingSettings())
    assert isinstance(model, EmbeddedDense)
    assert model.info.provider == "embedded"


def test_unknown_model_name_of_the_embedded_provider_is_an_error():
    with pytest.raises(ConfigurationError, match=r"embedding\.model is nomic-embed-text"):
        make_dense_model(EmbeddingSettings(model="nomic-embed-text"))
    assert isinstance(make_dense_model(EmbeddingSettings(model=WordVectors.load().name)), EmbeddedDense)


def test_importing_the_providers_imports_none_of_their_packages():
    code = """
import sys, coderag.models.providers, coderag.models.llms.providers
from coderag.config.settings import EmbeddingSettings, LLMSettings
coderag.models.llms.providers.make_language_model(LLMSettings(provider="ollama"))
coderag.models.providers.make_dense_model(EmbeddingSettings())
print(sorted({name.partition(".")[0] for name in sys.modules} & set(sys.argv[1:])))
"""
    heavy = ["llama_index", "ollama", "openai", "httpx", "httpx2", "tenacity", "model2vec", "tokenizers", "torch"]
    assert subprocess.check_output([sys.executable, "-c", code, *heavy], text=True).strip() == "[]"


def test_model_is_created_without_a_request(case):
    case.model()
    assert case.server.requests == []


def test_ollama_has_a_default_model_and_address():
    remote = make_dense_model(EmbeddingSettings(provider="ollama"))._model._remote
    assert (remote.model, remote.address) == ("nomic-embed-text", "http://localhost:11434")


def test_openai_needs_a_model():
    with pytest.raises(ConfigurationError, match=r"embedding\.model is not set"):
        make_dense_model(EmbeddingSettings(provider="openai"))


def test_voyage_has_a_default_model_and_address():
    remote = make_dense_model(EmbeddingSettings(provider="voyage", api_key=SecretStr(KEY)))._model._remote
    assert (remote.model, remote.address) == ("voyage-code-3", "https://api.voyageai.com/v1")


@pytest.mark.parametrize(
    ("provider", "address"), [("openai", "https://api.openai.com/v1"), ("voyage", "https://api.voyageai.com/v1")]
)
def test_providers_own_address_needs_a_key(provider, address):
    with pytest.raises(ModelAuthenticationError, match=f"{provider} at {address} needs a key") as caught:
        make_dense_model(EmbeddingSettings(provider=provider, model="text-embedding-3-small"))
    assert f"${{{provider.upper()}_API_KEY}}" in caught.value.hint


def test_unknown_provider_error_lists_known_providers(tmp_path):
    with pytest.raises(ConfigurationError, match=r"embedding\.provider.*'embedded', 'ollama', 'openai', 'voyage'"):
        Settings.load(tmp_path, embedding={"provider": "cohere"})


@pytest.mark.parametrize(
    ("provider", "module"),
    [
        ("openai", "llama_index.embeddings.openai_like"),
        ("sentence-transformers", "sentence_transformers"),
        ("model2vec", "model2vec"),
    ],
)
def test_missing_extra_says_how_to_install_it(monkeypatch, provider, module):
    monkeypatch.setitem(sys.modules, module, None)
    settings = EmbeddingSettings(provider=provider, model="m", base_url="http://localhost:1234/v1")
    with pytest.raises(
        ConfigurationError, match=f"provider '{provider}' needs an extra that is not installed"
    ) as caught:
        make_dense_model(settings)
    assert f'from a checkout: pip install ".[{provider}]"' in caught.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "localhost:11434",
        "http://",
        "http://localhost:port",
        f"http://me:{KEY}@localhost:11434",
        f"http://localhost:11434/?key={KEY}",
    ],
)
def test_invalid_address_is_rejected_and_not_shown(url):
    with pytest.raises(ConfigurationError, match=r"embedding\.base_url") as caught:
        make_dense_model(EmbeddingSettings(provider="ollama", base_url=url))
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-\nX-Evil: 1", "ключ"])
def test_invalid_key_is_rejected_and_not_shown(key):
    with pytest.raises(ConfigurationError, match=r"embedding\.api_key") as caught:
        make_dense_model(EmbeddingSettings(provider="ollama", api_key=SecretStr(key)))
    assert key not in str(caught.value)


# --- what is sent


def test_ollama_gets_texts_and_questions_with_their_prefixes(ollama):
    model = ollama.model()
    model.embed_batch(batch_of(["def login(): ..."], paths=["src/user_session.py"]))
    model.embed_query("where is the login?", [])
    assert {request.path for request in ollama.server.requests} == {"/api/embed"}
    assert [texts for texts in ollama.sent if "dimension" not in texts[0]] == [
        ["search_document: def login(): ..."],
        ["search_document: src user session.py"],
        ["search_query: where is the login?"],
    ]
    assert {body["model"] for body in ollama.server.bodies} == {"nomic-embed-text"}


def test_ollama_truncates_texts_to_the_models_context(ollama):
    ollama.server.window = 5
    assert ollama.model().embed_query("one two three four five six", []).any()
    assert ollama.server.bodies[0]["truncate"] is True
    assert ollama.server.bodies[0]["options"] == {}
    ollama.model(max_tokens=2_048).embed_query("one", [])
    assert ollama.server.bodies[1]["options"] == {"num_ctx": 2_048}


def test_voyage_gets_the_input_type_and_truncation(voyage):
    voyage.server.window = 3
    model = voyage.model()
    model.embed_query("where is the login?", [])
    embedded(model, ["def login(): ..."])
    assert [body["input_type"] for body in voyage.server.bodies] == ["query", "document"]
    assert voyage.sent == [["where is the login?"], ["def login(): ..."]]
    assert all(body["truncation"] is True for body in voyage.server.bodies)


def test_code_is_sent_with_its_line_breaks(case):
    embedded(case.model(), ["def f():\n    return 1"])
    assert case.sent[-1][0].endswith("def f():\n    return 1")


@pytest.mark.parametrize("parameter", ["query_prefix", "text_prefix"])
def test_prefix_of_the_settings_is_sent_instead(case, parameter):
    model = case.model(**{parameter: "as set: "})
    model.embed_query("login", []) if parameter == "query_prefix" else embedded(model, ["login"])
    assert case.sent[-1] == ["as set: login"]


def test_fewer_dimensions_are_requested(case):
    model = case.model(dimension=16)
    assert model.embed_query("login", []).shape == (16,)
    assert model.info.dimension == 16


def test_server_that_gives_another_dimension_than_set_is_an_error(case):
    case.server.next(case.reply([bag_of_words("login", 64)]))
    with pytest.raises(ModelError, match=r"vectors of 64 components, not embedding\.dimension \(16\)"):
        case.model(dimension=16).embed_query("login", [])


def test_openai_compatible_server_gets_prefixes_too():
    pytest.importorskip("llama_index.embeddings.openai_like", reason="the extra openai is not installed")
    with OpenAIServer("nomic-ai/nomic-embed-text-v1.5") as server:
        case = Case("openai", server)
        case.model(model="nomic-ai/nomic-embed-text-v1.5").embed_query("where?", [])
    assert server.bodies[0]["input"] == ["search_query: where?"]


def test_vectors_of_several_requests_are_in_order(case):
    texts = [f"word{number} and more" for number in range(5)]
    vectors = case.model(batch_size=2).embed_batch(batch_of(texts)).chunks
    assert [len(texts) for texts in case.sent if "dimension" not in texts[0]] == [2, 2, 1, 1]
    prefix = find_prefixes(case.model_name).text
    expected = np.array([bag_of_words(prefix + text, 64) for text in texts])
    np.testing.assert_allclose(vectors, expected / np.linalg.norm(expected, axis=1)[:, None], rtol=1e-5)


def test_question_is_nearest_to_the_text_that_shares_its_words(case):
    model = case.model()
    chunks = model.embed_batch(batch_of(["open the session", "draw the red circle"])).chunks
    question = model.embed_query("red circle", [])
    assert question.shape == (64,)
    assert np.linalg.norm(question) == pytest.approx(1)
    assert np.argmax(chunks @ question) == 1


def test_blank_texts_are_not_sent_and_get_zeros(case):
    model = case.model()
    chunks = model.embed_batch(batch_of(["", "login", " \n"])).chunks
    assert not any(text.strip() in {"", "search_document:"} for texts in case.sent for text in texts)
    assert chunks.any(axis=1).tolist() == [False, True, False]
    assert model.embed_query("  ", []).tolist() == [0.0] * 64


def test_dimension_is_requested_once(case):
    model = case.model()
    for _ in range(2):
        assert model.info == EmbeddingInfo(case.provider, case.model_name, 64)
    assert len(case.server.requests) == 1


def test_dimension_is_not_requested_after_a_batch(case):
    model = case.model()
    model.embed_query("login", [])
    assert model.info.dimension == 64
    assert len(case.server.requests) == 1


def test_no_texts_give_no_vectors(case):
    assert list(case.model()._model.embed_requests([])) == []
    assert case.server.requests == []


def test_invalid_unicode_is_sent_as_question_marks(case):
    case.model().embed_query("bad \udcff byte", [])
    assert case.sent[0][0].endswith("bad ? byte")


def test_long_text_is_truncated(ollama):
    ollama.model().embed_query("word " * 20_000, [])
    assert 30_000 < len(ollama.sent[0][0]) < 60_000


def test_openai_compatible_texts_are_truncated_to_the_configured_window(openai):
    openai.model(max_tokens=100).embed_query("word " * 1_000, [])
    assert 90 <= len(openai.sent[0][0].split()) <= 100


def test_requests_of_voyage_stay_below_its_number_of_tokens(voyage):
    voyage.server.request_tokens = 120_000
    texts = [f"{number} " + "word " * 9_999 for number in range(30)]
    assert embedded(voyage.model(), texts).shape == (30, 64)
    assert max(sum(len(text.split()) for text in texts) for texts in voyage.sent) > 60_000
    assert all(len(texts) < 13 for texts in voyage.sent)
    assert sum(len(texts) for texts in voyage.sent if "dimension" not in texts[0]) == 30


def test_concurrent_requests_give_the_same_vectors_in_order(case):
    texts = [f"word{number} and more" for number in range(25)]
    sequential = case.model(batch_size=2, concurrency=1).embed_batch(batch_of(texts))
    concurrent = case.model(batch_size=2, concurrency=4).embed_batch(batch_of(texts))
    np.testing.assert_array_equal(sequential.chunks, concurrent.chunks)


def test_only_remote_servers_get_concurrent_requests(case):
    def side_by_side(**settings):
        return case.model(**settings)._model._limits.max_concurrency

    assert side_by_side() == 1
    assert side_by_side(base_url="https://models.example/v1") == (1 if case.provider == "ollama" else 4)
    assert side_by_side(base_url="https://models.example/v1", concurrency=9) == 9


# --- what an index records


def test_model_name_changes_with_the_vectors():
    def name(**settings):
        return get_model_name(EmbeddingSettings(provider="voyage", **settings))

    assert name() == "voyage-code-3"
    assert name(model="voyage-3-large", query_prefix="q: ", batch_size=7, dimension=256) == "voyage-3-large"
    hashed_names = [name(max_tokens=512), name(max_tokens=256), name(text_prefix="")]
    assert all(re.fullmatch("voyage-code-3@[0-9a-f]{8}", hashed_name) for hashed_name in hashed_names)
    assert len(set(hashed_names)) == 3


def test_model_reports_its_name(case):
    model = case.model(max_tokens=512)
    settings = EmbeddingSettings(provider=case.provider, model=case.model_name, max_tokens=512)
    assert model.info.model == get_model_name(settings)


# --- keys


def test_key_is_sent(case):
    case.model(api_key=SecretStr(f" {KEY}\n")).embed_query("login", [])
    assert case.server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("variable", ["OLLAMA_API_KEY", "OPENAI_API_KEY", "VOYAGE_API_KEY"])
def test_environments_key_is_not_sent_to_an_address_from_the_settings(case, monkeypatch, variable):
    monkeypatch.setenv(variable, KEY)
    case.model().embed_query("login", [])
    assert KEY not in json.dumps(dict(case.server.requests[0].headers))


def test_ollama_com_gets_the_environment_key():
    import httpx

    def sent_to(address, key=""):
        request = httpx.Request("POST", address, headers={"Authorization": "Bearer of-the-environment"})
        return build_ollama_options(address, 1.0, key)["auth"](request).headers.get("authorization")

    assert sent_to("https://ollama.com") == "Bearer of-the-environment"
    assert sent_to("https://ollama.com.evil.example") is None
    assert sent_to("http://localhost:11434") is None
    assert sent_to("https://ollama.com", KEY) == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("address", "direct"),
    [
        ("http://localhost:11434", True),
        ("http://127.0.0.1:11434", True),
        ("http://[::1]:11434", True),
        ("http://gpu.example:11434", False),
        ("http://10.0.0.7:11434", False),
    ],
)
def test_only_local_servers_bypass_the_proxy(address, direct):
    assert build_ollama_options(address, 1.0)["trust_env"] is not direct


@pytest.mark.parametrize("provider", ["openai", "voyage"])
def test_rejected_key_is_not_shown(request, provider):
    case = request.getfixturevalue(provider)
    case.server.key = "sk-another"
    with pytest.raises(ModelAuthenticationError, match="status 401") as caught:
        case.model(api_key=SecretStr(KEY)).embed_query("login", [])
    error = caught.value
    assert case.server.url in str(error)
    assert KEY not in f"{error}{error.hint}{error.args}"
    assert error.__suppress_context__
    assert error.__cause__ is None
    assert len(case.server.requests) == 1


def test_key_repeated_by_the_server_is_not_in_the_message(case):
    case.server.next(Reply({"error": f"bad header Bearer {KEY}"}, 400))
    with pytest.raises(ModelError, match=r"bad header Bearer \*\*\*") as caught:
        case.model(api_key=SecretStr(KEY)).embed_query("login", [])
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("status", [401, 403])
def test_missing_key_differs_from_unreachable_server(case, status):
    case.server.next(Reply({"error": "unauthorized"}, status))
    with pytest.raises(ModelAuthenticationError, match=f"status {status}") as caught:
        case.model().embed_query("login", [])
    assert "embedding.api_key" in caught.value.hint
    assert not caught.value.retryable
