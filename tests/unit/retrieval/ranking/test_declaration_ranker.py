"""The ranker of declarations: each feature alone, weights of kinds and roles, the file's share, and settings."""

import tomllib
from dataclasses import fields
from importlib import resources
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from coderag.config.sections import SWITCHABLE_SIGNALS, WEIGHTED_SIGNALS, SearchSettings
from coderag.question.analysis import analyze
from coderag.retrieval.proposals import build_candidates
from coderag.retrieval.ranking.declaration_ranker import OTHER_ROLE, Profile, RankingWeights, load_weights, rank_rows
from coderag.retrieval.ranking.features import DECLARATION_FEATURES, FILE_FEATURES, QuestionScores
from coderag.retrieval.ranking.file_factors import NAME_FACTORS
from coderag.schema.vocabulary import Kind, Role
from tests.support.corpora import make_corpus, row_named
from tests.support.scores import score_question

SAME = "def work(x):\n    return x\n"
LONGER = SAME.replace("    return", "    y = x\n    z = y\n    return")
INVOICE = 'def invoice(x):\n    """Print the invoice of a customer."""\n    return x\n'
CALLED = "from m.callers import work\n\n\ndef invoice(x):\n    return work(x)\n"
CALLER = "from m.invoice import invoice\n\n\ndef work(x):\n    return invoice(x)\n"

QUIET = "def rest(x):\n    return x\n"
TRACE = (
    "Shop stops\n\nIt stopped in the night.\n\nTraceback (most recent call last):\n"
    '  File "/srv/app/z.py", line 1, in {}\n    x\nKeyError: 3\n'
)

ALONE = {
    # feature: question, other files, path and text of the wanted declaration; both declare ``work`` unless named
    "lexical": ("invoice printer", {"a.py": SAME}, "z.py", SAME.replace("x", "invoice")),
    "dense": ("invoice printer", {"a.py": SAME}, "z.py", SAME.replace("x", "invoice")),
    "cosine": ("invoice printer", {"a.py": SAME}, "z.py", SAME.replace("x", "invoice")),
    "coverage": ("invoice printer", {"a.py": SAME}, "z.py", SAME.replace("x", "invoice")),
    "callers": (
        "invoice",
        {"a.py": SAME, "m/invoice.py": "from z import work\n\n\ndef invoice(x):\n    return work(x)\n"},
        "z.py",
        SAME,
    ),
    "callees": ("invoice", {"a.py": SAME, "m/invoice.py": INVOICE}, "z.py", CALLER),
    "definition": ("explain `work`", {"a.py": SAME.replace("work", "rest")}, "z.py", SAME),
    "literal": ('where is "no card given" raised', {"a.py": SAME}, "z.py", SAME.replace("x\n", '"no card given"\n')),
    "length": ("anything", {"a.py": SAME}, "z.py", LONGER),
    "broad_coverage": ("invoice printer", {"a.py": SAME}, "z.py", SAME.replace("x", "invoice")),
    "broad_length": ("anything", {"a.py": SAME}, "z.py", LONGER),
    "path_hints": ("anything", {"a/compat/x.py": SAME}, "z/x.py", SAME),
    "frames": (TRACE.format("work"), {"a.py": SAME}, "z.py", SAME),
    "frame_files": (TRACE.format("rest"), {"a.py": SAME}, "z.py", SAME + "\n\n" + QUIET),
    "mentioned_path": (TRACE.format("work") + "\nIt is in `m/z.py`.", {"a.py": SAME}, "m/z.py", SAME),
    "kind": ("anything", {"a.py": "work = 1\n"}, "z.py", SAME),
    "role": ("anything", {"a/tests/test_x.py": SAME}, "z/x.py", SAME),
    "file_lexical": ("invoice", {"a.py": SAME}, "z.py", SAME + "\n\n" + INVOICE),
    "file_dense": ("invoice", {"a.py": SAME}, "z.py", SAME + "\n\n" + INVOICE),
    "path": ("password rules", {"a.py": SAME}, "password_rules.py", SAME),
    "file_name": ("password rules", {"a.py": SAME}, "password_rules.py", SAME),
    "file_of_name": ("what does `io` do", {"a.py": SAME}, "io.py", SAME),
    "file_size": ("anything", {"a.py": SAME}, "z.py", SAME + "\n\n" + INVOICE),
}


def rank(corpus, query, rows, disabled=(), factors=None):
    scores, _ = score_question(corpus, query)
    return rank_rows(scores, np.asarray(rows, np.int64), disabled, factors or {})


def rank_alone(name, enabled=(), factors=None):
    """Return the scores of the other and of the wanted declaration, by one feature, and its shares."""
    query, files, path, text = ALONE[name]
    corpus = make_corpus({**files, path: text})
    other = next(row for row, place in enumerate(corpus.get_column("path")) if place == next(iter(files)))
    ranked = rank(
        corpus,
        query,
        [other, row_named(corpus, "work", path)],
        [feature for feature in WEIGHTED_SIGNALS if feature not in (name, *enabled)],
        factors,
    )
    return ranked.scores, ranked.shares


REPORT_FEATURES = {"frames", "frame_files", "mentioned_path"}

BROAD = {"broad_coverage": "coverage", "broad_length": "length"}
"""Features that weigh another one differently in broad questions, and that other one."""


@pytest.mark.parametrize("name", [name for name in WEIGHTED_SIGNALS if name not in BROAD])
def test_each_feature_alone_prefers_the_right_declaration(name):
    scores, shares = rank_alone(name)
    assert set(shares) == {name}
    assert scores[1] > scores[0]


@pytest.mark.parametrize(("name", "feature"), BROAD.items())
def test_broad_question_weighs_a_feature_differently_and_never_the_wrong_way(name, feature):
    scores, shares = rank_alone(name, [feature])
    assert set(shares) == {name, feature}
    assert shares[name][1] != 0
    assert scores[1] > scores[0]


def test_narrow_question_has_no_features_of_broad_ones():
    corpus = make_corpus({"a.py": SAME, "z.py": LONGER})
    words = " ".join(f"word{letter}" for letter in "abcdefghijklmnop")
    shares = rank(corpus, f"work {words}", range(2)).shares
    assert not any(shares[name].any() for name in BROAD)


@pytest.mark.parametrize("name", WEIGHTED_SIGNALS)
def test_factor_of_a_setting_multiplies_the_share_of_its_feature(name):
    _, shares = rank_alone(name)
    _, doubled = rank_alone(name, factors={name: 2.0})
    np.testing.assert_allclose(doubled[name], 2 * shares[name], rtol=1e-5)


@pytest.mark.parametrize("name", WEIGHTED_SIGNALS)
def test_switched_off_feature_decides_nothing(name):
    query, files, path, text = ALONE[name]
    corpus = make_corpus({**files, path: text})
    ranked = rank(corpus, query, range(corpus.n_chunks), [name])
    assert name not in ranked.shares
    absent = FILE_FEATURES.keys() if name in REPORT_FEATURES else REPORT_FEATURES
    assert set(ranked.shares) == set(WEIGHTED_SIGNALS) - absent - {name}


@pytest.mark.parametrize(
    ("factor", "files"),
    [
        ("barrel", {"a/__init__.py": SAME, "z/x.py": SAME}),
        ("declarations_only", {"a.d.ts": "function work(): number;\n", "z.ts": "function work(): string;\n"}),
        ("legacy", {"a/compat/x.py": SAME, "z/x.py": SAME}),
        ("data", {"a/x.dat": "work\n", "z/x.py": SAME}),
    ],
)
def test_each_factor_of_files_lowers_its_declarations_and_can_be_switched_off(factor, files):
    corpus = make_corpus(files)
    everything_else = [name for name in WEIGHTED_SIGNALS if name != "path_hints"]
    lowered, neutral = (
        rank_rows(score_question(corpus, "anything", disabled)[0], np.arange(2), everything_else).scores
        for disabled in ((), (factor,))
    )
    assert lowered[0] < lowered[1]
    assert neutral[0] == neutral[1]


def test_every_factor_of_files_can_be_switched_off():
    assert {*NAME_FACTORS, "data", "hints"} <= set(SWITCHABLE_SIGNALS)


# Weights are data


@pytest.mark.parametrize(("profile", "absent"), [("question", REPORT_FEATURES), ("report", set())])
def test_weights_name_the_features_of_the_code(profile, absent):
    weights = load_weights(profile)
    assert weights.declaration.keys() == DECLARATION_FEATURES.keys() - absent
    assert weights.file.keys() == FILE_FEATURES.keys()
    assert weights.kinds.keys() <= {*get_args(Kind)}
    assert weights.roles.keys() == {*get_args(Role), OTHER_ROLE} - {"source"}
    assert weights.scale > 0


def test_weights_file_has_no_table_that_is_not_read():
    text = (resources.files("coderag.retrieval.ranking") / "weights.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    names = {field.name for field in fields(RankingWeights)} - {"scale", "bias"} | {"probability"}
    assert tables.keys() == {*get_args(Profile)}
    assert tables["question"].keys() == names
    assert tables["report"].keys() <= names


def test_report_has_the_weights_of_a_question_and_those_of_its_own_evidence():
    question, report = load_weights("question"), load_weights("report")
    assert {name: report.declaration[name] for name in question.declaration} == question.declaration
    assert (report.file, report.kinds, report.roles) == (question.file, question.kinds, question.roles)


def test_settings_name_the_features_of_the_code():
    features = {*DECLARATION_FEATURES, *FILE_FEATURES, "kind", "role"}
    assert set(WEIGHTED_SIGNALS) == features
    assert set(SWITCHABLE_SIGNALS) == features | {"names", "docs"} | {*NAME_FACTORS, "data", "hints", "language"}


def test_names_that_are_no_feature_are_refused():
    with pytest.raises(ValidationError, match="no signal 'lexcal' to switch off; there are: lexical, dense"):
        SearchSettings(disabled_signals=("lexcal",))
    with pytest.raises(ValidationError, match="'coherence' has no weight; these have one: lexical, dense"):
        SearchSettings(weights={"coherence": 2})
    with pytest.raises(ValidationError):
        SearchSettings(weights={"lexical": -1})


# Roles

ROLES = {
    "src/work.py": SAME,
    "tests/test_work.py": SAME,
    "examples/work.py": SAME,
    "docs/work.md": "# Work\n\nHow to work.\n",
    "vendor/work.py": SAME,
    "generated/work.py": SAME,
    "work.yaml": "work: 1\n",
}


@pytest.fixture(scope="module")
def roles():
    return make_corpus(ROLES)


def role_shares(corpus, query):
    shares = rank(corpus, query, range(corpus.n_chunks)).shares["role"].tolist()
    return dict(zip(corpus.get_column("path"), shares, strict=True))


def test_files_that_are_not_source_are_lowered(roles):
    shares = role_shares(roles, "work")
    assert shares.pop("src/work.py") == 0
    assert len(shares) == len(ROLES) - 1
    assert all(share < 0 for share in shares.values())


def test_tests_are_lowered_less_in_questions_about_tests(roles):
    plain, about = role_shares(roles, "how does work run"), role_shares(roles, "how does the test fixture run")
    assert plain["tests/test_work.py"] < about["tests/test_work.py"] < 0


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("what tests work", "tests/test_work.py"),
        ("what do the docs say about work", "docs/work.md"),
        ("which ticket is about work", "docs/work.md"),
    ],
)
def test_requested_role_is_not_lowered_and_all_others_are(roles, query, wanted):
    shares = role_shares(roles, query)
    assert shares.pop(wanted) == 0
    assert all(share < 0 for share in shares.values())


# Breadth, and the share of a file


def score_terms(terms):
    corpus = make_corpus({"a.py": SAME})
    zeros = np.zeros(corpus.n_chunks, np.float32)
    analysis = {**analyze("anything"), "terms": terms}
    return QuestionScores(corpus, "anything", analysis, np.zeros(256, np.float32), [], zeros, zeros)


@pytest.mark.parametrize(("count", "breadth"), [(0, 1), (1, 1), (6, 1), (10, 0.5), (14, 0), (20, 0)])
def test_breadth_falls_with_the_number_of_terms(count, breadth):
    assert score_terms([f"term{number}" for number in range(count)]).breadth == pytest.approx(breadth)


def test_breadth_counts_each_term_once_and_no_compound():
    terms = [f"term{number}" for number in range(6)]
    assert score_terms([*terms, *terms, "=term1term2", "=term3term4"]).breadth == 1


def test_file_counts_less_the_longer_the_question():
    corpus = make_corpus({"printer.py": SAME, "z.py": SAME})
    words = " ".join(f"word{letter}" for letter in "abcdefghijklmnop")
    short, middle, long = (
        rank(corpus, f"printer {words[:length]}", [0]).shares.get("file_name", [0])[0] for length in (0, 48, len(words))
    )
    assert short > middle > long == 0


def test_declaration_counts_in_full_however_long_the_question():
    corpus = make_corpus({"a.py": SAME, "z.py": SAME})
    words = " ".join(f"word{letter}" for letter in "abcdefghijklmnop")
    short, long = (rank(corpus, query, [0]).shares["length"][0] for query in ("work", f"work {words}"))
    assert short == long > 0


def test_further_declarations_of_a_file_have_less_and_less_of_its_evidence():
    corpus = make_corpus(
        {
            "a.py": f"{SAME}\n\n{SAME.replace('work', 'rest')}\n\n{INVOICE}{SAME[14:] * 3}",
            "z.py": SAME,
        }
    )
    names = corpus.get_column("qualified_name")
    assert names == ["work", "rest", "invoice", "work"]
    disabled = [name for name in WEIGHTED_SIGNALS if name not in ("length", "file_size")]
    shares = rank(corpus, "anything", range(4), disabled).shares["file_size"]
    np.testing.assert_allclose(shares[:3] / shares[2], [0.3, 0.09, 1.0], rtol=1e-5)  # the longest is the best
    alone = rank(corpus, "anything", [3], disabled).shares["file_size"]
    assert shares[3] == alone[0], "files do not count with one another"


# Scores


@pytest.fixture(scope="module")
def shop():
    files = {"src/a.py": INVOICE + "\n\n" + SAME, "src/z.py": LONGER, "m/callers.py": SAME, "m/invoice.py": CALLED}
    return make_corpus({**files, "docs/invoice.md": "# Invoice\n\nPrint it.\n", "tests/test_a.py": SAME})


def test_score_is_the_probability_of_the_sum(shop):
    ranked = rank(shop, "print the invoice", range(shop.n_chunks))
    weights = load_weights()
    logits = weights.scale * np.sum(list(ranked.shares.values()), axis=0) + weights.bias
    np.testing.assert_allclose(ranked.scores, 1 / (1 + np.exp(-logits)), rtol=1e-5)


QUERIES = st.sampled_from(["print the invoice", "`invoice`", "what tests work", "who calls work", "work in docs"])


@given(
    QUERIES,
    st.dictionaries(st.sampled_from(WEIGHTED_SIGNALS), st.floats(0, 10)),
    st.sets(st.sampled_from(WEIGHTED_SIGNALS)),
)
def test_scores_are_probabilities_for_all_settings(shop, query, factors, disabled):
    scores = rank(shop, query, range(shop.n_chunks), sorted(disabled), factors).scores
    assert scores.shape == (shop.n_chunks,)
    assert ((scores >= 0) & (scores <= 1)).all()


@given(QUERIES, st.data())
def test_order_does_not_depend_on_that_of_the_candidates(shop, query, data):
    scores, rows = score_question(shop, query)
    shuffled = np.asarray(data.draw(st.permutations(rows.tolist())), np.int64)
    first, second = (build_candidates(shop, order, rank_rows(scores, order), ()) for order in (rows, shuffled))
    assert [candidate["chunk_id"] for candidate in first] == [candidate["chunk_id"] for candidate in second]
    for one, other in zip(first, second, strict=True):
        assert one["score"] == pytest.approx(other["score"], rel=1e-5)


def test_largest_factors_neither_overflow_nor_make_good_candidates_alike():
    corpus = make_corpus({"a.py": SAME, "examples/compat/x.dat": "work\n"})
    only = ("role", "path_hints", "kind")
    disabled = [name for name in WEIGHTED_SIGNALS if name not in only]
    scores = rank(corpus, "in the tests: anything", range(2), disabled, dict.fromkeys(only, 10.0)).scores
    assert 0 < scores[1] < 1e-38 < scores[0] <= 1, "smaller than a float32 can be"


def test_no_candidates_have_no_scores(shop):
    assert rank(shop, "print the invoice", []).scores.shape == (0,)


def test_everything_switched_off_leaves_all_alike(shop):
    assert len(set(rank(shop, "print the invoice", range(shop.n_chunks), WEIGHTED_SIGNALS).scores.tolist())) == 1
