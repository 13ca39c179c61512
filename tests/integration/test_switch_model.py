"""Another embedding model is switched to beside the index that is there, and whatever interrupts it loses nothing."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from coderag import CodeRAG
from coderag.errors import IndexModelError, ModelError, StorageFullError
from coderag.ingestion.files import changes
from coderag.models.embedded_dense import EmbeddedDense
from coderag.stores.index_writer import IndexWriter
from coderag.stores.pointer import EmbeddingInfo
from tests.loopback import Reply
from tests.loopback.ollama_server import OllamaServer
from tests.support.indexes import assert_same_index

CHECKOUT = Path(__file__).parents[2]
FILES = 12
BATCH = 8  # texts a request
PROBE = "dimension"  # what a server is sent to learn the size of its vectors


@pytest.fixture
def server():
    with OllamaServer(dimension=48) as server:
        yield server


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.setattr(changes, "_FINE_GRAIN_NS", -(10**12))  # take what was written just now for old
    root = tmp_path / "repo"
    for number in range(FILES):
        write(root, number, f"def step_{number}(item):\n    return prepare_{number}(item)\n")
    return root


def write(root, number, text):
    file = root / f"package_{number}" / f"module_{number}.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def with_ollama(repository, server, **sections):
    embedding = {"provider": "ollama", "base_url": server.url, "batch_size": BATCH}
    return CodeRAG(repository, embedding=embedding, **sections)


def sent(server):
    """Return the texts of all requests for vectors, one list a request, in order; without what asks for the size."""
    given = [body["input"] for body in server.bodies if "input" in body]
    return [texts for texts in given if texts not in (PROBE, [PROBE]) and not str(texts).endswith("dimension']")]


def texts_of(requests):
    return [text for texts in requests for text in texts]


def answering_only(server, number):
    """Have a server refuse all after so many requests for vectors; return those that it answered."""
    respond, answered = server.respond, []

    def limited(request):
        if len(sent(server)) > number:
            return Reply({"error": "out of memory"}, 400)
        answered[:] = sent(server)
        return respond(request)

    server.respond = limited
    return answered


def current(repository):
    return CodeRAG(repository)._store.open()


def test_indexing_switches_and_embeds_what_is_there(repository, server):
    before = CodeRAG(repository).index()
    steps = []
    report = with_ollama(repository, server).index(progress=steps.append)
    assert (report.generation, report.unchanged, report.added, report.changed) == (2, FILES, 0, 0)
    assert report.embedded == before.chunks == report.chunks
    assert report.reembedded.startswith("the embedding model changed from embedded/")
    assert report.reembedded.endswith("to ollama/nomic-embed-text (48 dimensions)")
    n_texts = report.chunks + FILES
    assert len(texts_of(sent(server))) == n_texts
    embedded = [(step.done, step.total) for step in steps if step.stage == "embed"]
    assert (embedded[0], embedded[-1]) == ((0, n_texts), (n_texts, n_texts))
    assert len(embedded) >= n_texts / BATCH, "told after each request"


def test_the_index_is_that_of_a_first_run_with_the_model(repository, server):
    CodeRAG(repository).index()
    rag = with_ollama(repository, server)
    write(repository, 3, "def changed_meanwhile(item):\n    return item\n")
    (repository / "package_5" / "module_5.py").unlink()
    write(repository, 77, "def added_meanwhile(item):\n    return item\n")
    report = rag.index()
    assert (report.added, report.changed, report.removed) == (1, 1, 1)
    fresh = with_ollama(repository, server, storage={"directory": str(repository.parent / "fresh")})
    fresh.index()
    assert_same_index(rag._store.open(), fresh._store.open())
    assert str(rag.search("changed meanwhile")[0].path) == "package_3/module_3.py"


def test_a_switch_back_asks_no_server(repository, server):
    CodeRAG(repository).index()
    first = current(repository).read_vectors().tolist()
    with_ollama(repository, server).index()
    server.requests.clear()
    assert CodeRAG(repository).index().reembedded.endswith("(256 dimensions)")
    assert current(repository).read_vectors().tolist() == first
    assert server.requests == []
    with_ollama(repository, server).index()
    assert sent(server) == [], "vectors of the server are kept, too"


def test_who_reads_the_old_index_goes_on_until_the_new_one_is_complete(repository, server):
    reader = CodeRAG(repository)
    reader.index()
    opened = CodeRAG(repository)
    opened.search("prepare step 3")  # has the old generation open
    found, switched = [], threading.Event()
    respond = server.respond

    def searching(request):
        """Search with the old settings while each request waits: with what is open, and with what is on disk."""
        found.extend(str(rag.search("prepare step 3")[0].path) for rag in (reader, opened, CodeRAG(repository)))
        return respond(request)

    server.respond = searching
    rag = with_ollama(repository, server)
    threading.Thread(target=lambda: (rag.index(), switched.set())).start()
    assert switched.wait(60)
    assert len(found) >= 3 * 2
    assert set(found) == {"package_3/module_3.py"}
    with pytest.raises(IndexModelError, match=r"ollama/nomic-embed-text.*embedded/"):
        reader.search("prepare step 3")
    server.respond = respond
    assert str(rag.search("prepare step 3")[0].path) == "package_3/module_3.py"


@pytest.mark.parametrize("cache_bytes", [512_000_000, 1], ids=["large cache", "cache smaller than a vector"])
def test_a_failed_switch_leaves_the_old_index_and_is_gone_on_with(repository, server, cache_bytes):
    old = CodeRAG(repository)
    old.index()
    before = old._store.read_pointer()
    storage = {"cache_bytes": cache_bytes}
    respond = server.respond
    answered = answering_only(server, 2)
    with pytest.raises(ModelError):
        with_ollama(repository, server, storage=storage).index()
    assert old._store.read_pointer() == before
    assert old.search("prepare step 3")
    server.respond = respond
    paid = set(texts_of(answered))
    assert len(answered) == 2
    server.requests.clear()
    plan = with_ollama(repository, server, storage=storage).plan()
    assert server.requests == []
    assert plan.embedding.cached == len(paid)
    report = with_ollama(repository, server, storage=storage).index()
    assert report.generation == 2
    again = texts_of(sent(server))
    assert not paid & set(again)
    assert len(again) == plan.embedding.texts.low == report.chunks + FILES - len(paid)


def test_a_switch_that_cannot_be_committed_has_kept_all_vectors(repository, server, monkeypatch):
    """Even in a cache that is too small for one: it is emptied when the index has them, not before."""

    def full_disk(*arguments, **options):
        raise StorageFullError("no space is left")

    CodeRAG(repository).index()
    storage = {"cache_bytes": 1}
    with monkeypatch.context() as patch, pytest.raises(StorageFullError):
        patch.setattr(IndexWriter, "commit", full_disk)
        with_ollama(repository, server, storage=storage).index()
    server.requests.clear()
    assert with_ollama(repository, server, storage=storage).index().generation == 2
    assert sent(server) == []
    write(repository, 3, "def changed(item):\n    return item\n")
    with_ollama(repository, server, storage=storage).index()
    CodeRAG(repository).index()
    server.requests.clear()
    report = with_ollama(repository, server, storage=storage).index()
    assert len(texts_of(sent(server))) == report.chunks + FILES, "the limit holds afterwards"


def test_without_a_cache_a_failed_switch_starts_again(repository, server):
    CodeRAG(repository).index()
    respond = server.respond
    answering_only(server, 2)
    storage = {"cache_bytes": 0}
    with pytest.raises(ModelError):
        with_ollama(repository, server, storage=storage).index()
    server.respond = respond
    server.requests.clear()
    report = with_ollama(repository, server, storage=storage).index()
    assert len(texts_of(sent(server))) == report.chunks + FILES


SWITCHING = """
import sys
from coderag import CodeRAG
CodeRAG(sys.argv[1], embedding={"provider": "ollama", "base_url": sys.argv[2], "batch_size": int(sys.argv[3])}).index()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_switch_leaves_the_old_index_and_repeats_no_request(repository, server):
    """Killed while the server has its n-th request: what was answered before is kept."""
    old = CodeRAG(repository)
    old.index()
    before = old._store.read_pointer()
    respond = server.respond
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    paid = []
    for kill_at in (1, 2):
        server.requests.clear()
        child = subprocess.Popen([sys.executable, "-c", SWITCHING, repository, server.url, str(BATCH)], env=environment)

        def dying(request, child=child, kill_at=kill_at):
            if len(sent(server)) > kill_at:
                child.kill()
            return respond(request)

        server.respond = dying
        assert child.wait(60) == -signal.SIGKILL
        *answered, _ = sent(server)
        assert len(answered) == kill_at
        assert not set(texts_of(answered)) & set(paid)
        paid += texts_of(answered)
        assert old._store.read_pointer() == before
        assert str(CodeRAG(repository).search("prepare step 3")[0].path) == "package_3/module_3.py"
    server.respond = respond
    server.requests.clear()
    rag = with_ollama(repository, server)
    report = rag.index()
    again = texts_of(sent(server))
    assert not set(again) & set(paid)
    assert len(again) + len(paid) == report.chunks + FILES
    fresh = with_ollama(repository, server, storage={"directory": str(repository.parent / "fresh")})
    fresh.index()
    assert_same_index(rag._store.open(), fresh._store.open())


def test_a_run_tells_how_many_texts_are_embedded(repository, server):
    steps = []
    report = with_ollama(repository, server).index(progress=steps.append)
    embedded = [step for step in steps if step.stage == "embed"]
    assert [step.total for step in embedded] == [0] * len(embedded)
    assert [step.done for step in embedded] == sorted(step.done for step in embedded)
    assert embedded[-1].done == report.chunks + FILES
    assert (report.embedded, report.reembedded) == (report.chunks, "")


def test_the_plan_and_the_status_tell_of_a_switch_and_ask_no_server(repository, server):
    CodeRAG(repository).index()
    rag = with_ollama(repository, server)
    plan, status = rag.plan(), rag.status()
    assert plan.reembed.endswith("to ollama/nomic-embed-text")
    assert plan.embedding.texts.low == plan.embedding.texts.high == FILES + status.chunks
    assert plan.embedding.cached == 0
    assert (status.embedding.partition("/")[0], status.configured) == ("embedded", "ollama/nomic-embed-text")
    assert not status.fresh
    assert server.requests == []
    rag.index()
    assert rag.status().configured == rag.status().embedding == "ollama/nomic-embed-text"


# Another version of the embedded model


class NextVersion(EmbeddedDense):
    """The embedded model as a later release of the package has it."""

    @property
    def info(self):
        return EmbeddingInfo("embedded", "words-9", super().info.dimension)


@pytest.fixture
def updated(repository, monkeypatch):
    """Make a repository's index, and then "update" the package."""
    import coderag.app
    import coderag.ingestion.planning
    from coderag.models.providers import make_dense_model

    def make_next(settings):
        model = make_dense_model(settings)
        return NextVersion(model._words) if isinstance(model, EmbeddedDense) else model

    CodeRAG(repository).index()
    for module in (coderag.app, coderag.ingestion.planning, coderag.models.providers):
        monkeypatch.setattr(module, "make_dense_model", make_next)
    return CodeRAG(repository)


def test_after_an_update_of_the_package_a_search_is_as_good_and_writes_nothing(updated, caplog):
    before = updated._store.read_pointer()
    hits = updated.search("prepare step 3")
    assert str(hits[0].path) == "package_3/module_3.py"
    assert "dense" in hits[0].channels
    assert "`coderag index`" in caplog.text
    assert "words-9" in caplog.text
    assert updated._store.read_pointer() == before
    assert (updated.status().configured, updated.status().fresh) == ("embedded/words-9", False)


def test_after_an_update_of_the_package_indexing_stores_the_new_vectors(updated, caplog):
    first = [hit.chunk_id for hit in updated.search("prepare step 3")]
    caplog.clear()
    report = updated.index()
    assert report.reembedded.endswith("to embedded/words-9 (256 dimensions)")
    assert report.embedded == report.chunks
    assert report.worker_seconds == {}, "no file was read"
    assert [hit.chunk_id for hit in updated.search("prepare step 3")] == first
    assert updated.status().fresh
    assert "vectors" not in caplog.text
