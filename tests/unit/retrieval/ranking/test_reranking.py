import pytest

from coderag.models.protocols import RerankScores
from coderag.retrieval.ranking.reranking import rerank_results
from coderag.text.path_masking import MaskedPaths, PathMask
from tests.support.candidates import candidate
from tests.support.corpora import make_corpus

FILES = {f"{name}.py": f"def {name}():\n    return '{name}'\n" for name in ("alpha", "beta", "gamma")}


class ByWord:
    """A `Reranker` that scores texts by one word."""

    def __init__(self, word, *, candidates=20, remote=False, note=""):
        self.name = "fake/by-word"
        self.word, self.candidates, self.remote, self.note = word, candidates, remote, note
        self.asked = []

    def rerank(self, query, texts):
        self.asked.append((query, list(texts)))
        return (
            RerankScores(None, self.note) if self.note else RerankScores([float(self.word in text) for text in texts])
        )


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(FILES)


@pytest.fixture
def results(corpus):
    return [candidate(corpus, row, score=0.9 - row / 10) for row in range(corpus.n_chunks)]


def ids(results):
    return [result["chunk_id"] for result in results]


def test_model_scores_order_results_and_become_a_signal(corpus, results):
    ordered, details = rerank_results(ByWord("gamma"), corpus, "q", results)
    assert ids(ordered) == [ids(results)[place] for place in (2, 0, 1)]
    assert [result["signals"]["reranker"] for result in ordered] == [1, 0, 0]
    assert details == {"reranker": "fake/by-word", "reranked": 3}


def test_scores_still_decrease_after_reranking(corpus, results):
    ordered, _ = rerank_results(ByWord("gamma"), corpus, "q", results)
    assert [result["score"] for result in ordered] == [result["score"] for result in results]


def test_reranking_does_not_change_its_input(corpus, results):
    before = [dict(result) for result in results]
    rerank_results(ByWord("gamma"), corpus, "q", results)
    assert results == before


def test_equal_scores_keep_the_order(corpus, results):
    assert ids(rerank_results(ByWord("zebra"), corpus, "q", results)[0]) == ids(results)


def test_order_stands_without_model_scores_and_the_trace_has_the_reason(corpus, results):
    ordered, details = rerank_results(ByWord("gamma", note="5 ms were over"), corpus, "q", results)
    assert ordered == results
    assert details == {"reranker": "fake/by-word", "reranked": 0, "order_stands": "5 ms were over"}


def test_model_sees_only_the_first_candidates(corpus, results):
    model = ByWord("beta", candidates=2)
    ordered, _ = rerank_results(model, corpus, "q", results)
    assert len(model.asked[0][1]) == 2
    assert ids(ordered) == [ids(results)[place] for place in (1, 0, 2)]


def test_single_result_needs_no_model(corpus, results):
    model = ByWord("alpha")
    assert rerank_results(model, corpus, "q", results[:1])[0] == results[:1]
    assert model.asked == []


def test_model_reads_path_and_code(corpus, results):
    model = ByWord("alpha")
    rerank_results(model, corpus, "which?", results)
    query, texts = model.asked[0]
    assert query == "which?"
    assert texts[0] == "alpha.py\ndef alpha():\n    return 'alpha'"


def test_paths_are_masked_for_remote_models_only(corpus, results):
    paths = MaskedPaths(PathMask(b"key"), FILES)
    similar, far = ByWord("alpha"), ByWord("alpha", remote=True)
    for model in (similar, far):
        rerank_results(model, corpus, "what is in alpha.py", results, paths)
    assert "alpha.py" in similar.asked[0][0]
    query, texts = far.asked[0]
    assert "alpha.py" not in query
    assert not any(path in text for text in texts for path in FILES)
