import json
import re
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest
import scipy.sparse as sp
from pydantic import SecretStr

from coderag.errors import ConfigurationError, ModelAuthenticationError, ModelError, ModelUnavailableError
from coderag.models import providers
from coderag.models.dense import Batch, EmbeddedDense
from coderag.models.providers import MAX_TEXT_TOKENS, make_dense_model, ollama_options, prefixes_of, sendable
from coderag.models.remote_errors import Fault, Remote, RetryPolicy, find_fault, model_error, remote_errors
from coderag.settings import EmbeddingSettings
from coderag.stores.field_counts import FieldCounts
from coderag.stores.pointer import EmbeddingInfo
from tests.loopback import Reply, bag_of_words
from tests.loopback.ollama_server import OllamaServer
from tests.loopback.openai_server import OpenAIServer

KEY = "sk-secret-of-this-test"


class Case:
    """A provider, its running server and the waits that its model asked for."""

    def __init__(self, provider, server):
        self.provider = provider
        self.server = server
        self.model_name = {"ollama": "nomic-embed-text", "openai": "text-embedding-3-small"}[provider]
        self.waits = []

    def model(self, **options):
        settings = {"provider": self.provider, "model": self.model_name, "base_url": self.server.url, **options}
        return make_dense_model(EmbeddingSettings(**settings), sleep=self.waits.append)

    def query_reply(self, vectors):
        """Answer as the provider does, with these vectors."""
        if self.provider == "ollama":
            return Reply({"model": self.model_name, "embeddings": vectors})
        data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
        return Reply({"object": "list", "data": data, "model": self.model_name, "usage": {}})


@pytest.fixture
def ollama():
    with OllamaServer() as server:
        yield Case("ollama", server)


@pytest.fixture
def openai():
    pytest.importorskip("llama_index.embeddings.openai_like", reason="the extra openai is not installed")
    with OpenAIServer() as server:
        yield Case("openai", server)


@pytest.fixture(params=["ollama", "openai"])
def case(request):
    return request.getfixturevalue(request.param)


def batch_of(texts, paths=("src/a.py",)):
    empty = sp.csr_matrix((len(texts), 1), dtype=np.float32)
    return Batch(
        texts=texts,
        counts=FieldCounts(empty, empty, empty),
        terms=["x"],
        paths=paths,
        file_of=np.zeros(len(texts), np.intp),
        path_counts=sp.csr_matrix((len(paths), 1), dtype=np.float32),
    )


# --- choosing a model


def test_the_default_is_the_embedded_model():
    model = make_dense_model(EmbeddingSettings())
    assert isinstance(model, EmbeddedDense)
    assert model.info.provider == "embedded"


def test_another_models_name_is_not_silently_ignored():
    with pytest.raises(ConfigurationError, match=r"embedding\.model is nomic-embed-text"):
        make_dense_model(EmbeddingSettings(model="nomic-embed-text"))
    assert make_dense_model(EmbeddingSettings(model="coderag-words-v0")).info.dimension == 256


def test_importing_the_providers_imports_none_of_their_packages():
    code = """
import sys, coderag.models.providers, coderag.models.llm
from coderag.settings import EmbeddingSettings, LLMSettings
coderag.models.llm.make_answer_writer(LLMSettings(provider="ollama"))
coderag.models.providers.make_dense_model(EmbeddingSettings())
print(sorted({name.partition(".")[0] for name in sys.modules} & set(sys.argv[1:])))
"""
    heavy = ["llama_index", "ollama", "openai", "httpx", "httpx2", "tenacity"]
    assert subprocess.check_output([sys.executable, "-c", code, *heavy], text=True).strip() == "[]"


def test_a_model_is_made_without_a_request(case):
    case.model()
    assert case.server.requests == []


def test_ollama_has_a_default_model_and_address():
    remote = make_dense_model(EmbeddingSettings(provider="ollama"))._model._remote
    assert (remote.model, remote.address) == ("nomic-embed-text", "http://localhost:11434")


def test_openai_needs_a_model():
    with pytest.raises(ConfigurationError, match=r"embedding\.model is not set"):
        make_dense_model(EmbeddingSettings(provider="openai"))


def test_openais_own_address_needs_a_key():
    with pytest.raises(ModelAuthenticationError, match=r"https://api\.openai\.com/v1 needs a key") as caught:
        make_dense_model(EmbeddingSettings(provider="openai", model="text-embedding-3-small"))
    assert "embedding.api_key" in caught.value.hint


def test_a_missing_extra_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "llama_index.embeddings.openai_like", None)
    settings = EmbeddingSettings(provider="openai", model="m", base_url="http://localhost:1234/v1")
    with pytest.raises(ConfigurationError, match="extra that is not installed") as caught:
        make_dense_model(settings)
    assert 'from a checkout: pip install ".[openai]"' in caught.value.hint


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
def test_an_address_that_cannot_be_used_is_refused_and_not_repeated(url):
    with pytest.raises(ConfigurationError, match=r"embedding\.base_url") as caught:
        make_dense_model(EmbeddingSettings(provider="ollama", base_url=url))
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-\nX-Evil: 1", "ключ"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(key):
    with pytest.raises(ConfigurationError, match=r"embedding\.api_key") as caught:
        make_dense_model(EmbeddingSettings(provider="ollama", api_key=SecretStr(key)))
    assert key not in str(caught.value)


# --- prefixes


@pytest.mark.parametrize(
    ("model", "query", "text"),
    [
        ("nomic-embed-text", "search_query: ", "search_document: "),
        ("nomic-embed-text:latest", "search_query: ", "search_document: "),
        ("nomic-ai/nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("nomic-ai/nomic-embed-code", "Represent this query for searching relevant code: ", ""),
        ("mxbai-embed-large:335m", "Represent this sentence for searching relevant passages: ", ""),
        ("Snowflake/snowflake-arctic-embed-m-v1.5", "Represent this sentence for searching relevant passages: ", ""),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", ""),
        ("snowflake-arctic-embed2", "query: ", ""),
        ("embeddinggemma", "task: code retrieval | query: ", "title: none | text: "),
        ("text-embedding-3-small", "", ""),
        ("bge-m3", "", ""),
        ("-v1", "", ""),
    ],
)
def test_known_models_get_the_prefixes_they_were_trained_with(model, query, text):
    found = prefixes_of(model)
    assert (found.query, found.text) == (query, text)


# --- what is sent


def test_ollama_gets_texts_and_questions_with_their_prefixes(ollama):
    model = ollama.model()
    model.embed_batch(batch_of(["def login(): ..."], paths=["src/user_session.py"]))
    model.embed_query("where is the login?", [])
    assert [request.path for request in ollama.server.requests] == ["/api/embed"] * 3
    assert [body["input"] for body in ollama.server.bodies] == [
        ["search_document: def login(): ..."],
        ["search_document: src user session.py"],
        "search_query: where is the login?",
    ]
    assert {body["model"] for body in ollama.server.bodies} == {"nomic-embed-text"}


def test_an_openai_compatible_server_gets_prefixes_too():
    pytest.importorskip("llama_index.embeddings.openai_like", reason="the extra openai is not installed")
    with OpenAIServer("nomic-ai/nomic-embed-text-v1.5") as server:
        case = Case("openai", server)
        case.model(model="nomic-ai/nomic-embed-text-v1.5").embed_query("where?", [])
    assert server.bodies[0]["input"] == ["search_query: where?"]


def test_vectors_come_back_in_order_over_several_requests(case):
    texts = [f"word{number} and more" for number in range(5)]
    vectors = case.model(batch_size=2).embed_batch(batch_of(texts)).chunks
    assert [len(body["input"]) for body in case.server.bodies] == [2, 2, 1, 1]
    prefix = prefixes_of(case.model_name).text
    expected = np.array([bag_of_words(prefix + text, 64) for text in texts])
    np.testing.assert_allclose(vectors, expected / np.linalg.norm(expected, axis=1)[:, None], rtol=1e-5)


def test_a_question_is_nearest_to_the_text_that_shares_its_words(case):
    model = case.model()
    chunks = model.embed_batch(batch_of(["open the session", "draw the red circle"])).chunks
    question = model.embed_query("red circle", [])
    assert question.shape == (64,)
    assert np.linalg.norm(question) == pytest.approx(1)
    assert np.argmax(chunks @ question) == 1


def test_blank_texts_are_not_sent_and_give_zeros(case):
    model = case.model()
    chunks = model.embed_batch(batch_of(["", "login", " \n"])).chunks
    assert [len(body["input"]) for body in case.server.bodies] == [1, 1]
    assert chunks.any(axis=1).tolist() == [False, True, False]
    assert model.embed_query("  ", []).tolist() == [0.0] * 64


def test_the_dimension_is_asked_once(case):
    model = case.model()
    for _ in range(2):
        assert model.info == EmbeddingInfo(case.provider, case.model_name, 64)
    assert len(case.server.requests) == 1


def test_the_dimension_is_not_asked_after_a_batch(case):
    model = case.model()
    model.embed_query("login", [])
    assert model.info.dimension == 64
    assert len(case.server.requests) == 1


def test_no_texts_give_no_vectors(case):
    assert case.model().embed_batch(batch_of([], paths=())).chunks.shape == (0, 64)


def test_short_texts_are_sent_whole_and_valid():
    assert sendable("def f():\n    return 1") == "def f():\n    return 1"
    assert sendable("bad \udcff byte") == "bad ? byte"


@pytest.mark.parametrize("text", ["word " * 40_000, "値を返す関数。" * 4_000, "x = (1, [2, {3: 4}])\n" * 3_000])
def test_long_texts_are_cut_to_what_servers_read(text):
    from llama_index.core.utils import get_tokenizer

    sent = sendable(text)
    assert text.startswith(sent)
    assert 0.9 * MAX_TEXT_TOKENS < len(get_tokenizer()(sent)) <= MAX_TEXT_TOKENS


def test_a_long_text_is_sent_cut(ollama):
    ollama.model().embed_query("word " * 20_000, [])
    assert 30_000 < len(ollama.server.bodies[0]["input"]) < 60_000


# --- keys


def test_the_key_is_sent(case):
    case.model(api_key=SecretStr(f" {KEY}\n")).embed_query("login", [])
    assert case.server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("variable", ["OLLAMA_API_KEY", "OPENAI_API_KEY"])
def test_the_environments_key_is_not_sent_to_an_address_from_the_settings(case, monkeypatch, variable):
    monkeypatch.setenv(variable, KEY)
    case.model().embed_query("login", [])
    assert KEY not in json.dumps(dict(case.server.requests[0].headers))


def test_ollamas_own_site_gets_its_key_from_the_environment():
    import httpx

    def sent_to(address, key=""):
        request = httpx.Request("POST", address, headers={"Authorization": "Bearer of-the-environment"})
        return ollama_options(address, 1.0, key)["auth"](request).headers.get("authorization")

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
def test_only_this_machine_is_reached_without_a_proxy(address, direct):
    assert ollama_options(address, 1.0)["trust_env"] is not direct


def test_a_refused_key_is_not_shown():
    pytest.importorskip("llama_index.embeddings.openai_like", reason="the extra openai is not installed")
    with OpenAIServer(key="sk-another") as server:
        case = Case("openai", server)
        with pytest.raises(ModelAuthenticationError, match="status 401") as caught:
            case.model(api_key=SecretStr(KEY)).embed_query("login", [])
    error = caught.value
    assert server.url in str(error)
    assert KEY not in f"{error}{error.hint}{error.args}"
    assert error.__suppress_context__
    assert error.__cause__ is None
    assert len(server.requests) == 1


def test_a_server_that_repeats_the_key_does_not_get_it_into_the_message(case):
    case.server.next(Reply({"error": f"bad header Bearer {KEY}"}, 400))
    with pytest.raises(ModelError, match=r"bad header Bearer \*\*\*") as caught:
        case.model(api_key=SecretStr(KEY)).embed_query("login", [])
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_wants_a_key_is_told_apart_from_one_that_is_away(case, status):
    case.server.next(Reply({"error": "unauthorized"}, status))
    with pytest.raises(ModelAuthenticationError, match=f"status {status}") as caught:
        case.model().embed_query("login", [])
    assert "embedding.api_key" in caught.value.hint
    assert not caught.value.retryable


# --- faults that pass


def test_a_busy_server_is_asked_again_when_it_says(case):
    case.server.next(Reply({"error": "slow down"}, 429, {"Retry-After": "7"}))
    assert case.model().embed_query("login", []).any()
    assert case.waits == [7.0]


def test_only_the_batch_that_failed_is_sent_again(case):
    model = case.model(batch_size=1)
    model.embed_query("login", [])
    case.server.next(case.query_reply([bag_of_words("a", 64)]), Reply({"error": "busy"}, 503))
    assert model.embed_batch(batch_of(["a", "b"])).chunks.shape == (2, 64)
    assert len(case.server.requests) == 1 + 3 + 1
    assert case.waits == [1.0]


def test_a_server_that_stays_broken_is_given_up_after_three_attempts(case):
    case.server.next(*[Reply({"error": "runner terminated"}, 500)] * 3)
    with pytest.raises(ModelUnavailableError, match=r"status 500.*runner terminated") as caught:
        case.model().embed_query("login", [])
    assert case.model_name in str(caught.value)
    assert case.server.url in str(caught.value)
    assert caught.value.retryable
    assert len(case.server.requests) == 3
    assert case.waits == [1.0, 2.0]


def test_a_server_that_asks_for_a_long_wait_is_not_waited_for(case):
    case.server.next(Reply({"error": "quota"}, 429, {"Retry-After": "3600"}))
    with pytest.raises(ModelUnavailableError, match="asked again in 3600 s"):
        case.model().embed_query("login", [])
    assert case.waits == []


def test_a_server_that_is_silent_is_a_timeout(case):
    case.server.next(*[Reply(delay_s=5)] * 3)
    with pytest.raises(ModelUnavailableError, match=r"did not answer .* within 0\.1 s") as caught:
        case.model(timeout_s=0.1).embed_query("login", [])
    assert "embedding.timeout_s" in caught.value.hint
    assert case.waits == [1.0, 2.0]


def test_a_connection_that_breaks_is_tried_again(case):
    case.server.next(Reply('{"embeddings": [[0.1', withheld=100))
    assert case.model().embed_query("login", []).any()
    case.server.next(*[Reply("{", withheld=100)] * 3)
    with pytest.raises(ModelUnavailableError, match="broke the connection"):
        case.model().embed_query("login", [])


# --- faults that stay


def test_nobody_at_the_address(case):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ModelUnavailableError, match=f"{case.provider} at {url} cannot be reached") as caught:
        case.model(base_url=url).embed_query("login", [])
    assert case.model_name in str(caught.value)
    assert ("ollama serve" in caught.value.hint) is (case.provider == "ollama")
    assert caught.value.retryable
    assert case.waits == []


def test_a_model_that_is_not_there(case):
    with pytest.raises(ModelUnavailableError, match="no model all-minilm") as caught:
        case.model(model="all-minilm").embed_query("login", [])
    expected = "ollama pull all-minilm" if case.provider == "ollama" else "embedding.model"
    assert expected in caught.value.hint
    assert len(case.server.requests) == 1


def test_a_server_that_is_no_ollama(ollama):
    ollama.server.next(Reply("404 page not found", 404, {"Content-Type": "text/plain"}))
    with pytest.raises(ModelUnavailableError, match="404 page not found") as caught:
        ollama.model().embed_query("login", [])
    assert "embedding.base_url" in caught.value.hint


def test_a_refused_request_says_why(case):
    case.server.next(Reply({"error": {"message": "input is\ntoo \x1b[31mlong " + "x" * 1_000}}, 400))
    with pytest.raises(ModelError, match=r"status 400.*input is too \[31mlong x+…$") as caught:
        case.model().embed_query("login", [])
    assert not isinstance(caught.value, ModelUnavailableError)
    assert len(str(caught.value)) < 600
    assert len(case.server.requests) == 1


@pytest.mark.parametrize("body", ['{"embeddings": [[0.1, 0.', "<html>hello</html>", "[]", "null", '{"data": 3}'])
def test_a_reply_that_is_none(case, body):
    case.server.next(Reply(body))
    with pytest.raises(ModelError, match=r"cannot be understood|sent 0 vectors") as caught:
        case.model().embed_query("login", [])
    assert not caught.value.retryable
    assert len(case.server.requests) == 1


@pytest.mark.parametrize("content_type", ["text/html", "text/plain"])
def test_a_page_instead_of_a_reply(case, content_type):
    case.server.next(Reply("<html>sign in</html>", headers={"Content-Type": content_type}))
    with pytest.raises(ModelError, match="cannot be understood"):
        case.model().embed_query("login", [])


def test_a_reply_without_vectors(case):
    case.server.next(case.query_reply([]), case.query_reply([]))
    for embed in (lambda: case.model().embed_query("login", []), lambda: case.model().embed_batch(batch_of(["a"]))):
        with pytest.raises(ModelError) as caught:
            embed()
        assert not caught.value.retryable


@pytest.mark.parametrize(
    "vectors",
    [
        pytest.param([[1.0, 0.0]], id="too few"),
        pytest.param([[1.0, 0.0]] * 3, id="too many"),
        pytest.param([[1.0, 0.0], [1.0]], id="ragged"),
        pytest.param([[], []], id="empty"),
    ],
)
def test_a_reply_of_another_shape(case, vectors):
    case.server.next(case.query_reply(vectors))
    with pytest.raises(ModelError, match=r"vectors of .* components, not 2 of one size"):
        case.model().embed_batch(batch_of(["a", "b"]))


@pytest.mark.parametrize("component", ["NaN", "1e300"])
def test_components_that_are_no_numbers(case, component):
    reply = case.query_reply([[0.5, 12345.0]])
    case.server.next(Reply(reply.encoded.replace(b"12345.0", component.encode())))
    with pytest.raises(ModelError, match=r"no numbers|cannot be understood"):
        case.model().embed_query("login", [])


def test_a_dimension_that_changes(case):
    model = case.model()
    model.embed_query("login", [])
    case.server.dimension = 32
    with pytest.raises(ModelError, match="vectors of 32 components after vectors of 64"):
        model.embed_batch(batch_of(["a"]))


# --- the policy and the boundary by themselves


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("12", 12),
        (" 0 ", 0),
        ("in 3,000 s", 3_000),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Wed, 21 Oct 2015 07:28:00 -0000", 0),
        ("soon", None),
        ("-3", None),
        ("", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(header, seconds):
    import httpx

    if header == "in 3,000 s":  # as a date, made when the test runs and not when it was collected
        header = format_datetime(datetime.now(UTC) + timedelta(seconds=3_000), usegmt=True)
    request = httpx.Request("POST", "http://localhost/")
    response = httpx.Response(429, headers={"Retry-After": header} if header else {}, request=request)
    fault = find_fault(httpx.HTTPStatusError("busy", request=request, response=response))
    assert fault is not None
    assert fault.retry_after_s == (None if seconds is None else pytest.approx(seconds, abs=120))


def test_waits_double_up_to_the_longest():
    waits = []

    def fail():
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        RetryPolicy(attempts=6, longest_wait_s=5).call(fail, waits.append)
    assert waits == [1, 2, 4, 5, 5]


def test_errors_that_are_no_request_pass_through():
    class OwnError(Exception):
        pass

    remote = Remote("ollama", "m", "http://localhost", "embedding", 1.0)
    for error in (OwnError(), ModelError("already mapped"), ConfigurationError("settings")):
        with pytest.raises(type(error)) as caught, remote_errors(remote):
            raise error
        assert caught.value is error
        assert find_fault(error) is None


def test_a_remotes_key_is_not_in_its_repr():
    assert KEY not in repr(Remote("openai", "m", "http://localhost", "embedding", 1.0, KEY))


def test_a_fault_without_a_key_setting_says_so():
    remote = Remote("ollama", "m", "http://localhost", "llm", 1.0)
    assert "llm" in model_error(Fault("status", 401), remote).hint


def test_the_table_of_prefixes_has_names_as_they_are_looked_up():
    assert all(re.fullmatch(r"[a-z0-9.-]+", name) for name in providers.KNOWN_PREFIXES)
