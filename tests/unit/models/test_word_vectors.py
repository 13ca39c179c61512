import hashlib
import json
import warnings
from itertools import permutations

import numpy as np
import pytest
from scipy import sparse

from coderag.errors import ModelError
from coderag.models.word_vectors import ASSET, WordVectors
from coderag.tokens import TOKENIZER_VERSION, query_terms, text_terms

DELETE_USER = "def delete_user(self, user_id):\n    user = self.users.pop(user_id)\n    self.session.delete(user)\n"
PARSE_JSON = "def parse_json(text):\n    decoder = JSONDecoder()\n    return decoder.decode(text)\n"


@pytest.fixture(scope="module")
def vectors():
    return WordVectors.load()


@pytest.fixture
def tiny(tmp_path):
    """Two words of two dimensions: `left` = (2, 0), `right` = (0, 3)."""
    card = {"name": "tiny", "version": "1", "dimension": 2, "tokenizer_version": TOKENIZER_VERSION}
    np.save(tmp_path / "rows.npy", np.array([[2, 0], [0, 1]], dtype=np.int8))
    np.save(tmp_path / "scales.npy", np.array([1, 3], dtype=np.float32))
    (tmp_path / "terms.txt").write_text("left\nright\n", "utf-8")
    (tmp_path / "model.json").write_text(json.dumps(card), "utf-8")
    return tmp_path


def similarity(vectors, question, text):
    return float(vectors.embed_terms(query_terms(question)) @ vectors.embed_terms(text_terms(text)))


def test_the_shipped_files_are_small_and_the_ones_the_card_describes():
    card = json.loads((ASSET / "model.json").read_text("utf-8"))
    assert sum(path.stat().st_size for path in ASSET.iterdir()) < 20_000_000
    for name, digest in card["sha256"].items():
        assert hashlib.sha256((ASSET / name).read_bytes()).hexdigest() == digest


def test_a_loaded_table_describes_itself(vectors):
    assert vectors.name == "coderag-words-v0"
    assert vectors.version == vectors.card["version"]
    assert vectors.dimension == 256
    assert len(vectors) == vectors.card["n_terms"]
    assert vectors.card["encoder"]["licence"] == "Apache-2.0"


@pytest.mark.parametrize("word", ["user", "password", "=userid", "goroutin", "borrow", "namespac"])
def test_words_of_many_languages_are_known(vectors, word):
    assert word in vectors


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("remove account", DELETE_USER, PARSE_JSON),
        ("deserialize a document", PARSE_JSON, DELETE_USER),
        ("how are passwords hashed", "def encrypt_secret(salt, digest): ...", "def draw_circle(radius, color): ..."),
        ("retry a failed request", "def backoff(attempt, http): ...", "def tokenize(sentence, grammar): ..."),
        ("cache eviction", "class LRUStore: expire oldest entry", "class Button: click handler widget"),
        ("open a database connection", "sql pool cursor connect", "image pixel crop resize"),
    ],
)
def test_related_words_are_nearer_than_unrelated_ones(vectors, question, near, far):
    assert similarity(vectors, question, near) > similarity(vectors, question, far)


def test_a_row_carries_its_weight_and_an_unknown_term_is_zero(tiny):
    rows = WordVectors.load(tiny).term_rows(["right", "missing", "left", "right"])
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, [[0, 3], [0, 0], [2, 0], [0, 3]])


def test_counts_are_dampened_by_a_logarithm_and_vectors_have_length_one(tiny):
    loaded = WordVectors.load(tiny)
    counts = sparse.csr_matrix(np.array([[1, 0], [1, 3]], dtype=np.float32))
    embedded = loaded.embed_rows(counts[:, loaded.rows_of(["left", "right"])])
    raw = np.array([2 * np.log(2), 3 * np.log(4)])
    np.testing.assert_allclose(embedded, [[1, 0], raw / np.linalg.norm(raw)], rtol=1e-6)


def test_the_counts_given_are_left_as_they_are(tiny):
    loaded = WordVectors.load(tiny)
    counts = sparse.csr_matrix(np.array([[5, 2]], dtype=np.float32))
    loaded.embed_rows(counts[:, loaded.rows_of(["left", "right"])])
    np.testing.assert_array_equal(counts.toarray(), [[5, 2]])


def test_unknown_words_only_give_a_zero_vector_without_a_warning(vectors):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        single = vectors.embed_terms(["qqxzzyq"])
        batch = vectors.embed_term_lists([["qqxzzyq"], [], ["user"]])
    assert not single.any()
    assert not batch[:2].any()
    assert np.linalg.norm(batch[2]) == pytest.approx(1)


def test_no_words_give_a_zero_vector(vectors):
    assert vectors.embed_terms([]).tolist() == [0.0] * 256


def test_no_texts_give_no_vectors(vectors):
    assert vectors.embed_term_lists([]).shape == (0, 256)


def test_a_batch_gives_what_single_texts_give(vectors):
    texts = [text_terms(text) for text in (DELETE_USER, "", PARSE_JSON, "user user user session")]
    batch = vectors.embed_term_lists(texts)
    for row, terms in zip(batch, texts, strict=True):
        np.testing.assert_allclose(row, vectors.embed_terms(terms), atol=1e-6)


def test_the_order_of_words_does_not_matter_to_the_last_bit(vectors):
    embedded = {vectors.embed_terms(words).tobytes() for words in permutations(["delete", "user", "account", "user"])}
    assert len(embedded) == 1


def test_two_loads_give_the_same_vectors(vectors):
    terms = text_terms(DELETE_USER)
    assert vectors.embed_terms(terms).tobytes() == WordVectors.load().embed_terms(terms).tobytes()


def test_a_missing_file_is_reported_with_its_folder(tiny):
    (tiny / "rows.npy").unlink()
    with pytest.raises(ModelError, match=str(tiny)) as caught:
        WordVectors.load(tiny)
    assert caught.value.hint


def test_files_that_do_not_fit_together_are_refused(tiny):
    (tiny / "terms.txt").write_text("left\n", "utf-8")
    with pytest.raises(ModelError, match="do not fit"):
        WordVectors.load(tiny)


def test_vectors_for_another_tokenizer_are_refused(tiny):
    card = json.loads((tiny / "model.json").read_text("utf-8"))
    (tiny / "model.json").write_text(json.dumps({**card, "tokenizer_version": TOKENIZER_VERSION + 1}), "utf-8")
    with pytest.raises(ModelError, match="tokenizer version"):
        WordVectors.load(tiny)
