"""With ``privacy.redact_secrets``, the default, no secret of a repository or of a question reaches a server."""

import json

import pytest

from coderag import CodeRAG
from tests.loopback.ollama_server import OllamaServer
from tests.support.corpora import write_files

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
FILES = {
    "shop/session.py": f'TOKEN = "{TOKEN}"\n\n\ndef open_session(user):\n    """Open a session for a user."""\n'
    '    return connect(user, password="hunter2x")\n',
    "deploy.yaml": "session:\n  database: postgres://shop:hunter2x@db/shop\n",
}
QUESTION = f"why does open_session fail for the token {TOKEN}"


@pytest.fixture
def server():
    with OllamaServer() as server:
        yield server


def sent_after_everything(root, server, **privacy):
    """Return what a server was sent by an index, a search with a rewritten question and a reranker, and an answer."""
    ollama = {"provider": "ollama", "base_url": server.url}
    sections = {"embedding": ollama, "llm": ollama, "reranker": ollama, "search": {"rewrite": "queries"}}
    rag = CodeRAG(write_files(root, FILES), **sections, privacy=privacy)
    rag.index()
    rag.search(QUESTION)
    rag.ask(QUESTION)
    return json.dumps(server.bodies)


def test_no_secret_is_sent(tmp_path, server):
    sent = sent_after_everything(tmp_path / "repo", server)
    assert {request.path for request in server.requests} >= {"/api/embed", "/api/chat"}
    assert TOKEN not in sent and "hunter2x" not in sent
    assert "[secret removed: GitHub Token]" in sent
    assert "Open a session for a user." in sent


def test_with_the_setting_off_all_is_sent(tmp_path, server):
    sent = sent_after_everything(tmp_path / "repo", server, redact_secrets=False)
    assert TOKEN in sent and "hunter2x" in sent
