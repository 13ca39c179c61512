"""Search for the code that writes a message: values, tests that repeat it, and messages in parts."""

import pytest

from coderag.retrieval.message_search import find_message_places
from tests.support.corpora import make_context
from tests.support.graphs import run

FILES = {
    "shop/hosts.py": (
        "def connect(host, limit):\n    if host.is_slow:\n"
        '        raise Timeout(f"timeout of {limit} s exceeded for host {host!r}")\n\n\n'
        "def close(host):\n    # timeout of 30 s exceeded for host x\n    host.close()\n"
    ),
    "tests/test_hosts.py": "def test_it():\n    assert \"timeout of 30 s exceeded for host 'x'\" in told\n",
    "docs/errors.md": "# Errors\n\nMore time helps against `timeout of 30 s exceeded for host 'x'`.\n",
    "shop/error.rs": (
        "fn describe(code: u16) -> String {\n"
        '    let prefix = "HTTP status client error";\n    format!("{prefix} ({code})")\n}\n'
    ),
}
MESSAGE = "timeout of 30 s exceeded for host 'x'"


@pytest.fixture(scope="module")
def shop():
    return make_context(FILES)


def _describe(context, message):
    corpus = context.corpus
    return [
        (corpus.paths[corpus.chunk_files[place.row]], place.start_line)
        for place in find_message_places(corpus, message)
    ]


def test_the_code_that_writes_a_message_comes_before_tests_that_repeat_it_as_typed(shop):
    places = _describe(shop, MESSAGE)
    assert places[0] == ("shop/hosts.py", 3)
    assert {path for path, _ in places[1:]} <= {"tests/test_hosts.py", "docs/errors.md"}


def test_comments_write_no_message(shop):
    assert ("shop/hosts.py", 7) not in _describe(shop, MESSAGE)


def test_the_beginning_of_a_message_in_parts_is_found(shop):
    assert _describe(shop, "HTTP status client error (404 Not Found) for url (https://example.com/)") == [
        ("shop/error.rs", 2)
    ]


@pytest.mark.parametrize("message", ["", "timeout", "the host is slow today", "%s: %s"])
def test_what_no_literal_writes_is_not_found(shop, message):
    assert _describe(shop, message) == []


@pytest.mark.parametrize(
    "question",
    [
        f'why do I get "{MESSAGE}"?',
        MESSAGE,
        f"Timeout: {MESSAGE}",
        "where does `timeout of 7 s exceeded for host 'db-1'` come from",
        '"timeout of 7 s exceeded for host db-1"',
    ],
)
def test_a_search_for_a_message_with_values_puts_the_code_that_writes_it_first(shop, question):
    (first, *_) = run(shop, question, "search")["results"]
    assert first["symbol"] == "connect"
    assert first["channels"]["literal"] > 0.7
