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


def ranked(corpus, found, query=GENERAL, top_k=10, analysis=None, **settings):
    return rank_candidates(corpus, query, analysis or analyze(query), found, SearchSettings(**settings)).select_results(
        top_k
    )


def test_nothing_ranks_nothing(corpus):
    assert ranked(corpus, []) == []


def test_scores_fall(corpus):
    scores = [result["score"] for result in ranked(corpus, candidates(corpus))]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)


def test_no_more_than_asked_for(corpus):
    assert len(ranked(corpus, candidates(corpus), top_k=2)) == 2


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_no_file_has_more_results_than_the_limit(corpus, limit):
    paths = paths_of(corpus, ranked(corpus, candidates(corpus), top_k=20, max_per_file=limit))
    assert max(paths.count(path) for path in paths) == limit


def test_a_question_for_places_may_have_more_results_of_one_file_than_the_setting(corpus):
    paths = paths_of(corpus, ranked(corpus, candidates(corpus), "who calls nothing_known", top_k=20, max_per_file=3))
    assert paths.count("a.py") == 6


def test_each_further_result_of_a_file_counts_less(corpus):
    best, other = row_named(corpus, "alpha_a"), row_named(corpus, "gamma")
    found = [candidate(corpus, best, 0.6), candidate(corpus, best + 1, 0.6), candidate(corpus, other, 0.5)]
    assert names_of(corpus, ranked(corpus, found)) == ["alpha_a", "gamma", "alpha_b"]


def test_a_further_result_that_answers_by_itself_is_shown_before_other_files(corpus):
    best, other = row_named(corpus, "alpha_a"), row_named(corpus, "gamma")
    found = [candidate(corpus, best, 1.0), candidate(corpus, best + 1, 1.0), candidate(corpus, other, 0.2)]
    weak = [candidate(corpus, best, 1.0), candidate(corpus, best + 1, 0.1), candidate(corpus, other, 0.4)]
    assert names_of(corpus, ranked(corpus, found)) == ["alpha_a", "alpha_b", "gamma"]
    assert names_of(corpus, ranked(corpus, weak)) == ["alpha_a", "gamma", "alpha_b"]


def test_a_declaration_found_twice_is_one_result(corpus):
    row = row_named(corpus, "gamma")
    found = [candidate(corpus, row, symbol="gamma", lookup=1.0), candidate(corpus, row)]
    assert len(ranked(corpus, found)) == 1


def test_parts_of_a_long_declaration_are_one_result():
    lines = "\n".join(f"    value_{number} = compute(x, {number}, mode='strict')" for number in range(120))
    split = make_corpus({"a.py": f"def long(x):\n{lines}\n"})
    assert split.n_chunks > 1
    assert len(ranked(split, candidates(split))) == 1


def test_overloads_that_were_looked_up_are_all_results(corpus):
    row = row_named(corpus, "gamma")
    first = candidate(corpus, row, symbol="gamma", lookup=1.0)
    found = [first, {**first, "start_line": 2, "end_line": 2}, candidate(corpus, row)]
    assert sorted(one["start_line"] for one in ranked(corpus, found, "where is gamma defined")) == [1, 2]


@pytest.mark.parametrize("query", ["who calls alpha_a", "what extends alpha_a", "what tests alpha_a"])
def test_looked_up_answers_come_before_everything_that_is_only_alike(corpus, query):
    found = [candidate(corpus, row, 1.0, file_score=1.0, lexical=1.0) for row in corpus.get_chunk_rows(0)]
    found.append(candidate(corpus, row_named(corpus, "gamma"), 0.0, file_score=0.0, lookup=0.8))
    assert names_of(corpus, ranked(corpus, found, query))[0] == "gamma"


def test_an_unresolved_reference_does_not_come_first_for_being_looked_up(corpus):
    found = [candidate(corpus, row_named(corpus, "alpha_a"), 1.0, file_score=1.0)]
    found.append(candidate(corpus, row_named(corpus, "gamma"), 0.0, file_score=0.0, lookup=0.2))
    assert names_of(corpus, ranked(corpus, found, "who calls `something`"))[0] == "alpha_a"


def test_a_definition_comes_before_its_uses(corpus):
    found = [candidate(corpus, row_named(corpus, "alpha_a"), 1.0, file_score=1.0, lexical=1.0)]
    found.append(candidate(corpus, row_named(corpus, "gamma"), 0.5, lookup=1.0))
    assert names_of(corpus, ranked(corpus, found, "where is gamma defined"))[0] == "gamma"


def test_the_place_that_was_pointed_to_is_no_result(corpus):
    row = row_named(corpus, "gamma")
    analysis = {**analyze("code like c.py:1"), "similar_to": corpus.get_value("id", row)}
    assert "gamma" not in names_of(corpus, ranked(corpus, candidates(corpus), "code like c.py:1", 20, analysis))


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_candidates_does_not_matter(corpus, seed):
    found = [
        candidate(corpus, row, row % 3 / 3, file_score=corpus.chunk_files[row] / 3, lexical=row % 4 / 4)
        for row in range(corpus.n_chunks)
    ]
    shuffled = random.Random(seed).sample(found, len(found))
    assert ranked(corpus, shuffled) == ranked(corpus, found)


def test_a_looked_up_chunk_without_a_file_score_does_not_lower_its_file(corpus):
    found = [
        candidate(corpus, row_named(corpus, "alpha_a"), 0.0, file_score=0.9),
        candidate(corpus, row_named(corpus, "alpha_b"), 0.0, file_score=0.0, lookup=0.2),
        candidate(corpus, row_named(corpus, "gamma"), 0.0, file_score=0.6),
    ]
    assert paths_of(corpus, ranked(corpus, found))[0] == "a.py"


def test_a_result_says_what_each_signal_added_and_what_it_is(corpus):
    result = ranked(corpus, [candidate(corpus, row_named(corpus, "gamma"))], "where is gamma defined")[0]
    assert result["signals"]["definition"] > 0
    assert "folder_name" not in result["signals"]
    assert result["symbol"] == "gamma"


def test_a_context_reads_on_in_the_best_file_where_a_list_goes_to_the_next(corpus):
    best, other = row_named(corpus, "alpha_a"), row_named(corpus, "gamma")
    found = [candidate(corpus, best, 0.6), candidate(corpus, best + 1, 0.6), candidate(corpus, other, 0.4)]
    ranking = rank_candidates(corpus, GENERAL, analyze(GENERAL), found, SearchSettings())
    assert names_of(corpus, ranking.select_results(3)) == ["alpha_a", "gamma", "alpha_b"]
    assert names_of(corpus, ranking.select_for_context(3)) == ["alpha_a", "alpha_b", "gamma"]


def test_a_context_may_have_more_of_a_file_than_a_list(corpus):
    ranking = rank_candidates(corpus, GENERAL, analyze(GENERAL), candidates(corpus), SearchSettings(max_per_file=1))
    listed, read = (paths_of(corpus, chosen) for chosen in (ranking.select_results(20), ranking.select_for_context(20)))
    assert max(map(listed.count, listed)) == 1
    assert max(map(read.count, read)) == 4
