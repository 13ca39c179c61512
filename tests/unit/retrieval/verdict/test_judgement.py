from pathlib import Path

import numpy as np
import pytest

from coderag.question.analysis import analyze
from coderag.retrieval.verdict.judgement import FEATURE_NAMES, Calibration, compute_features, judge, load_calibrations
from coderag.schema.chunks import FileRecord
from tests.support.candidates import candidate
from tests.support.corpora import make_context, make_corpus, row_named

FILES = {
    "auth.py": 'def check(text):\n    """Compare the password with its hash."""\n    return compare(text)\n',
    "paint.py": "def paint(canvas):\n    canvas.fill('red')\n",
    "cart.py": "def total(cart):\n    return sum(item.price for item in cart)\n",
}


@pytest.fixture(scope="module")
def context():
    return make_context(FILES)


@pytest.fixture(scope="module")
def checked(context):
    return candidate(context.corpus, row_named(context.corpus, "check"))


def judged(context, query, results):
    analysis = analyze(query)
    return judge(
        Path(context.root), context.corpus, analysis, results, context.embedder.embed_query(query, analysis["terms"])
    )


def test_matching_code_is_found(context, checked):
    judgement = judged(context, "compare the password with its hash", [checked])
    assert judgement["verdict"] == "found"
    assert judgement["confidence"] > 0.8
    assert judgement["features"]["words_in_results"] == 1.0
    assert judgement["not_indexed"] == []


def test_unrelated_question_is_not_found(context, checked):
    judgement = judged(context, "zebra giraffe elephant", [checked])
    assert judgement["verdict"] == "not_found"
    assert judgement["features"]["unknown_words"] == 1.0


def test_partly_matching_question_is_less_certain(context, checked):
    some = judged(context, "where does a giraffe compare its password", [checked])
    assert judged(context, "zebra giraffe", [checked])["confidence"] < some["confidence"]
    assert some["confidence"] < judged(context, "compare the password with its hash", [checked])["confidence"]


def test_no_results_are_not_found(context):
    judgement = judged(context, "password", [])
    assert (judgement["verdict"], judgement["confidence"]) == ("not_found", 0.0)


def test_exact_lookup_is_found_despite_its_words(context, checked):
    exact = {**checked, "channels": {"lookup": 1.0}}
    judgement = judged(context, "zebra giraffe elephant", [exact])
    assert (judgement["verdict"], judgement["confidence"]) == ("found", 1.0)


def test_unresolved_lookup_proves_nothing(context, checked):
    unsure = {**checked, "channels": {"lookup": 0.8}}
    assert judged(context, "zebra giraffe elephant", [unsure])["verdict"] == "not_found"


def test_skipped_file_makes_the_verdict_unknown():
    context = make_context(FILES)
    context.corpus.snapshot.read_files().append(
        FileRecord("safari/zebra.py", "skipped", reason="larger than 1,000,000 bytes")
    )
    results = [candidate(context.corpus, row_named(context.corpus, "check"))]
    judgement = judged(context, "how is the zebra of a safari drawn", results)
    assert judgement["verdict"] == "unknown"
    assert judgement["not_indexed"] == ["safari/zebra.py: larger than 1,000,000 bytes"]
    assert judged(context, "compare the password with its hash", results)["verdict"] == "found"


def test_likeness_counts_for_the_embedded_model_only(context, checked):
    features = dict.fromkeys(FEATURE_NAMES, 0.5)
    more = {**features, "likeness": 0.9}
    models = load_calibrations()
    assert models["embedded"].compute_probability(more) > models["embedded"].compute_probability(features)
    assert models["other"].compute_probability(more) == models["other"].compute_probability(features)


@pytest.mark.parametrize("model", load_calibrations().values(), ids=load_calibrations())
def test_shipped_weights_have_the_expected_signs(model):
    signs = {name: np.sign(weight) for name, weight in model.weights.items()}
    assert {name for name, sign in signs.items() if sign < 0} <= {"unknown_words"}
    assert 0 < model.not_found_below < model.weak_below < 1
    everything = {
        "words_in_files": 1.0,
        "words_in_results": 1.0,
        "likeness": 0.8,
        "unknown_words": 0.0,
        "smallness": 0.0,
    }
    assert model.classify(model.compute_probability(everything)) == "found"
    assert (
        model.classify(model.compute_probability({**dict.fromkeys(FEATURE_NAMES, 0.0), "unknown_words": 1.0}))
        == "not_found"
    )


def test_model_is_logistic_with_two_thresholds():
    model = Calibration(bias=-1.0, weights={"words_in_files": 2.0}, weak_below=0.6, not_found_below=0.3)
    assert model.compute_probability({"words_in_files": 0.5}) == pytest.approx(0.5)
    assert [model.classify(p) for p in (0.29, 0.3, 0.59, 0.6)] == ["not_found", "weak", "weak", "found"]


def compute(files, query, name):
    corpus = make_corpus(files)
    zero = np.zeros(corpus.vectors.shape[1], np.float32)
    return compute_features(corpus, analyze(query), [candidate(corpus, row_named(corpus, name))], zero)


def test_rare_word_counts_more_than_a_common_one():
    files = {f"f{number}.py": f"def common_{number}():\n    pass\n" for number in range(9)}
    features = compute({**files, "rare.py": "def rare():\n    pass\n"}, "common rare", "common_0")
    assert 0 < features["words_in_files"] < 0.5


def test_word_elsewhere_in_the_file_counts_for_the_file_only():
    features = compute({"a.py": "def one():\n    pass\n\n\ndef two():\n    zebra()\n"}, "zebra", "one")
    assert (features["words_in_files"], features["words_in_results"]) == (1.0, 0.0)


def test_only_the_first_results_count():
    corpus = make_corpus({f"{letter}.py": f"def {letter * 4}():\n    pass\n" for letter in "abcdefg"})
    matches = [candidate(corpus, row) for row in range(corpus.n_chunks)]
    zero = np.zeros(corpus.vectors.shape[1], np.float32)
    assert compute_features(corpus, analyze("gggg"), matches, zero)["words_in_files"] == 0


def test_features_without_results_are_zero():
    corpus = make_corpus(FILES)
    assert set(compute_features(corpus, analyze("x y"), [], np.zeros(1)).values()) == {0.0}


@pytest.mark.parametrize("place", ["auth.py:999", "nowhere.py:1", "what is at auth.py:999"])
def test_missing_location_is_not_found(context, checked, place):
    judgement = judged(context, place, [checked])
    assert (judgement["verdict"], judgement["confidence"]) == ("not_found", 0.0)


def test_misspelt_name_is_a_weak_verdict(context):
    painted = candidate(context.corpus, row_named(context.corpus, "paint"))
    assert judged(context, "pait_it", [painted])["verdict"] == "not_found"
    assert judged(context, "_piant", [painted])["verdict"] == "weak"


TRACE = (
    'Traceback (most recent call last):\n  File "/srv/{folder}/{first}", line 2, in total\n    go()\n'
    '  File "/srv/{folder}/{last}", line 3, in check\n    return compare(text)\nZebraError: giraffe\n'
)


def test_stack_trace_through_the_repository_is_found():
    placed = make_context({f"shop/{path}": text for path, text in FILES.items()})
    failed = candidate(placed.corpus, row_named(placed.corpus, "check"))
    judgement = judged(placed, TRACE.format(folder="shop", first="cart.py", last="auth.py"), [failed])
    assert (judgement["verdict"], judgement["confidence"]) == ("found", 1.0)


@pytest.mark.parametrize(("first", "last"), [("elsewhere.py", "other.py"), ("cart.py", "other.py")])
def test_stack_trace_of_another_program_is_not_found(first, last):
    placed = make_context({f"shop/{path}": text for path, text in FILES.items()})
    result = candidate(placed.corpus, row_named(placed.corpus, "total"))
    assert judged(placed, TRACE.format(folder="shop", first=first, last=last), [result])["confidence"] < 1.0


def test_stack_trace_is_not_found_without_its_code_in_the_results():
    placed = make_context({f"shop/{path}": text for path, text in FILES.items()})
    result = candidate(placed.corpus, row_named(placed.corpus, "paint"))
    assert judged(placed, TRACE.format(folder="shop", first="cart.py", last="auth.py"), [result])["confidence"] < 1.0
