import numpy as np
import pytest

from coderag.question.analysis import analyze
from coderag.retrieval.channels import find_symbols, score_channels, score_symbols, subtract_background
from tests.support.corpora import make_corpus, row_named

FILES = {
    "a/passwords.py": "def hash_secret(text):\n    return digest(text)\n",
    "b/colours.py": "def paint(canvas):\n    canvas.fill('red')\n",
    "c/session.py": 'class Session:\n    """Check the password."""\n\n    def login(self):\n        return True\n',
}


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(FILES)


def score_by_name(corpus, query, vector=None, disabled=()):
    zeros = np.zeros(corpus.vectors.shape[1], np.float32)
    results = score_channels(corpus, analyze(query), zeros if vector is None else vector, disabled)
    return {channel.name: channel for channel in results}


def test_channels_score_all_chunks_or_all_files(corpus):
    for channel in score_by_name(corpus, "password").values():
        assert len(channel.values) == (corpus.n_chunks if channel.level == "chunk" else corpus.n_files)


@pytest.mark.parametrize("name", ["lexical", "dense", "names", "docs"])
def test_each_channel_can_be_disabled_by_name(corpus, name):
    everything = score_by_name(corpus, "password")
    assert name in everything
    assert score_by_name(corpus, "password", disabled=[name]).keys() == everything.keys() - {name}


def test_lexical_channel_matches_text_and_path(corpus):
    lexical = score_by_name(corpus, "canvas")["lexical"].values
    assert np.flatnonzero(lexical).tolist() == [row_named(corpus, "paint")]
    assert score_by_name(corpus, "colours")["lexical"].values[row_named(corpus, "paint")] > 0


def test_names_channel_matches_declared_names_only(corpus):
    names = score_by_name(corpus, "secret canvas")["names"].values
    assert np.flatnonzero(names).tolist() == [row_named(corpus, "hash_secret")]


def test_docs_channel_matches_documentation(corpus):
    docs = score_by_name(corpus, "check the password")["docs"].values
    assert np.argmax(docs) == corpus.paths.index("c/session.py")


def test_dense_channel_compares_chunks_with_the_question(corpus):
    row = row_named(corpus, "paint")
    results = score_by_name(corpus, "anything", corpus.vectors[row])
    assert results["dense"].values[row] == pytest.approx(1, abs=1e-5)


def test_unknown_words_score_zero(corpus):
    assert not score_by_name(corpus, "zebra")["lexical"].values.any()


def test_expanded_terms_are_searched(corpus):
    analysis = {**analyze("zebra"), "expanded_terms": ["canva"]}
    zeros = np.zeros(corpus.vectors.shape[1], np.float32)
    lexical = next(channel for channel in score_channels(corpus, analysis, zeros) if channel.name == "lexical")
    assert lexical.values[row_named(corpus, "paint")] > 0


def test_find_symbols_returns_declarations_best_first(corpus):
    results = find_symbols(corpus, analyze("`Session.login` and `hashSecret`"))
    assert [match.qualified_name for match in results] == ["Session.login", "hash_secret"]
    assert results[0].quality > results[1].quality


def test_one_letter_names_are_ignored(corpus):
    assert find_symbols(make_corpus({"a.py": "def f():\n    pass\n"}), analyze("what does `f` do")) == []


def test_chunk_gets_the_score_of_its_best_declaration(corpus):
    matches = find_symbols(corpus, analyze("`Session` `other.login`"))
    assert score_symbols(corpus, matches)[row_named(corpus, "Session")] == 1


def test_background_similarity_is_subtracted():
    cosines = np.array([0.2] * 40 + [0.3] * 40 + [0.6], np.float32)
    scores = subtract_background(cosines)
    assert scores[-1] > 0.2
    assert not scores[:40].any()
    assert scores[40] < 0.1 * scores[-1]


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_small_corpus_has_no_background(size):
    cosines = np.linspace(0.1, 0.5, size, dtype=np.float32)
    np.testing.assert_array_equal(subtract_background(cosines), cosines)


@pytest.mark.parametrize("name", ["hash_secrt", "hashSecert", "hash_sec"])
def test_undeclared_name_matches_similar_ones(corpus, name):
    exact, spelling = (find_symbols(corpus, analyze(query_analysis)) for query_analysis in ("hash_secret", name))
    assert [match.name for match in spelling] == [match.name for match in exact] == ["hash_secret"]
    assert spelling[0].quality < exact[0].quality


def test_only_single_name_questions_match_similar_names(corpus):
    assert not find_symbols(corpus, analyze("how does `hash_secrt` differ from the one of the standard library"))
