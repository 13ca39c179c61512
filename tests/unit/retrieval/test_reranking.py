from coderag.retrieval.reranking import apply_model
from tests.support.candidates import candidates
from tests.support.corpora import make_corpus

FILES = {f"{name}.py": f"def {name}():\n    return '{name}'\n" for name in ("alpha", "beta", "gamma")}


class ByWord:
    """A `Reranker` that scores texts by one word."""

    def __init__(self, word):
        self.word = word

    def rerank(self, query, texts):
        return [float(self.word in text) for text in texts]


def test_the_models_scores_order_the_results_and_are_kept_as_a_signal():
    corpus = make_corpus(FILES)
    results = candidates(corpus)
    ordered = apply_model(ByWord("gamma"), corpus, "q", results)
    assert [one["chunk_id"] for one in ordered] == [results[place]["chunk_id"] for place in (2, 0, 1)]
    assert [one["signals"]["reranker"] for one in ordered] == [1, 0, 0]
    assert [one["score"] for one in ordered] == [0.5] * 3


def test_results_are_left_as_they_were():
    corpus = make_corpus(FILES)
    results = candidates(corpus)
    apply_model(ByWord("gamma"), corpus, "q", results)
    assert results == candidates(corpus)


def test_equal_scores_keep_the_order():
    corpus = make_corpus(FILES)
    results = candidates(corpus)
    ordered = apply_model(ByWord("zebra"), corpus, "q", results)
    assert [one["chunk_id"] for one in ordered] == [one["chunk_id"] for one in results]
