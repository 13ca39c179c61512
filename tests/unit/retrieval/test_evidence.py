import pytest

from coderag.retrieval.analysis import analyze
from coderag.retrieval.evidence import NOT_FOUND_BELOW, WEAK_BELOW, coverage, judge
from tests.support.candidates import candidate
from tests.support.corpora import make_corpus, row_named

FILES = {
    "auth.py": 'def check(text):\n    """Compare the password with its hash."""\n    return compare(text)\n',
    "paint.py": "def paint(canvas):\n    canvas.fill('red')\n",
}


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(FILES)


@pytest.fixture(scope="module")
def checked(corpus):
    return candidate(corpus, row_named(corpus, "check"))


@pytest.mark.parametrize(
    ("query", "evidence"),
    [
        ("compare password hash", "found"),
        ("password zebra giraffe", "weak"),
        ("zebra giraffe elephant", "not_found"),
    ],
)
def test_evidence_is_the_share_of_the_questions_words_that_the_results_have(corpus, checked, query, evidence):
    assert judge(corpus, analyze(query), [checked]) == evidence


def test_no_results_are_no_evidence(corpus):
    assert judge(corpus, analyze("password"), []) == "not_found"


def test_what_was_looked_up_exactly_is_found_whatever_its_words(corpus, checked):
    exact = {**checked, "channels": {"lookup": 1.0}}
    assert judge(corpus, analyze("zebra giraffe elephant"), [exact]) == "found"


def test_an_unsure_look_up_proves_nothing(corpus, checked):
    unsure = {**checked, "channels": {"lookup": 0.8}}
    assert judge(corpus, analyze("zebra giraffe elephant"), [unsure]) == "not_found"


def test_coverage_is_all_or_nothing_at_its_ends(corpus, checked):
    assert coverage(corpus, ["password", "hash"], [checked]) == 1
    assert coverage(corpus, ["zebra"], [checked]) == 0
    assert coverage(corpus, [], [checked]) == 0


def test_a_rare_word_counts_more_than_a_common_one():
    files = {f"f{number}.py": f"def common_{number}():\n    pass\n" for number in range(9)}
    corpus = make_corpus({**files, "rare.py": "def rare():\n    pass\n"})
    first = candidate(corpus, row_named(corpus, "common_0"))
    assert coverage(corpus, ["common", "rare"], [first]) < 0.5


def test_a_word_may_be_anywhere_in_the_file_of_a_result():
    corpus = make_corpus({"a.py": "def one():\n    pass\n\n\ndef two():\n    zebra()\n"})
    assert coverage(corpus, ["zebra"], [candidate(corpus, row_named(corpus, "one"))]) == 1


def test_only_the_first_results_count():
    corpus = make_corpus({f"{letter}.py": f"def {letter * 4}():\n    pass\n" for letter in "abcdefg"})
    found = [candidate(corpus, row) for row in range(corpus.n_chunks)]
    assert coverage(corpus, ["gggg"], found) == 0


def test_weak_is_between_the_thresholds():
    assert 0 < NOT_FOUND_BELOW < WEAK_BELOW < 1
