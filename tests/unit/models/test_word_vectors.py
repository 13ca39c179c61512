import hashlib
import json
import random
import warnings
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from coderag.errors import ModelError
from coderag.models.word_vectors import DEFAULT_FOLDER, CountedField, WordVectors, to_unit_vectors
from coderag.text.tokenizer import TOKENIZER_VERSION, tokenize_query, tokenize_text

BOTH = np.array([0, 1])
DELETE_USER = "def delete_user(self, user_id):\n    user = self.users.pop(user_id)\n    self.session.delete(user)\n"
PLATFORM_DIGEST = "de1af5fc610718156ebea80ba5ed0fb1a58b9fe61230f69afc68acf29edd9100"
PARSE_JSON = "def parse_json(text):\n    decoder = JSONDecoder()\n    return decoder.decode(text)\n"


@pytest.fixture(scope="module")
def vectors():
    return WordVectors.load()


@pytest.fixture
def tiny(tmp_path):
    """Two words of two dimensions: in code `left` = (2, 0), `right` = (0, 3); in questions `right` is (0, 1)."""
    card = {
        "name": "tiny",
        "version": "1",
        "dimension": 2,
        "tokenizer_version": TOKENIZER_VERSION,
        "field_weights": {"body": 1.0, "names": 2.0, "path": 3.0},
        "context_share": 0.5,
    }
    np.save(tmp_path / "rows.npy", np.array([[2, 0], [0, 1]], dtype=np.int8))
    np.save(tmp_path / "weights.npy", np.array([[20_000, 60_000], [20_000, 20_000]], dtype=np.uint16))
    (tmp_path / "terms.txt").write_text("left\nright\n", "utf-8")
    (tmp_path / "model.json").write_text(json.dumps(card), "utf-8")
    return tmp_path


def similarity(vectors, question, text):
    return float(vectors.embed_terms(tokenize_query(question)) @ vectors.embed_terms(tokenize_text(text), "code"))


def test_packaged_files_are_small_and_match_the_card():
    card = json.loads((DEFAULT_FOLDER / "model.json").read_text("utf-8"))
    assert sum(path.stat().st_size for path in DEFAULT_FOLDER.iterdir()) <= 16_000_000
    for name, digest in card["sha256"].items():
        assert hashlib.sha256((DEFAULT_FOLDER / name).read_bytes()).hexdigest() == digest


def test_loaded_table_describes_itself(vectors):
    assert vectors.name == "coderag-words"
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
def test_related_words_are_nearer_than_unrelated_words(vectors, question, near, far):
    assert similarity(vectors, question, near) > similarity(vectors, question, far)


def field(*counted, weight=64, n_rows=2):
    """A field of texts given as lists of (row, count), whose terms are numbered as in the table."""
    counts = np.zeros((len(counted), n_rows), np.float32)
    for text, rows in enumerate(counted):
        for row, count in rows:
            counts[text, row] = count
    return CountedField(sparse.csr_matrix(counts), weight)


def chunks_of_files(*file_of):
    """Which chunks, given by the file of each, are of which file."""
    n_chunks, n_files = len(file_of), max(file_of) + 1
    return sparse.csc_matrix((np.ones(n_chunks, np.float32), file_of, np.arange(n_chunks + 1)), (n_files, n_chunks))


def test_terms_are_looked_up_by_row_and_unknown_ones_have_none(tiny):
    assert WordVectors.load(tiny).find_rows(["right", "missing", "left", "right"]).tolist() == [1, -1, 0, 1]


def test_counts_are_dampened_by_a_logarithm_and_vectors_have_length_one(tiny):
    embedded = WordVectors.load(tiny).embed([field([(0, 1)], [(0, 1), (1, 3)])], BOTH)
    raw = np.array([2 * np.log(2), 3 * np.log(4)])
    np.testing.assert_allclose(embedded, [[1, 0], raw / np.linalg.norm(raw)], atol=2e-3)


def test_terms_have_different_weights_in_queries_and_code(tiny):
    loaded = WordVectors.load(tiny)
    np.testing.assert_allclose(loaded.embed_terms(["left", "right"], "question"), [2 / 5**0.5, 1 / 5**0.5], atol=1e-3)
    np.testing.assert_allclose(loaded.embed_terms(["left", "right"], "code"), [2 / 13**0.5, 3 / 13**0.5], atol=1e-3)


def test_field_that_weighs_more_turns_the_vector_towards_its_terms(tiny):
    loaded = WordVectors.load(tiny)
    embedded = loaded.embed([field([(0, 1)]), field([(1, 1)], weight=192)], BOTH)
    np.testing.assert_allclose(embedded, [[2 / 85**0.5, 9 / 85**0.5]], atol=1e-3)


def test_field_with_fewer_columns_gives_the_same_vector(tiny):
    loaded = WordVectors.load(tiny)
    short, full, names = field([(0, 1)], n_rows=1), field([(0, 1)]), field([(1, 1)])
    np.testing.assert_array_equal(loaded.embed([short, names], BOTH), loaded.embed([full, names], BOTH))


def test_column_whose_term_is_unknown_counts_nothing(tiny):
    counts = sparse.csr_matrix(np.array([[5, 1]], np.float32))
    assert WordVectors.load(tiny).embed([CountedField(counts, 64)], np.array([-1, 0])).tolist() == [[1, 0]]


def test_chunk_has_a_share_of_its_file_and_a_file_is_the_sum_of_its_chunks(tiny):
    body = field([(0, 1)], [(0, 1)], [(1, 1)])
    chunks, files, _ = WordVectors.load(tiny).embed_chunks([body], field([], []), BOTH, chunks_of_files(0, 1, 0))
    half = 1 / 2**0.5
    np.testing.assert_allclose(files, [[half, half], [1, 0]], atol=1e-4)
    mixed = np.array([1 + half / 2, half / 2])
    np.testing.assert_allclose(chunks[0], mixed / np.linalg.norm(mixed), atol=1e-4)
    np.testing.assert_allclose(chunks[1], [1, 0], atol=1e-4)


def test_path_of_a_file_has_a_vector_and_counts_in_each_of_its_chunks(tiny):
    loaded = WordVectors.load(tiny)
    body, paths = field([(0, 1)], [(0, 1)], [(0, 1)]), field([(1, 1)], [])
    chunks, _, places = loaded.embed_chunks([body], paths, BOTH, chunks_of_files(0, 0, 1))
    np.testing.assert_array_equal(places, loaded.embed([paths], BOTH))
    np.testing.assert_allclose(chunks, [[2 / 13**0.5, 3 / 13**0.5]] * 2 + [[1, 0]], atol=1e-3)


def test_chunk_without_known_words_gets_no_share_of_its_file(tiny):
    chunks, _, _ = WordVectors.load(tiny).embed_chunks([field([(0, 1)], [])], field([]), BOTH, chunks_of_files(0, 0))
    assert chunks.tolist() == [[1, 0], [0, 0]]


def test_vectors_are_the_same_to_the_last_bit_on_every_platform():
    """The digest was made on x86-64; whole numbers, one root and one division give it everywhere."""
    rng = random.Random(1)
    rows = np.array([[rng.randrange(-127, 128) for _ in range(64)] for _ in range(50)], np.int8)
    weights = np.array([[rng.randrange(1, 65_536) for _ in range(50)] for _ in range(2)], np.uint16)
    card = {"name": "n", "version": "1", "field_weights": {"body": 1, "names": 1.3, "path": 3}, "context_share": 0.3}
    table = WordVectors([f"w{number}" for number in range(50)], rows, weights, card)
    texts = field(*([(rng.randrange(50), rng.randrange(1, 9000)) for _ in range(40)] for _ in range(30)), n_rows=50)
    paths = field(*([(rng.randrange(50), 1), (rng.randrange(50), 2)] for _ in range(8)), weight=192, n_rows=50)
    chunks, files, _ = table.embed_chunks([texts], paths, np.arange(50), chunks_of_files(*np.arange(30) // 4))
    digest = hashlib.sha256(chunks.astype("<f4").tobytes() + files.astype("<f4").tobytes()).hexdigest()
    assert digest == PLATFORM_DIGEST


def test_dampened_counts_round_equally_on_every_platform():
    scaled = np.log1p(np.arange(1, 4097)) * 256
    assert np.abs(scaled % 1 - 0.5).min() > 1e-6


@given(
    sums=arrays(np.int64, st.tuples(st.integers(1, 4), st.just(5)), elements=st.integers(-(2**50), 2**50)),
)
def test_every_vector_has_length_one_or_is_zero_and_keeps_its_direction(sums):
    vectors = to_unit_vectors(sums.astype(np.float64))
    for vector, given_row in zip(vectors, sums.astype(np.float64), strict=True):
        length = np.linalg.norm(given_row)
        assert np.linalg.norm(vector) == pytest.approx(1 if length else 0)
        if length:
            np.testing.assert_allclose(vector, given_row / length, atol=1e-5)


def test_long_text_does_not_overflow(vectors):
    terms = [term for term in ("user", "password", "pars", "json") for _ in range(30_000)]
    np.testing.assert_allclose(np.linalg.norm(vectors.embed_terms(terms, "code")), 1, atol=1e-6)


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


def test_batch_gives_what_single_texts_give_to_the_last_bit(vectors):
    texts = [tokenize_text(text) for text in (DELETE_USER, "", PARSE_JSON, "user user user session")]
    batch = vectors.embed_term_lists(texts)
    for row, terms in zip(batch, texts, strict=True):
        np.testing.assert_array_equal(row, vectors.embed_terms(terms, "code"))


def test_vector_is_bit_identical_in_a_float64_batch(vectors):
    everything = (DEFAULT_FOLDER / "terms.txt").read_text("utf-8").split()[:3000]
    texts = [tokenize_text(DELETE_USER), tokenize_text(PARSE_JSON), everything * 50]
    batch = vectors.embed_term_lists(texts)
    for row, terms in zip(batch, texts, strict=True):
        np.testing.assert_array_equal(row, vectors.embed_term_lists([terms])[0])


def test_order_of_words_does_not_matter_to_the_last_bit(vectors):
    embedded = {vectors.embed_terms(words).tobytes() for words in permutations(["delete", "user", "account", "user"])}
    assert len(embedded) == 1


def test_two_loads_give_the_same_vectors(vectors):
    terms = tokenize_text(DELETE_USER)
    assert vectors.embed_terms(terms).tobytes() == WordVectors.load().embed_terms(terms).tobytes()


def test_missing_file_is_reported_with_its_folder(tiny):
    (tiny / "rows.npy").unlink()
    with pytest.raises(ModelError, match=str(tiny)) as caught:
        WordVectors.load(tiny)
    assert caught.value.hint


def test_inconsistent_files_are_rejected(tiny):
    (tiny / "terms.txt").write_text("left\n", "utf-8")
    with pytest.raises(ModelError, match="do not fit"):
        WordVectors.load(tiny)


def test_vectors_for_another_tokenizer_are_rejected(tiny):
    card = json.loads((tiny / "model.json").read_text("utf-8"))
    (tiny / "model.json").write_text(json.dumps({**card, "tokenizer_version": TOKENIZER_VERSION + 1}), "utf-8")
    with pytest.raises(ModelError, match="tokenizer version"):
        WordVectors.load(tiny)
