"""Proposals: each channel, the code graph and the best files put chunks before the ranker."""

import numpy as np
import pytest

from coderag.question.analysis import analyze
from coderag.retrieval.channels import Channel
from coderag.retrieval.proposals import build_candidates, propose_rows, select_top
from coderag.retrieval.ranking.declaration_ranker import RankedRows
from coderag.retrieval.ranking.features import QuestionScores
from tests.support.corpora import make_corpus, row_named

FILES = {
    "shop/cart.py": (
        "from shop.money import round_up\n\n\n"
        "def total(prices):\n    return round_up(sum(prices))\n\n\n"
        "def pay(prices):\n    return total(prices)\n"
    ),
    "shop/money.py": (
        "def round_up(amount):\n    return -(-amount // 1)\n\n\n"
        "def halve(amount):\n    return amount / 2\n\n\n"
        "def twice(amount):\n    return amount * 2\n"
    ),
    "shop/paint.py": "def paint(canvas):\n    canvas.fill('red')\n",
}


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(FILES)


def score(corpus, channels, question="zebra"):
    zeros = np.zeros(corpus.n_chunks, np.float32)
    vector = np.zeros(corpus.vectors.shape[1], np.float32)
    return QuestionScores(corpus, question, analyze(question), vector, channels, zeros, zeros)


def propose(corpus, channels, question="zebra", result_count=10):
    rows = propose_rows(score(corpus, channels, question), channels, result_count)
    assert len(set(rows)) == len(rows)
    return [corpus.get_value("qualified_name", row) for row in rows]


def channel(corpus, name, scored):
    level = "file" if name == "docs" else "chunk"
    values = np.zeros(corpus.n_files if level == "file" else corpus.n_chunks, np.float32)
    for place, value in scored.items():
        values[corpus.paths.index(place) if level == "file" else row_named(corpus, place)] = value
    return Channel(name, level, values)


@pytest.mark.parametrize("name", ["lexical", "dense", "names"])
def test_each_channel_proposes_its_best_chunks(corpus, name):
    assert propose(corpus, [channel(corpus, name, {"paint": 0.1})]) == ["paint"]
    assert propose(corpus, [channel(corpus, name, {"paint": 0.1, "halve": 0.9})])[:2] == ["halve", "paint"]


def test_no_channel_proposes_nothing(corpus):
    assert propose(corpus, []) == []


def test_chunk_with_the_words_of_the_question_is_proposed_without_a_channel(corpus):
    assert propose(corpus, [], "fill the canvas") == ["paint"]


@pytest.mark.parametrize(("seed", "neighbours"), [("total", {"pay", "round_up"}), ("round_up", {"total"})])
def test_callers_and_callees_of_the_best_chunks_are_proposed(corpus, seed, neighbours):
    rows = propose(corpus, [channel(corpus, "lexical", {seed: 1.0})])
    assert rows[0] == seed
    assert neighbours <= set(rows)


def test_best_chunks_of_a_documented_file_are_proposed(corpus):
    channels = [channel(corpus, "docs", {"shop/money.py": 1.0})]
    assert len(propose(corpus, channels)) == 2
    channels.append(channel(corpus, "dense", {"twice": 0.5}))
    assert {"twice", "round_up"} == set(propose(corpus, channels))


def test_chunks_of_a_file_named_in_the_question_are_proposed(corpus):
    analysis, zeros = {**analyze("money"), "terms": []}, np.zeros(corpus.n_chunks, np.float32)
    scores = QuestionScores(corpus, "money", analysis, np.zeros(corpus.vectors.shape[1], np.float32), [], zeros, zeros)
    rows = propose_rows(scores, [], 10)
    assert [corpus.get_value("qualified_name", row) for row in rows] == ["round_up", "halve"]


def test_more_is_proposed_where_more_results_are_wanted():
    files = {f"m{number}.py": f"def f{number}(x):\n    return x + {number}\n" for number in range(200)}
    many = make_corpus(files)
    lexical = Channel("lexical", "chunk", np.linspace(0.1, 1, many.n_chunks, dtype=np.float32))
    few, more = (len(propose(many, [lexical], result_count=count)) for count in (10, 30))
    assert 60 <= few < 180 <= more <= 200


@pytest.mark.parametrize(
    ("values", "limit", "expected"),
    [([0.1, 0.5, 0.3], 2, [1, 2]), ([0.5, 0.5, 0.5], 2, [0, 1]), ([0, -1, 0.2], 3, [2]), ([], 3, [])],
)
def test_select_top_returns_positive_values_stably(values, limit, expected):
    assert select_top(np.array(values, np.float32), limit) == expected


def test_candidates_are_sorted_and_have_their_scores_and_contributions(corpus):
    rows = np.array([row_named(corpus, name) for name in ("paint", "total", "pay")])
    ranked = RankedRows(np.array([0.2, 0.9, 0.2]), {"lexical": np.array([0.0, 3.0, 1.0], np.float32)})
    channels = [
        channel(corpus, "lexical", {"total": 4.0, "pay": 2.0, "paint": -1.0}),
        channel(corpus, "docs", {"shop/paint.py": 5.0}),
    ]
    candidates = build_candidates(corpus, rows, ranked, channels)
    names = [corpus.get_value("qualified_name", corpus.rows_by_id[candidate["chunk_id"]]) for candidate in candidates]
    assert names == ["total", "pay", "paint"]
    assert [candidate["score"] for candidate in candidates] == [0.9, 0.2, 0.2]
    assert [candidate["signals"] for candidate in candidates] == [{"lexical": 3.0}, {"lexical": 1.0}, {}]
    assert [candidate["channels"] for candidate in candidates] == [{"lexical": 1.0}, {"lexical": 0.5}, {"docs": 1.0}]
    assert (candidates[0]["start_line"], candidates[0]["symbol"]) == (4, "")


def test_only_the_best_and_required_candidates_are_built(corpus):
    rows = np.arange(corpus.n_chunks)
    ranked = RankedRows(np.linspace(0.9, 0.1, len(rows)), {})
    candidates = build_candidates(corpus, rows, ranked, [], 2, [int(rows[-1])])
    assert [corpus.rows_by_id[candidate["chunk_id"]] for candidate in candidates] == [0, 1, int(rows[-1])]
