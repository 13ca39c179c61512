"""Each signal alone: of two otherwise equal files it ranks the right one first, unless it is disabled."""

import numpy as np
import pytest
from pydantic import ValidationError

from coderag.config.sections import SWITCHABLE_SIGNALS, SearchSettings
from coderag.question.analysis import analyze
from coderag.retrieval.channels import CHANNEL_WEIGHTS
from coderag.retrieval.ranking.ranker import rank_candidates
from coderag.retrieval.ranking.signals import NAME_FACTORS, SIGNALS, RankingQuery, compute_file_factors, score_files
from coderag.retrieval.report_retrieval import CHUNK_WEIGHTS, FILE_WEIGHTS
from tests.support.candidates import candidate, candidates, paths_of
from tests.support.corpora import make_corpus

SAME = "def work(x):\n    return x\n"

ALONE = {
    # name of the signal: question, file that is right without it, file that is right with it
    "definition": ("explain `rounding`", "a.py", SAME, "z.py", "def rounding(x):\n    return x\n"),
    "file_of_name": ("what does `io` do", "a.py", SAME, "io.py", SAME),
    "file_name": ("password rules", "a.py", SAME, "password_rules.py", SAME),
    "coverage": ("invoice printer", "a.py", SAME, "z.py", SAME.replace("x", "invoice").replace("work", "printer")),
    "length": ("anything", "a.py", SAME, "z.py", SAME.replace("    return", "    y = x\n    z = y\n    return")),
    "function": ("anything", "a.py", "class Work:\n    x = 1\n", "z.py", SAME),
    "folder_name": ("password rules", "a/other/x.py", SAME, "a/password/x.py", SAME),
    "file_size": ("anything", "a.py", SAME, "z.py", SAME.replace("    return", "    y = x\n    z = y\n    return")),
    "centrality": (
        "anything",
        "a.py",
        "from z import work\n\n\ndef idle(x):\n    return work(x)\n",
        "z.py",
        "def work(x):\n    return x\n\n\n",
    ),
    "role": ("anything", "test/a.py", SAME, "z/a.py", SAME),
    "barrel": ("anything", "a/__init__.py", SAME, "z/x.py", SAME),
    "declarations_only": ("anything", "a.d.ts", "function work(): number;\n", "z.ts", "function work(): string;\n"),
    "legacy": ("anything", "compat/x.py", SAME, "z/x.py", SAME),
}


def first(corpus, query, results, disabled=()):
    settings = SearchSettings(disabled_signals=disabled)
    return paths_of(corpus, rank_candidates(corpus, query, analyze(query), results, settings).select_results(10))[0]


@pytest.mark.parametrize("name", ALONE)
def test_signal_decides_between_similar_files_and_can_be_disabled(name):
    query, other, other_text, wanted, wanted_text = ALONE[name]
    corpus = make_corpus({other: other_text, wanted: wanted_text})
    other_signals = [signal for signal in ("coverage", "file_size", "length", "function") if signal != name]
    assert first(corpus, query, candidates(corpus), other_signals) == wanted
    assert first(corpus, query, candidates(corpus), [*other_signals, name]) == other


def test_file_name_counts_less_in_long_questions():
    corpus = make_corpus({"printer.py": SAME})
    question = "printer" + "".join(f" word{letter}" for letter in "abcdefghijklmnop")
    of_short, of_long = (
        score_files(corpus, RankingQuery.build(corpus, query, analyze(query), []), np.zeros(1, np.float32))[1][
            "file_name"
        ][0]
        for query in ("printer rules", question)
    )
    assert 0 < of_long < of_short


def test_coherence_prefers_files_with_several_best_lexical_chunks():
    functions = "\n\n".join(f"def work{number}(x):\n    return x" for number in "abc")
    corpus = make_corpus({"a.py": functions, "z.py": functions})
    results = [candidate(corpus, corpus.get_chunk_rows(0)[0], lexical=1.0)]
    results += [candidate(corpus, row, lexical=0.9) for row in corpus.get_chunk_rows(1)]
    assert first(corpus, "anything", results) == "z.py"
    assert first(corpus, "anything", results, ["coherence"]) == "a.py"


def test_every_signal_and_factor_is_covered():
    assert {signal.name for signal in SIGNALS} | NAME_FACTORS.keys() | {
        "role",
        "length",
        "function",
    } == ALONE.keys() | {"coherence"}


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


def factors(corpus, query, disabled=()):
    return dict(zip(corpus.paths, compute_file_factors(corpus, analyze(query), disabled).tolist(), strict=True))


def test_non_source_files_are_demoted(roles):
    results = factors(roles, "work")
    assert results.pop("src/work.py") == 1
    assert all(factor < 1 for factor in results.values())


def test_tests_are_demoted_less_in_questions_about_tests(roles):
    plain, about = factors(roles, "how does work run"), factors(roles, "how does the test fixture run")
    assert plain["tests/test_work.py"] < about["tests/test_work.py"] < 1


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("what tests work", "tests/test_work.py"),
        ("what do the docs say about work", "docs/work.md"),
        ("which ticket is about work", "docs/work.md"),
    ],
)
def test_requested_role_comes_first(roles, query, wanted):
    results = factors(roles, query)
    assert results[wanted] == 1
    assert all(factor < 0.5 for path, factor in results.items() if path != wanted)


def test_disabled_factors_demote_nothing(roles):
    assert set(factors(roles, "work", ["role", *NAME_FACTORS]).values()) == {1.0}


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: signal.name)
def test_signals_are_never_negative(roles, signal):
    question = RankingQuery.build(roles, "where is work", analyze("where is work"), [0, 1])
    values = signal.compute(roles, question)
    assert values.shape == (roles.n_files,)
    assert values.min() >= 0
    assert signal.name == "file_size" or values.max() <= 1 + 1e-6


def test_score_is_fused_plus_signals_times_factor(roles):
    question = RankingQuery.build(roles, "work", analyze("work"), [])
    fused = np.full(roles.n_files, 0.5, np.float32)
    total, shares = score_files(roles, question, fused)
    added = sum(values for name, values in shares.items() if name != "factor")
    np.testing.assert_allclose(total, (fused + added) * shares["factor"], rtol=1e-5)


def test_fused_scores_remain_without_signals(roles):
    everything = [*(signal.name for signal in SIGNALS), "role", *NAME_FACTORS]
    fused = np.linspace(0, 1, roles.n_files, dtype=np.float32)
    total, _ = score_files(roles, RankingQuery.build(roles, "work", analyze("work"), []), fused, everything)
    np.testing.assert_array_equal(total, fused)


def test_exactly_channels_signals_and_factors_can_be_disabled():
    of_reports = {*CHUNK_WEIGHTS, *FILE_WEIGHTS, "language"}
    of_questions = {
        *CHANNEL_WEIGHTS,
        *(signal.name for signal in SIGNALS),
        "length",
        "function",
        "role",
        *NAME_FACTORS,
        "data",
    }
    assert set(SWITCHABLE_SIGNALS) == of_questions | of_reports
    with pytest.raises(ValidationError, match="no signal 'lexcal' to switch off; there are: lexical, dense"):
        SearchSettings(disabled_signals=("lexcal",))
