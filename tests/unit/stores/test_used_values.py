import pytest

from coderag.stores.snippets import build_result_snippets
from coderag.stores.used_values import find_used_values
from tests.support.candidates import candidate
from tests.support.corpora import make_corpus, row_named

FILES = {
    "limits.py": "MAX_TRIES = 5\nDELAY_S: float = 0.25\nlock = make_lock()\nnames = {}\nword = 'a'\n",
    "pool.py": "SIZE = 4\n\n\ndef run():\n    for _ in range(MAX_TRIES):\n        wait(DELAY_S, SIZE, lock, names, word)\n",
    "pool.js": "const MAX_TRIES_JS = 3;\nfunction run_js() { return MAX_TRIES; }\n",
    "tests/test_pool.py": "RETRY_COUNT = 9\n\n\ndef test_run():\n    run(RETRY_COUNT)\n",
    "other.py": "def other():\n    return RETRY_COUNT\n",
    "twice_a.py": "PORT_NUMBER = 1\n",
    "twice_b.py": "PORT_NUMBER = 2\n",
    "user.py": "def connect():\n    return PORT_NUMBER\n",
}


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(FILES)


def find(corpus, name):
    snippets = build_result_snippets(corpus, [candidate(corpus, row_named(corpus, name))])
    return [f"{value.path}:{value.start_line} {value.signature}" for value in find_used_values(corpus, snippets)]


def test_literal_values_of_this_and_of_other_files_are_found(corpus):
    assert find(corpus, "run") == [
        "limits.py:1 MAX_TRIES = 5",
        "limits.py:2 DELAY_S: float = 0.25",
        "pool.py:1 SIZE = 4",
    ]


def test_value_of_another_language_or_of_tests_is_not_used(corpus):
    assert find(corpus, "run_js") == []
    assert find(corpus, "other") == []


def test_name_of_several_values_is_unclear(corpus):
    assert find(corpus, "connect") == []


def test_value_that_a_result_shows_is_not_repeated(corpus):
    rows = [row_named(corpus, "run"), row_named(corpus, "MAX_TRIES")]
    snippets = build_result_snippets(corpus, [candidate(corpus, row) for row in rows])
    assert "MAX_TRIES" not in {value.name for value in find_used_values(corpus, snippets)}
