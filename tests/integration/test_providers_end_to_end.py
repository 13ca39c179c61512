"""Indexing, searching and answering with models on a server: one on this machine that speaks Ollama's protocol."""

import pytest

from coderag import CodeRAG
from coderag.errors import ConfigurationError, IndexModelError, ModelUnavailableError
from tests.loopback import Reply
from tests.loopback.cases import MODELS, PROVIDERS, SERVERS
from tests.loopback.ollama_server import OllamaServer
from tests.support.corpora import write_files
from tests.support.model_folders import write_model2vec

FILES = {
    "auth/session.py": 'def login(user, password):\n    """Open a session for a user."""\n    return check(password)\n',
    "shop/cart.py": 'def total(cart):\n    """Add up the prices of a cart."""\n    return sum(cart)\n',
}


@pytest.fixture
def server():
    with OllamaServer(dimension=48, answer="The session is opened by `login` [1].") as server:
        yield server


@pytest.fixture
def repository(tmp_path):
    return write_files(tmp_path / "repo", FILES)


def with_ollama(repository, server, **sections):
    return CodeRAG(repository, embedding={"provider": "ollama", "base_url": server.url}, **sections)


def test_the_index_is_made_of_the_servers_vectors(repository, server):
    rag = with_ollama(repository, server)
    rag.index()
    snapshot = rag._store.open()
    assert (snapshot.pointer.embedding.provider, snapshot.pointer.embedding.model) == ("ollama", "nomic-embed-text")
    assert snapshot.pointer.embedding.dimension == 48
    assert snapshot.read_vectors().shape == (2, 48)
    assert rag.status().embedding == "ollama/nomic-embed-text"
    sent = [text for body in server.bodies for text in body["input"]]
    assert any("return check(password)" in text and text.startswith("search_document: ") for text in sent)


def test_a_question_is_embedded_by_the_server_too(repository, server):
    rag = with_ollama(repository, server)
    rag.index()
    server.requests.clear()
    hits = rag.search("open a session for a user")
    assert str(hits[0].path) == "auth/session.py"
    assert "dense" in hits[0].channels
    assert [body["input"] for body in server.bodies] in (
        ["search_query: open a session for a user"], [["search_query: open a session for a user"]],
    )  # fmt: skip


def test_a_second_run_sends_only_what_changed(repository, server):
    rag = with_ollama(repository, server)
    rag.index()
    (repository / "shop/cart.py").write_text("def total_price(cart):\n    return 0\n")
    server.requests.clear()
    assert rag.index().changed == 1
    sent = [text for body in server.bodies for text in body["input"]]
    assert any("total_price" in text for text in sent)
    assert not any("check(password)" in text for text in sent)


def test_an_answer_is_written_by_the_language_model_from_the_evidence(repository, server):
    rag = CodeRAG(repository, llm={"provider": "ollama", "base_url": server.url})
    rag.index()
    answer = rag.ask("how is a session opened")
    assert answer.generator == "ollama/qwen2.5-coder"
    assert "The session is opened by `login`" in answer.text
    assert [(one.path, one.verified) for one in answer.citations] == [("auth/session.py", True)]
    assert (answer.verified, answer.total) == (1, 1)
    prompt = server.bodies[-1]["messages"][-1]["content"]
    assert "how is a session opened" in prompt
    assert "return check(password)" in prompt


def test_a_citation_that_the_model_invents_does_not_count_as_verified(repository, server):
    server.answer = "It is opened in `login` [1][98]. It is closed elsewhere [97]."
    rag = CodeRAG(repository, llm={"provider": "ollama", "base_url": server.url})
    rag.index()
    answer = rag.ask("how is a session opened")
    assert (answer.verified, answer.total) == (1, 2)
    assert "elsewhere" not in answer.text
    assert "[98]" not in answer.text


def test_a_language_model_that_the_server_does_not_have_is_an_error_that_says_so(repository, server):
    rag = CodeRAG(repository, llm={"provider": "ollama", "base_url": server.url, "model": "nosuch"})
    rag.index()
    with pytest.raises(ModelUnavailableError, match=r"has no model nosuch \(status 404\)") as caught:
        rag.ask("how is a session opened")
    assert "ollama pull nosuch" in caught.value.hint


def test_both_models_may_be_on_the_server(repository, server):
    rag = with_ollama(repository, server, llm={"provider": "ollama", "base_url": server.url})
    rag.index()
    assert rag.ask("how is a session opened").generator == "ollama/qwen2.5-coder"
    assert {request.path for request in server.requests} == {"/api/embed", "/api/chat"}


@pytest.fixture
def no_waiting(monkeypatch):
    """Requests are repeated at once."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    import coderag.app
    from coderag.models.providers import make_dense_model

    monkeypatch.setattr(
        coderag.app, "make_dense_model", lambda settings: make_dense_model(settings, sleep=lambda seconds: None)
    )


def stopped(server_class=OllamaServer):
    with server_class() as server:
        return server


def test_a_server_that_is_down_is_a_clear_error_and_there_is_no_index(repository, no_waiting):
    down = stopped()
    with pytest.raises(ModelUnavailableError) as caught:
        with_ollama(repository, down).index()
    assert "ollama" in str(caught.value)
    assert down.url in str(caught.value)
    assert caught.value.hint
    assert not (repository / ".coderag" / "v1" / "CURRENT").exists()


def test_a_server_that_goes_down_leaves_the_last_index(repository, no_waiting):
    with OllamaServer() as server:
        rag = with_ollama(repository, server)
        rag.index()
        (repository / "shop/cart.py").write_text("def total_price(cart):\n    return 0\n")
    before = rag._store.read_pointer()
    with pytest.raises(ModelUnavailableError):
        rag.index()
    with pytest.raises(ModelUnavailableError):
        rag.search("session")
    assert rag._store.read_pointer() == before
    assert rag.definition("login")
    assert rag.status().changed == ["shop/cart.py"]


def test_a_server_that_fails_in_the_middle_leaves_the_last_index(repository, server, no_waiting):
    rag = with_ollama(repository, server)
    rag.index()
    (repository / "shop/cart.py").write_text("def total_price(cart):\n    return 0\n")
    server.next(*[Reply({"error": "out of memory"}, 500)] * 20)
    with pytest.raises(Exception, match="ollama"):
        rag.index()
    assert rag._store.read_pointer().generation == 1
    server._queued.clear()
    assert rag.index().changed == 1


def test_a_missing_model_is_a_clear_error(repository, server, no_waiting):
    rag = CodeRAG(repository, embedding={"provider": "ollama", "base_url": server.url, "model": "no-such-model"})
    with pytest.raises(ModelUnavailableError, match="no-such-model"):
        rag.index()


def test_another_provider_is_refused_until_indexing_has_switched_to_it(repository, server):
    CodeRAG(repository).index()
    rag = with_ollama(repository, server)
    for ask in (lambda: rag.search("session"), lambda: rag.ask("session"), lambda: rag.definition("login")):
        with pytest.raises(IndexModelError, match=r"embedded/.*ollama/nomic-embed-text") as caught:
            ask()
        assert "`coderag index` to switch" in caught.value.hint
    assert rag.index().generation == 2
    assert str(rag.search("open a session for a user")[0].path) == "auth/session.py"
    with pytest.raises(IndexModelError):
        CodeRAG(repository).search("session")


def test_the_same_model_with_another_dimension_is_refused(repository, server):
    with_ollama(repository, server).index()
    server.dimension = 32
    with pytest.raises(IndexModelError, match=r"48 dimensions.*32 dimensions"):
        with_ollama(repository, server).search("session")


def test_an_address_that_is_none_is_told_before_anything_is_done(repository):
    with pytest.raises(ConfigurationError, match=r"embedding\.base_url"):
        CodeRAG(repository, embedding={"provider": "ollama", "base_url": "nonsense"}).index()
    assert not (repository / ".coderag" / "v1" / "CURRENT").exists()


def test_asking_twice_in_two_event_loops(repository, server):
    rag = CodeRAG(repository, llm={"provider": "ollama", "base_url": server.url})
    rag.index()
    assert [rag.ask("how is a session opened").verified for _ in range(2)] == [1, 1]


async def test_asking_a_language_model_within_a_running_event_loop(repository, server):
    rag = CodeRAG(repository, llm={"provider": "ollama", "base_url": server.url})
    rag.index()
    assert rag.ask("how is a session opened").verified == 1
    assert (await rag.aask("how is a session opened")).verified == 1


@pytest.fixture(params=PROVIDERS)
def remote(request):
    """Settings of a provider, and its server."""
    if request.param == "openai":
        pytest.importorskip("llama_index.embeddings.openai_like", reason="the extra openai is not installed")
    with SERVERS[request.param]() as server:
        yield {"provider": request.param, "model": MODELS[request.param], "base_url": server.url}, server


def test_every_provider_indexes_and_finds(repository, remote):
    embedding, _ = remote
    rag = CodeRAG(repository, embedding=embedding)
    rag.index()
    assert rag.status().embedding == f"{embedding['provider']}/{embedding['model']}"
    hits = rag.search("add up the prices of a cart")
    assert str(hits[0].path) == "shop/cart.py"
    assert "dense" in hits[0].channels


def test_one_long_chunk_does_not_end_a_run(repository, remote):
    embedding, server = remote
    answer = server.respond
    server.respond = lambda request: (
        Reply({"error": "maximum context length is 40 tokens"}, 400)
        if any(len(text.split()) > 40 for text in request.body["input"])
        else answer(request)
    )
    (repository / "long.py").write_text('NUMBERS = """\n' + "one two three\n" * 200 + '"""\n')
    rag = CodeRAG(repository, embedding=embedding)
    rag.index()
    assert str(rag.search("open a session for a user")[0].path) == "auth/session.py"


def test_a_run_that_failed_goes_on_with_what_is_missing(repository, remote, no_waiting):
    embedding, server = remote
    rag = CodeRAG(repository, embedding={**embedding, "batch_size": 1})
    answer, answered = server.respond, []

    def respond(request):
        if len(answered) == 3:
            return Reply({"error": "out of memory"}, 500)
        answered.extend(request.body["input"])
        return answer(request)

    server.respond = respond
    with pytest.raises(ModelUnavailableError, match="out of memory"):
        rag.index()
    server.respond = answer
    server.requests.clear()
    CodeRAG(repository, embedding={**embedding, "batch_size": 1}).index()
    again = [text for body in server.bodies for text in body["input"]]
    assert not set(answered[1:]) & set(again)  # the first one asked for the dimension
    assert str(rag.search("add up the prices of a cart")[0].path) == "shop/cart.py"


def test_a_model2vec_folder_indexes_and_finds(repository, tmp_path):
    pytest.importorskip("model2vec", reason="the extra model2vec is not installed")
    folder = write_model2vec(tmp_path / "tiny")
    rag = CodeRAG(repository, embedding={"provider": "model2vec", "model": str(folder)})
    rag.index()
    assert rag.status().embedding.startswith("model2vec/tiny@")
    hits = rag.search("total price of the cart")
    assert str(hits[0].path) == "shop/cart.py"
    assert "dense" in hits[0].channels


def test_a_folder_that_is_not_there_is_told_before_anything_is_done(repository):
    pytest.importorskip("model2vec", reason="the extra model2vec is not installed")
    with pytest.raises(ConfigurationError, match=r"embedding\.model"):
        CodeRAG(repository, embedding={"provider": "model2vec", "model": "minishlab/potion-code-16M"}).index()
    assert not (repository / ".coderag" / "v1" / "CURRENT").exists()
