"""A reranker in `.coderag.yaml` orders the results, and keeps to the privacy settings."""

import json
import re

import pytest

from coderag import CodeRAG
from coderag.errors import ModelUnavailableError
from tests.loopback import Reply
from tests.loopback.ollama_server import OllamaServer
from tests.support.corpora import write_files

FILES = {
    "zyzzyva/axolotl.py": 'def open_session(user):\n    """Open the session of a user."""\n    return user.session()\n',
    "zyzzyva/quokka.py": 'def close_session(user):\n    """Close the session of a user."""\n    user.session().end()\n',
    "dugong/wombat.py": 'def session_of(user):\n    """Return the session of a user, if it is open."""\n    return user.open\n',
}
QUESTION = "where is the session of a user opened"


class Closer(OllamaServer):
    """An Ollama whose model finds that closing a session is the answer, whatever is asked."""

    def _chat(self, request):
        prompt = request.body["messages"][0]["content"]
        self.answer = json.dumps({"score": 10 if "close_session" in prompt else 2})
        return super()._chat(request)


@pytest.fixture
def server():
    with Closer() as running:
        yield running


def opened(tmp_path, server, **sections):
    settings = {"provider": "ollama", "base_url": server.url, "budget_ms": 60_000}
    rag = CodeRAG(
        write_files(tmp_path / "repo", FILES),
        **{"reranker": settings, "ingestion": {"workers": 0, "chunk": {"min_tokens": 0}}, **sections},
    )
    rag.index()
    return rag


def test_the_models_choice_comes_first(tmp_path, server):
    hits = opened(tmp_path, server).search(QUESTION)
    assert hits[0].name == "close_session"
    assert hits[0].signals["reranker"] == 10
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len(server.requests) == len(hits)


def test_a_server_that_is_too_slow_costs_no_more_than_its_budget_and_the_trace_says_so(tmp_path, server):
    server.next(*[Reply(delay_s=5)] * 3)
    slow = {"provider": "ollama", "base_url": server.url, "budget_ms": 200}
    rag = opened(tmp_path, server, reranker=slow)
    told = rag.explain(QUESTION)
    details = [entry["detail"] for entry in told.trace if entry["node"] == "rerank"]
    assert details[-1]["order_stands"] == "200 ms were over"
    assert [piece.name for piece in told.results] == [
        hit.name for hit in opened(tmp_path, server, reranker={}).search(QUESTION)
    ]


def test_a_server_that_is_not_there_is_an_error(tmp_path):
    with Closer() as gone:
        rag = opened(tmp_path, gone)
    with pytest.raises(ModelUnavailableError):
        rag.search(QUESTION)


def test_masked_paths_hold_for_the_reranker_too(tmp_path, server):
    rag = opened(tmp_path, server, privacy={"obfuscate_paths": True})
    hits = rag.search(f"{QUESTION} in zyzzyva/axolotl.py")
    assert {str(hit.path) for hit in hits} <= FILES.keys()
    sent = json.dumps(server.bodies)
    assert "open_session" in sent
    assert not re.search("zyzzyva|axolotl|quokka|dugong|wombat", sent)
