import random

import pytest

from coderag.config.sections import SearchSettings
from coderag.question.analysis import analyze
from coderag.retrieval.ranking.ranker import rank_candidates
from tests.support.candidates import candidate, candidates, names_of, paths_of
from tests.support.corpora import make_corpus, row_named

FILES = {
    "a.py": "\n\n".join(f"def alpha_{number}(x):\n    return x" for number in "abcdef"),
    "b.py": "\n\n".join(f"def beta_{number}(x):\n    return x" for number in "abcdef"),
    "c.py": "def gamma(x):\n    return x\n",
}
GENERAL = "some words"


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(FILES)


def ranked(corpus, results, query=GENERAL, top_k=10, analysis=None, **settings):
    chosen = SearchSettings(**settings)
    return rank_candidates(corpus, analysis or analyze(query), results, chosen).select_results(top_k)


def test_no_candidates_yield_no_results(corpus):
    assert ranked(corpus, []) == []


def test_scores_decrease(corpus):
    scores = [result["score"] for result in ranked(corpus, candidates(corpus))]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)


def test_results_are_limited_to_top_k(corpus):
    assert len(ranked(corpus, candidates(corpus), top_k=2)) == 2


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_results_per_file_are_limited_on_a_page(corpus, limit):
    paths = paths_of(corpus, ranked(corpus, candidates(corpus), top_k=10, max_per_file=limit))
    assert max(paths.count(path) for path in paths) == limit


def test_further_results_of_a_file_follow_after_the_page(corpus):
    page = ranked(corpus, candidates(corpus), top_k=5, max_per_file=1)
    everything = ranked(corpus, candidates(corpus), top_k=20, max_per_file=2)
    assert len(page) == 3
    assert len(everything) == 13
    assert paths_of(corpus, everything[:5]).count("a.py") == 2
    scores = [result["score"] for result in everything[5:]]
    assert scores == sorted(scores, reverse=True)


def test_results_of_a_single_file_have_no_limit(corpus):
    rows = corpus.get_chunk_rows(corpus.paths.index("a.py"))
    results = [candidate(corpus, row, 0.5) for row in rows]
    assert len(ranked(corpus, results, max_per_file=2)) == len(rows)


def test_results_that_the_limit_withholds_are_counted(corpus):
    ranking = rank_candidates(corpus, analyze(GENERAL), candidates(corpus), SearchSettings(max_per_file=4))
    assert ranking.count_withheld(ranking.select_results(10)) == {"a.py": 2, "b.py": 2}
    assert ranking.count_withheld(ranking.select_results(20)) == {}


def test_reference_question_may_exceed_the_per_file_limit(corpus):
    paths = paths_of(corpus, ranked(corpus, candidates(corpus), "who calls nothing_known", top_k=20, max_per_file=3))
    assert paths.count("a.py") == 6


def test_order_is_that_of_the_scores_whatever_the_file(corpus):
    best, other = row_named(corpus, "alpha_a"), row_named(corpus, "gamma")
    results = [candidate(corpus, other, 0.5), candidate(corpus, best + 1, 0.6), candidate(corpus, best, 0.7)]
    assert names_of(corpus, ranked(corpus, results)) == ["alpha_a", "alpha_b", "gamma"]


def test_further_resolved_answers_of_a_file_follow_equal_answers_of_other_files(corpus):
    best, other = row_named(corpus, "alpha_a"), row_named(corpus, "gamma")
    results = [candidate(corpus, row, lookup=0.8) for row in (best, best + 1, other)]
    assert names_of(corpus, ranked(corpus, results, "who calls `something`")) == ["alpha_a", "gamma", "alpha_b"]


def test_duplicate_declaration_is_one_result(corpus):
    row = row_named(corpus, "gamma")
    results = [candidate(corpus, row, symbol="gamma", lookup=1.0), candidate(corpus, row)]
    assert len(ranked(corpus, results)) == 1


def test_parts_of_a_long_declaration_are_one_result():
    lines = "\n".join(f"    value_{number} = compute(x, {number}, mode='strict')" for number in range(120))
    split = make_corpus({"a.py": f"def long(x):\n{lines}\n"})
    assert split.n_chunks > 1
    assert len(ranked(split, candidates(split))) == 1


def test_overloads_of_a_lookup_are_all_results(corpus):
    row = row_named(corpus, "gamma")
    first = candidate(corpus, row, symbol="gamma", lookup=1.0)
    results = [first, {**first, "start_line": 2, "end_line": 2}, candidate(corpus, row)]
    assert sorted(item["start_line"] for item in ranked(corpus, results, "where is gamma defined")) == [1, 2]


@pytest.mark.parametrize("query", ["who calls alpha_a", "what extends alpha_a", "what tests alpha_a"])
def test_resolved_answers_precede_similar_ones(corpus, query):
    results = [candidate(corpus, row, 1.0, lexical=1.0) for row in corpus.get_chunk_rows(0)]
    results.append(candidate(corpus, row_named(corpus, "gamma"), 0.0, lookup=0.8))
    assert names_of(corpus, ranked(corpus, results, query))[0] == "gamma"


def test_unresolved_reference_does_not_come_first(corpus):
    results = [candidate(corpus, row_named(corpus, "alpha_a"), 1.0)]
    results.append(candidate(corpus, row_named(corpus, "gamma"), 0.0, lookup=0.2))
    assert names_of(corpus, ranked(corpus, results, "who calls `something`"))[0] == "alpha_a"


def test_definition_precedes_its_uses(corpus):
    results = [candidate(corpus, row_named(corpus, "alpha_a"), 1.0, lexical=1.0)]
    results.append(candidate(corpus, row_named(corpus, "gamma"), 0.5, lookup=1.0))
    assert names_of(corpus, ranked(corpus, results, "where is gamma defined"))[0] == "gamma"


def test_referenced_chunk_is_not_a_result(corpus):
    row = row_named(corpus, "gamma")
    analysis = {**analyze("code like c.py:1"), "similar_to": corpus.get_value("id", row)}
    assert "gamma" not in names_of(corpus, ranked(corpus, candidates(corpus), "code like c.py:1", 20, analysis))


@pytest.mark.parametrize("seed", range(5))
def test_candidate_order_does_not_matter(corpus, seed):
    results = [candidate(corpus, row, row % 3 / 3, lexical=row % 4 / 4) for row in range(corpus.n_chunks)]
    shuffled = random.Random(seed).sample(results, len(results))
    assert ranked(corpus, shuffled) == ranked(corpus, results)


def test_result_keeps_its_contributions_and_gets_its_symbol(corpus):
    entry = {**candidate(corpus, row_named(corpus, "gamma")), "signals": {"definition": 3.0}}
    result = ranked(corpus, [entry], "where is gamma defined")[0]
    assert (result["signals"], result["symbol"]) == ({"definition": 3.0}, "gamma")


def test_text_of_a_literal_query_precedes_what_is_similar(corpus):
    results = [candidate(corpus, row_named(corpus, "alpha_a"), 1.0, lexical=1.0)]
    results.append(candidate(corpus, row_named(corpus, "gamma"), 0.1, literal=0.6))
    assert names_of(corpus, ranked(corpus, results, "x-request-id"))[0] == "gamma"
    assert names_of(corpus, ranked(corpus, results, GENERAL))[0] == "alpha_a"


def test_context_may_have_more_of_a_file_than_a_list(corpus):
    ranking = rank_candidates(corpus, analyze(GENERAL), candidates(corpus), SearchSettings(max_per_file=1))
    listed, read = (paths_of(corpus, chosen) for chosen in (ranking.select_results(10), ranking.select_for_context(20)))
    assert max(map(listed.count, listed)) == 1
    assert max(map(read.count, read)) == 3
