import pytest

from coderag.question.analysis import analyze
from coderag.question.widening import find_widening_terms
from tests.support.corpora import make_corpus

FILES = {
    "auth.py": "def verify_credentials(user):\n    return user.login()\n",
    "paint.py": "def fill_canvas(canvas):\n    canvas.fill('red')\n",
}


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(FILES)


def test_a_misspelt_identifier_leads_to_the_nearest_declared_one(corpus):
    assert "=verifycredentials" in find_widening_terms(corpus, analyze("where is verify_credentails defined"))


def test_a_misspelt_word_leads_to_the_nearest_spelling(corpus):
    assert "canva" in find_widening_terms(corpus, analyze("how are canvsa filled"))


def test_a_word_of_the_trade_leads_to_its_neighbours(corpus):
    assert "login" in find_widening_terms(corpus, analyze("how does authentication work"))


def test_only_terms_of_the_index_are_added(corpus):
    added = find_widening_terms(corpus, analyze("delete the login session and fill_canvass"))
    assert added
    assert set(added) <= corpus.term_ids.keys()


def test_what_was_asked_for_already_is_not_added_and_nothing_twice(corpus):
    analysis = analyze("login credentials `verify_credentails` `verify_credential`")
    added = find_widening_terms(corpus, analysis)
    assert len(added) == len(set(added))
    assert not set(added) & set(analysis["terms"])


def test_a_question_about_something_else_entirely_is_left_alone(corpus):
    assert find_widening_terms(corpus, analyze("photosynthesis")) == []


def test_an_empty_index_adds_nothing():
    assert find_widening_terms(make_corpus({}), analyze("verify_credentails")) == []
