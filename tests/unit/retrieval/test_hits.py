import pytest

from coderag.retrieval.hits import build_hits
from tests.support.candidates import candidate
from tests.support.corpora import make_corpus, row_named


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(
        {"tests/cart.py": 'class Cart:\n    """Holds items."""\n\n    def total(self):\n        return 1\n'}
    )


def test_hit_has_metadata_and_scores(corpus):
    hits = {**candidate(corpus, row_named(corpus, "Cart"), 0.7, lexical=0.9), "signals": {"definition": 0.5}}
    (hit,) = build_hits(corpus, [hits])
    assert (hit.location, hit.kind, hit.name, hit.qualified_name) == ("tests/cart.py:1-5", "class", "Cart", "Cart")
    assert (hit.language, hit.role, hit.summary) == ("python", "test", "Holds items.")
    assert (hit.score, hit.signals, hit.channels) == (0.7, {"definition": 0.5}, {"lexical": 0.9})
    assert hit.text.startswith("class Cart:")


def test_hit_of_a_member_is_the_member(corpus):
    member = {**candidate(corpus, row_named(corpus, "Cart"), symbol="Cart.total"), "start_line": 4, "end_line": 5}
    (hit,) = build_hits(corpus, [member])
    assert (hit.name, hit.qualified_name, hit.kind) == ("total", "Cart.total", "method")
    assert (hit.location, hit.text) == ("tests/cart.py:4-5", "    def total(self):\n        return 1")


def test_hits_keep_the_order_of_the_results(corpus):
    row = row_named(corpus, "Cart")
    assert [hit.score for hit in build_hits(corpus, [candidate(corpus, row, 0.1), candidate(corpus, row, 0.9)])] == [
        0.1,
        0.9,
    ]


def test_no_results_yield_no_hits(corpus):
    assert build_hits(corpus, []) == []


def test_a_derived_summary_is_not_that_of_a_hit():
    plain = make_corpus({"cart.py": "def take_total(items):\n    return sum(items)\n"})
    row = row_named(plain, "take_total")
    assert plain.summary_sources[row] == "derived"
    assert [hit.summary for hit in build_hits(plain, [candidate(plain, row)])] == [""]
