import pytest

from coderag.question.abbreviations import other_forms
from coderag.question.analysis import analyze
from coderag.question.vocabulary import cooccurring_terms
from coderag.question.widening import find_widening_terms
from coderag.text.tokenizer import stem
from tests.support.corpora import make_corpus

FILES = {
    f"src/ledger_{number}.py": f"def book_{number}(entry):\n    zorbel(entry, quimby={number})\n" for number in range(5)
}
FILES |= {f"src/paint_{number}.py": f"def paint_{number}(canvas):\n    fill(canvas, {number})\n" for number in range(8)}
FILES["src/settings.py"] = "def load_cfg(path):\n    return parse(path)\n"


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(FILES)


@pytest.mark.parametrize(
    ("term", "form"),
    [
        ("configuration", "cfg"),
        ("cfg", "configuration"),
        ("database", "db"),
        ("i18n", "internationalization"),
        ("ctx", "context"),
    ],
)
def test_short_and_long_forms_belong_together(term, form):
    assert stem(form) in other_forms(stem(term))


def test_most_words_have_no_other_form():
    assert other_forms("canva") == []


def test_terms_that_stand_together_are_companions(corpus):
    assert "quimbi" in cooccurring_terms(corpus, "zorbel")
    assert not {"canva", "fill"} & set(cooccurring_terms(corpus, "zorbel"))


@pytest.mark.parametrize("term", ["unknown", "cfg", "def"])
def test_rare_and_unknown_terms_have_no_companions(corpus, term):
    assert "canva" not in cooccurring_terms(corpus, term)
    assert cooccurring_terms(corpus, "unknown") == []


def test_widening_uses_both(corpus):
    assert "cfg" in find_widening_terms(corpus, analyze("where is the configuration loaded"))
    assert "quimbi" in find_widening_terms(corpus, analyze("what does zorbel want"))
