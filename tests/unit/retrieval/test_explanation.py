"""Agreement of a query's explanation with the query."""

import pytest

from coderag.app import CodeRAG
from coderag.config.sections import SearchSettings
from coderag.retrieval.explanation import ExplainedSnippet
from tests.support.corpora import write_files

FILES = {
    "shop/money.py": 'def round_up(value):\n    """Round a value up to whole units."""\n    return int(value + 0.5)\n',
    "shop/cart.py": (
        "from shop.money import round_up\n\n\nclass Cart:\n"
        '    """Holds items and adds up what they cost."""\n\n    def total(self):\n        return round_up(sum(self.items))\n'
    ),
    "shop/paint.py": "def paint(canvas):\n    for pixel in canvas:\n        pixel.fill('red')\n",
}
QUERY = "how is a value rounded up"


@pytest.fixture(scope="module")
def rag(tmp_path_factory):
    root = write_files(tmp_path_factory.mktemp("shop"), FILES)
    opened = CodeRAG(root, ingestion={"workers": 0, "chunk": {"min_tokens": 0}})
    opened.index()
    return opened


@pytest.fixture(scope="module")
def explanation(rag):
    return rag.explain(QUERY)


def test_results_match_those_of_a_search(rag, explanation):
    hits = rag.search(QUERY)
    assert [piece.location for piece in explanation.results] == [hit.location for hit in hits]
    assert [piece.score for piece in explanation.results] == [pytest.approx(hit.score, abs=1e-3) for hit in hits]
    assert [piece.rank for piece in explanation.results] == list(range(1, len(hits) + 1))


def test_best_result_of_a_channel_has_rank_1(explanation):
    for piece in explanation.results:
        for channel, score in piece.channels.items():
            if channel != "lookup":
                assert (piece.ranks[channel] == 1) == (score == 1.0), (piece.location, channel)


def test_related_code_has_relation_and_hop(rag):
    explanation = rag.with_search(SearchSettings(top_k=1)).explain(QUERY)  # with more, all of it is among the results
    assert explanation.related
    assert all(piece.hop >= 1 and piece.relation and piece.related_to for piece in explanation.related)
    assert all((piece.hop, piece.relation) == (0, "") for piece in explanation.results)


def test_verdict_matches_that_of_the_search(rag, explanation):
    hits = rag.search(QUERY)
    assert (
        (explanation.evidence, explanation.confidence) == (hits.evidence, hits.confidence) == ("found", hits.confidence)
    )
    assert explanation.features["words_in_files"] == 1.0


def test_budget_outcomes_are_explained(rag):
    wide, narrow = rag.explain(QUERY), rag.explain(QUERY, token_budget=200)
    assert {piece.budget for piece in wide.results[:1]} == {"full"}
    assert narrow.tokens <= min(200, wide.tokens)
    assert narrow.token_budget == 200
    visible = rag.context(QUERY, token_budget=200)
    places = {(item.path, item.start_line) for section in visible.sections for item in section.items}
    for piece in narrow.results:
        if piece.budget in ("full", "elided", "signature", "line"):
            assert any(path == piece.path for path, _ in places)


def test_explained_results_are_limited_to_top_k(rag):
    assert len(rag.explain(QUERY, top_k=1).results) == 1


def test_trace_has_every_node_in_order(explanation):
    nodes = [entry["node"] for entry in explanation.trace]
    assert (nodes[0], nodes[-1]) == ("analyze", "budget")
    starts = [entry["start_ns"] for entry in explanation.trace]
    assert starts == sorted(starts)


def test_location_is_path_and_lines():
    assert ExplainedSnippet(1, "a.py", 3, 9, "f", "function", 0.5).location == "a.py:3-9"
