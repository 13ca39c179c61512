from typing import get_args

import pytest

from coderag.schema.vocabulary import Relation
from coderag.stores.snippets import build_related_snippets, build_result_snippets, find_snippets_at_lines
from tests.support.candidates import candidate
from tests.support.corpora import make_corpus, row_named
from tests.support.pieces import piece

CART = '''class Cart:
    """Holds items."""

    def total(self):
        """Sum up."""
        return 1

    def pay(self):
        return self.total()
'''


@pytest.fixture(scope="module")
def corpus():
    return make_corpus({"shop/cart.py": CART, "shop/__init__.py": "from shop.cart import Cart\n"})


def test_result_snippet_has_metadata_and_lines(corpus):
    (snippet,) = build_result_snippets(corpus, [candidate(corpus, row_named(corpus, "Cart"), 0.7)])
    assert (snippet.name, snippet.kind, snippet.location) == ("Cart", "class", "shop/cart.py:1-9")
    assert (snippet.docstring, snippet.signature, snippet.score) == ("Holds items.", "class Cart:", 0.7)
    assert snippet.text == CART.rstrip("\n")
    assert (snippet.is_looked_up, snippet.relation, snippet.relation_phrase) == (False, None, "")


def test_member_snippet_has_its_own_lines_kind_and_signature(corpus):
    member = {
        **candidate(corpus, row_named(corpus, "Cart"), symbol="Cart.total", lookup=1.0),
        "start_line": 4,
        "end_line": 6,
    }
    (snippet,) = build_result_snippets(corpus, [member])
    assert snippet.text.startswith("    def total(self):")
    assert snippet.text.endswith("return 1")
    assert (snippet.kind, snippet.signature, snippet.is_looked_up) == ("method", "def total(self):", True)
    assert "Holds items" not in snippet.docstring + snippet.summary


def test_a_result_and_related_code_end_at_their_last_line_that_is_not_blank():
    text = "def pay():\n    return 1\n \n\n\ndef refund():\n    return -1\n\n\n"
    corpus = make_corpus({"till.py": text})
    rows = [row_named(corpus, name) for name in ("pay", "refund")]
    snippets = build_result_snippets(corpus, [candidate(corpus, row) for row in rows])
    assert [snippet.location for snippet in snippets] == ["till.py:1-2", "till.py:6-7"]
    assert [snippet.text for snippet in snippets] == ["def pay():\n    return 1", "def refund():\n    return -1"]
    related = {"chunk_id": corpus.get_value("id", rows[0]), "relation": "callee", "related_to": "", "origin": "",
               "depth": 1, "score": 1.0, "line": 0}  # fmt: skip
    assert build_related_snippets(corpus, [related])[0].location == "till.py:1-2"


@pytest.mark.parametrize(
    ("lines", "name", "kind"),
    [
        ((1, 2), "pay", "function"),
        ((5, 6), "refund", "function"),
        ((5, 5), "refund", "function"),
        ((1, 6), "pay", "function"),
    ],
)
def test_clipped_lines_are_named_for_their_declaration(lines, name, kind):
    text = "def pay():\n    return 1\n\n\ndef refund():\n    return -1\n"
    (snippet,) = find_snippets_at_lines(make_corpus({"till.py": text}, merged=True), "till.py", *lines)
    assert (snippet.name, snippet.kind) == (name, kind)


def test_related_snippet_has_its_relation(corpus):
    related = {
        "chunk_id": corpus.get_value("id", row_named(corpus, "Cart")),
        "relation": "caller",
        "related_to": "checkout",
        "origin": corpus.get_value("id", row_named(corpus, "Cart")),
        "depth": 1,
        "score": 0.4,
        "line": 3,
    }
    (snippet,) = build_related_snippets(corpus, [related])
    assert snippet.relation_phrase == "`Cart` calls `checkout`"
    assert snippet.score == 0.4


@pytest.mark.parametrize("relation", get_args(Relation))
def test_every_relation_has_a_phrase_with_both_ends(relation):
    snippet = piece(relation=relation, related_to="other_end", name="this_end")
    assert "other_end" in snippet.relation_phrase
    assert ("src/settings_0.py" if relation in ("imports", "imported_by") else "this_end") in snippet.relation_phrase


@pytest.mark.parametrize(
    ("relation", "phrase"),
    [
        ("callee", "`result` calls `near`"),
        ("caller", "`near` calls `result`"),
        ("base", "`result` extends `near`"),
        ("derived", "`near` extends `result`"),
        ("contained_by", "`result` is part of `near`"),
        ("test_for", "`near` tests `result`"),
        ("imports", "the file of `result` imports `src/settings_0.py`"),
        ("imported_by", "`src/settings_0.py` imports the file of `result`"),
    ],
)
def test_relation_phrase_has_the_right_direction(relation, phrase):
    assert piece(name="near", relation=relation, related_to="result").relation_phrase == phrase


def test_no_results_yield_no_snippets(corpus):
    assert build_result_snippets(corpus, []) == build_related_snippets(corpus, []) == []
