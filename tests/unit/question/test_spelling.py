"""Misspelt words of a question."""

import pytest

from coderag import CodeRAG
from coderag.question.spelling import is_slip


@pytest.mark.parametrize(
    ("word", "other", "most"),
    [
        ("lok", "lock", 1),
        ("lokc", "lock", 1),
        ("lick", "lock", 1),
        ("sessionn", "session", 1),
        ("passwrd", "password", 1),
        ("repozitri", "repositori", 2),
    ],
)
def test_slips_are_told(word, other, most):
    assert is_slip(word, other, most)
    assert is_slip(other, word, most)


@pytest.mark.parametrize(("word", "other", "most"), [("cat", "dog", 2), ("graphql", "graph", 2), ("load", "lock", 1)])
def test_other_words_are_no_slips(word, other, most):
    assert not is_slip(word, other, most)
    assert not is_slip(other, word, most)


@pytest.fixture(scope="module")
def rag(tmp_path_factory):
    root = tmp_path_factory.mktemp("spelling")
    files = {
        "locks.py": 'def remove_stale_locks(repository):\n    """Remove what a process left."""\n    repository.unlock()\n',
        "sessions.py": 'def expire_sessions(store):\n    """Throw sessions away that nobody used."""\n    store.drop()\n',
        "graph.py": 'def draw_graph(nodes):\n    """Draw a graph of nodes."""\n    return nodes\n',
    }
    for path, text in files.items():
        (root / path).write_text(text)
    with CodeRAG(root, ingestion={"workers": 0}) as engine:
        engine.index()
        yield engine


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("how are stale loks removed from the repositry?", "locks.py"),
        ("when are sesions thrown awya?", "sessions.py"),
    ],
)
def test_a_question_with_slips_finds_what_the_right_one_finds(rag, question, path):
    hits = rag.search(question)
    assert str(hits[0].path) == path
    assert hits.evidence == "found"


@pytest.mark.parametrize("question", ["which grape is drawn?", "which GRAPM is drawn?"])
def test_words_of_elsewhere_and_names_are_not_read_as_others(rag, question):
    terms = rag.explain(question).terms
    assert not {"graph", "lock"} & set(terms)
