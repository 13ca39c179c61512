"""A model on a server is asked for the vector of a text once, however often and wherever the text is indexed."""

import shutil
import subprocess

import pytest

from coderag.config.sections import EmbeddingSettings
from coderag.config.settings import Settings
from coderag.ingestion.cache_directory import resolve_cache_directory
from coderag.ingestion.indexer import Indexer
from coderag.models.providers import make_dense_model
from coderag.stores.content_cache import ContentCache
from coderag.stores.index_store import IndexStore
from tests.loopback import Reply
from tests.loopback.ollama_server import OllamaServer
from tests.loopback.openai_server import OpenAIServer

CART = 'def total(cart):\n    """Add up the prices of a cart."""\n    return sum(cart)\n'
LOGIN = 'def login(user, password):\n    """Open a session for a user."""\n    return check(password)\n'
PROBE = "dimension"  # what a server is sent to learn the size of its vectors


@pytest.fixture(params=[OllamaServer, OpenAIServer])
def server(request):
    if request.param is OpenAIServer:
        pytest.importorskip("llama_index.embeddings.openai_like", reason="the extra openai is not installed")
    with request.param() as server:
        yield server


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "repo"
    write(root, {"auth/session.py": LOGIN, "shop/cart.py": CART})
    return root


def write(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def index(root, server, *, full=False, **embedding):
    """Index with a model and a cache of its own, as another process would; return the texts that were sent."""
    provider, model = ("ollama", "nomic-embed-text") if isinstance(server, OllamaServer) else ("openai", server.model)
    settings = Settings(
        embedding=EmbeddingSettings(provider=provider, model=model, base_url=server.url, **embedding),
        storage={"cache_bytes": 1_000_000},
    )
    dense = make_dense_model(settings.embedding, sleep=lambda seconds: None)
    store = IndexStore(root / ".coderag")
    server.requests.clear()
    with ContentCache(resolve_cache_directory(root, store.directory), limit_bytes=1_000_000) as cache:
        dense.cache = cache
        Indexer(root, settings, store, dense).run(full=full)
    return [text for text in texts_of(server) if PROBE not in text.split()]


def texts_of(server):
    given = [body["input"] for body in server.bodies]
    return [text for one in given for text in ([one] if isinstance(one, str) else one)]


def vectors(root):
    return IndexStore(root / ".coderag").open().read_vectors().tolist()


def test_a_full_index_sends_nothing_that_was_sent_before(repository, server):
    assert len(index(repository, server)) == 4  # two chunks, two paths
    first = vectors(repository)
    assert index(repository, server, full=True) == []
    assert vectors(repository) == first


def test_going_back_to_an_earlier_content_sends_nothing(repository, server):
    index(repository, server)
    write(repository, {"shop/cart.py": CART.replace("total", "total_price")})
    assert len(index(repository, server)) == 1
    write(repository, {"shop/cart.py": CART})
    assert index(repository, server) == []


def test_an_index_that_was_deleted_is_made_again_for_nothing(repository, server):
    index(repository, server)
    shutil.rmtree(repository / ".coderag" / "v1")
    assert index(repository, server) == []


def test_a_second_working_tree_sends_nothing(repository, server, tmp_path):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for arguments in (["init"], ["add", "."], ["commit", "-m", "first"], ["worktree", "add", str(tmp_path / "linked")]):
        subprocess.run(["git", *arguments], cwd=repository, check=True, capture_output=True)
    index(repository, server)
    assert index(tmp_path / "linked", server) == []
    assert vectors(tmp_path / "linked") == vectors(repository)


def test_a_renamed_file_is_embedded_anew_because_texts_have_paths(repository, server):
    index(repository, server)
    (repository / "shop" / "cart.py").rename(repository / "shop" / "basket.py")
    assert sorted("return sum(cart)" in text for text in index(repository, server)) == [False, True]


def test_another_model_is_asked_anew(repository):
    with OllamaServer(models=("nomic-embed-text", "all-minilm")) as server:
        index(repository, server)
        server.dimension = 32
        assert len(index(repository, server, full=True)) == 4


def test_another_address_of_the_same_model_is_not(repository):
    with OllamaServer() as first:
        index(repository, first)
    with OllamaServer() as second:
        assert index(repository, second, full=True) == []


def test_what_a_failed_run_has_paid_for_is_not_paid_again(repository):
    large = "".join(f"def function_{number}(x):\n    return x * {number}\n\n\n" for number in range(1_000))
    write(repository, {"a.py": large, "z.py": large.replace("return x", "return 2 * x")})
    with OllamaServer() as server:
        everything = len(index(repository, server, batch_size=2_000))
    shutil.rmtree(repository / ".coderag")
    with OllamaServer() as server:
        answered = []
        respond = server.respond

        def fail_later(request):
            answered.append(request)
            return respond(request) if len(answered) <= 3 else Reply({"error": "out of memory"}, 400)

        server.respond = fail_later
        with pytest.raises(Exception, match="ollama"):
            index(repository, server, batch_size=2_000)
        server.respond = respond
        assert 0 < len(index(repository, server, batch_size=2_000)) < everything
