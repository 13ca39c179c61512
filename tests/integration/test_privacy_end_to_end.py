"""With ``privacy.obfuscate_paths`` no name of a file or folder reaches a server, and the reader sees the real ones."""

import json
import re

import pytest
from llama_index.core.schema import TransformComponent

from coderag import CodeRAG
from tests.loopback import Reply
from tests.loopback.ollama_server import OllamaServer
from tests.loopback.openai_server import OpenAIServer
from tests.support.corpora import write_files

# No component of a path stands in any text, and no text in a path, so that what is found in a request came from a path.
FILES = {
    "zyzzyva/quokka/axolotl.py": 'def login(user, password):\n    """Open a session for a user."""\n    check(password)\n',
    "zyzzyva/quokka/wombat_numbat.py": "import os\n\nLIMIT = 3\nos.umask(0)\n" * 30,
    "zyzzyva/.bilby/kakapo.test.ts": "export function total(cart: Cart): number {\n  return cart.sum();\n}\n",
    "dugong narwhal/tapir.md": "Nothing special here.\n\n# Sessions\n\nA session of a user is opened by login.\n",
    "dugong narwhal/pangolin.txt": "plain lines about a session of a user\n" * 20,
    "okapi.d/gharial": "opens no session\n",
}
NAMES = {
    word
    for path in FILES
    for word in re.split(r"[^a-z]+", path)
    if word not in {"py", "test", "ts", "md", "txt", "d", ""}
}
SECRETS = {"obfuscate_paths": True}


class CitingServer(OllamaServer):
    """An Ollama whose answer names each place of the evidence as the prompt does."""

    def _chat(self, request):
        prompt = request.body["messages"][-1]["content"]
        places = re.findall(r"^\[(\d+)\] .* in (\S+):(\d+)-(\d+)$", prompt, re.MULTILINE)
        lines = [
            f"`{path}:{first}` and {path.rpartition('/')[2]} do it [{number}]." for number, path, first, _ in places
        ]
        self.answer = "\n".join([*lines, "Not in `0123456789ab/ba9876543210.py`."])
        return super()._chat(request)


@pytest.fixture
def server():
    with CitingServer() as server:
        yield server


@pytest.fixture
def repository(tmp_path):
    return write_files(tmp_path / "repo", FILES)


def opened(repository, server, privacy=SECRETS, **sections):
    ollama = {"provider": "ollama", "base_url": server.url}
    return CodeRAG(repository, **{"embedding": ollama, "llm": ollama, "privacy": privacy, **sections})


def shown_to(server):
    """Return the names of files and folders in all that a server was sent."""
    sent = json.dumps([(request.path, dict(request.headers), request.body) for request in server.requests]).lower()
    return {name for name in NAMES if name in sent}


QUESTION = "how is a session of a user opened"


def test_without_the_setting_the_names_are_sent(repository, server):
    rag = opened(repository, server, privacy={})
    rag.index()
    rag.ask(QUESTION)
    assert shown_to(server) == NAMES


def test_with_the_setting_no_name_is_sent_and_the_answer_has_the_real_ones(repository, server):
    rag = opened(repository, server)
    rag.index()
    answer = rag.ask(QUESTION)
    rag.search("login")
    assert {request.path for request in server.requests} == {"/api/embed", "/api/chat"}
    assert shown_to(server) == set()
    assert "check(password)" in json.dumps(server.bodies)
    assert answer.verified == answer.total - 1 == len(answer.citations)
    assert {citation.path for citation in answer.citations} <= set(FILES)
    assert "`zyzzyva/quokka/axolotl.py:1` and axolotl.py do it" in answer.text
    assert "`dugong narwhal/tapir.md:" in answer.text
    assert re.findall(r"[0-9a-f]{12}", answer.text) == []
    assert answer.claims[-1].text == "Not in `0123456789ab/ba9876543210.py`."  # a place of which nobody knows
    assert not answer.claims[-1].shown
    assert {hit.path.as_posix() for hit in answer.hits} <= set(FILES)


def test_names_in_the_question_are_not_sent_either(repository, server):
    rag = opened(repository, server)
    rag.index()
    answer = rag.ask("what does zyzzyva/quokka/axolotl.py do, and dugong narwhal/tapir.md, and wombat_numbat.py?")
    assert shown_to(server) == set()
    assert "zyzzyva/quokka/axolotl.py" in answer.text


class Unchanged(TransformComponent):
    """A transformation of a user's, with which the indexer runs LlamaIndex's pipeline."""

    def __call__(self, nodes, **kwargs):
        return nodes


@pytest.mark.parametrize("transformations", [(), (f"{__name__}:Unchanged",)])
def test_another_provider_and_the_pipeline_of_users_show_no_name(repository, transformations):
    pytest.importorskip("llama_index.embeddings.openai_like", reason="the extra openai is not installed")
    with OpenAIServer() as server:
        embedding = {"provider": "openai", "base_url": server.url, "model": server.model}
        ingestion = {"transformations": transformations}
        rag = CodeRAG(repository, embedding=embedding, ingestion=ingestion, privacy=SECRETS)
        rag.index()
        rag.search(QUESTION)
        assert len(server.requests) > 1
        assert shown_to(server) == set()


def test_turning_it_on_embeds_everything_anew_once(repository, server):
    opened(repository, server, privacy={}).index()
    server.requests.clear()
    assert opened(repository, server).index().added == len(FILES)
    assert shown_to(server) == set()
    assert opened(repository, server).index().added == 0


def test_another_key_shows_other_names(repository, server):
    opened(repository, server, privacy={**SECRETS, "key": "a" * 16}).index()
    first = json.dumps(server.bodies)
    server.requests.clear()
    opened(repository, server, privacy={**SECRETS, "key": "b" * 16}).index()
    tokens = [set(re.findall(r"\b[0-9a-f]{12}\b", sent)) for sent in (first, json.dumps(server.bodies))]
    assert len(tokens[0]) == len(tokens[1]) > 5
    assert not tokens[0] & tokens[1]


def test_a_server_that_fails_tells_no_name_and_no_key(repository, server, caplog):
    rag = opened(repository, server, privacy={**SECRETS, "key": "correct horse battery staple"})
    server.next(Reply({"error": "no such thing"}, 400))
    with pytest.raises(Exception, match="ollama") as caught:
        rag.index()
    assert "horse" not in str(caught.value) + caplog.text + repr(rag.settings)
    assert shown_to(server) == set()


def test_the_embedded_model_alone_needs_no_key(repository):
    rag = CodeRAG(repository, privacy=SECRETS)
    rag.index()
    assert rag.search(QUESTION)
    assert not (repository / ".coderag" / "privacy.key").exists()
