"""The graph that LangGraph's own server runs: it opens the repository that the input names."""

import json
from importlib import import_module

import pytest

from coderag import CodeRAG
from coderag.errors import IndexNotFoundError

SOURCE = 'def hash_password(secret):\n    """Hash a password with a fresh salt."""\n    return secret[::-1]\n'


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "passwords.py").write_text(SOURCE)
    return tmp_path


@pytest.fixture
def served():
    return import_module("coderag.graphs.served").graph


async def test_a_question_to_a_named_repository_is_answered(served, repository):
    CodeRAG(repository).index()
    output = await served.ainvoke({"query": "how are passwords hashed", "repository": str(repository)})
    assert "passwords.py:1-3" in output["answer"]["text"]
    assert output["answer"]["verified"] == output["answer"]["total"] > 0
    assert json.loads(json.dumps(output)) == output


async def test_a_search_ends_with_its_results(served, repository):
    CodeRAG(repository).index()
    asked = {"query": "hash_password", "goal": "search", "top_k": 1, "repository": str(repository)}
    output = await served.ainvoke(asked)
    assert [result["symbol"] for result in output["results"]] == ["hash_password"]
    assert "answer" not in output


async def test_a_repository_without_an_index_says_so(served, repository):
    with pytest.raises(IndexNotFoundError, match="not indexed yet"):
        await served.ainvoke({"query": "x1 y2", "repository": str(repository)})
