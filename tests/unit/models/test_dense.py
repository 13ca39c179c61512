import numpy as np
import pytest
import scipy.sparse as sp

from coderag.errors import IndexModelError
from coderag.models.dense import VECTORS_NAMESPACE, ChunkBatch, MaskedQueries, ProviderDense, check_embedding
from coderag.models.embedded_dense import EmbeddedDense
from coderag.models.word_vectors import WordVectors
from coderag.stores.content_cache import ContentCache
from coderag.stores.field_counts import FieldCounts
from coderag.stores.pointer import EmbeddingInfo
from coderag.text.path_masking import MaskedPaths, PathMask

TERMS = ["delet", "user", "password", "pars", "qqxzzyq"]
UNKNOWN = "qqxzzyq"


@pytest.fixture(scope="module")
def words():
    return WordVectors.load()


@pytest.fixture
def model(words):
    return EmbeddedDense(words)


def matrix(rows, terms=TERMS):
    """Term counts of rows given as dicts."""
    counts = np.zeros((len(rows), len(terms)), np.float32)
    for row, content in enumerate(rows):
        for term, count in content.items():
            counts[row, terms.index(term)] = count
    return sp.csr_matrix(counts)


def batch(chunks, *, paths=({},), file_of=None, terms=TERMS, texts=None, names=("a.py", "b.py", "c.py")):
    """A batch of chunks given as dicts of fields."""
    fields = (matrix([chunk.get(field, {}) for chunk in chunks], terms) for field in ("body", "names", "docs"))
    return ChunkBatch(
        texts=texts or [f"text {number}" for number in range(len(chunks))],
        counts=FieldCounts(*fields),
        terms=list(terms),
        paths=names[: len(paths)],
        file_indices=np.array(file_of or [0] * len(chunks), np.intp),
        path_counts=matrix(paths, terms),
    )


def lengths(vectors):
    return np.linalg.norm(vectors, axis=1)


def test_vectors_have_length_one_and_the_shapes_of_chunks_and_files(model):
    given = batch(
        [{"body": {"delet": 3, "user": 1}}, {"body": {"pars": 1}}, {"body": {"password": 2}}],
        paths=[{"user": 1}, {"pars": 1}],
        file_of=[0, 1, 1],
    )
    vectors = model.embed_batch(given)
    assert vectors.chunks.shape == (3, 256)
    assert vectors.files.shape == vectors.paths.shape == (2, 256)
    for part in (vectors.chunks, vectors.files, vectors.paths):
        assert part.dtype == np.float32
        np.testing.assert_allclose(lengths(part), 1, atol=1e-5)


def test_declared_names_count_beside_the_text(model):
    plain = {"body": {"delet": 2, "pars": 1}}
    declaring = {"body": {"delet": 2, "pars": 1}, "names": {"pars": 1}}
    chunks = model.embed_batch(batch([plain, declaring], paths=({}, {}), file_of=[0, 1])).chunks
    parse = model.embed_query("parse", ["pars"])
    assert chunks[1] @ parse > chunks[0] @ parse


def test_chunk_vector_has_a_share_of_its_file(model):
    chunks = [{"body": {"delet": 1}}, {"body": {"password": 3}}, {"body": {"delet": 1}}]
    vectors = model.embed_batch(batch(chunks, paths=({}, {}), file_of=[0, 0, 1])).chunks
    password = model.embed_query("password", ["password"])
    assert vectors[0] @ password > vectors[2] @ password


def test_path_is_part_of_a_chunk_vector(model):
    given = batch(
        [{"body": {"delet": 1}}, {"body": {"delet": 1}}], paths=[{"password": 1}, {"pars": 1}], file_of=[0, 1]
    )
    chunks = model.embed_batch(given).chunks
    password = model.embed_query("password", ["password"])
    assert chunks[0] @ password > chunks[1] @ password


def test_file_is_the_mean_of_its_chunks(model):
    vectors = model.embed_batch(batch([{"body": {"delet": 1}}, {"body": {"user": 2}}], paths=({}, {}), file_of=[0, 1]))
    together = model.embed_batch(batch([{"body": {"delet": 1}}, {"body": {"user": 2}}])).files[0]
    mean = vectors.chunks.sum(axis=0)
    np.testing.assert_allclose(together, mean / np.linalg.norm(mean), atol=1e-3)


def test_question_is_nearest_to_the_chunk_that_has_its_words(model):
    chunks = model.embed_batch(batch([{"body": {"pars": 2}}, {"body": {"delet": 1, "user": 1}}])).chunks
    assert np.argmax(chunks @ model.embed_query("delete user", ["delet", "user"])) == 1


def test_unknown_words_give_zero_rows(model):
    vectors = model.embed_batch(batch([{"body": {UNKNOWN: 4}}, {}, {"body": {"user": 1}}]))
    assert not vectors.chunks[:2].any()
    assert not vectors.paths.any()
    assert lengths(vectors.chunks)[2] == pytest.approx(1)
    assert not model.embed_query(UNKNOWN, [UNKNOWN]).any()


def test_no_chunks_give_no_vectors(model):
    vectors = model.embed_batch(batch([], paths=()))
    assert vectors.chunks.shape == vectors.files.shape == vectors.paths.shape == (0, 256)


def test_growing_vocabulary_gives_the_vectors_of_a_fixed_one(model, words):
    chunk = {"body": {"delet": 1, "user": 1}}
    grown = [model.embed_batch(batch([chunk], terms=TERMS[:size])).chunks for size in (2, 3, 5, 5)]
    for vectors in grown:
        np.testing.assert_allclose(vectors, EmbeddedDense(words).embed_batch(batch([chunk])).chunks, atol=1e-6)
    new = {"body": {"password": 1, "pars": 1}}
    again = model.embed_batch(batch([new])).chunks
    np.testing.assert_array_equal(again, EmbeddedDense(words).embed_batch(batch([new])).chunks)


def test_vocabulary_of_another_index_is_not_confused(model, words):
    chunk = {"body": {"delet": 1, "password": 3}}
    model.embed_batch(batch([chunk]))
    turned = TERMS[::-1]
    for terms in (turned, turned[1:], TERMS):
        actual = model.embed_batch(batch([chunk], terms=terms)).chunks
        expected = EmbeddedDense(words).embed_batch(batch([chunk], terms=terms)).chunks
        np.testing.assert_array_equal(actual, expected)


def test_embedded_model_is_recorded_with_its_version(model, words):
    assert model.info == EmbeddingInfo("embedded", f"{words.name}-{words.version}", 256)


class FakeEmbedder:
    """Two components, not normalised: how often the text has an `a` and a `b`."""

    name = "fake"
    dimension = 2

    def __init__(self):
        self.history = []

    def prepare_text(self, text):
        return f"sent: {text}"

    def embed_requests(self, texts):
        """Two texts a request, the last ones first."""
        self.history.append(list(texts))
        for start in reversed(range(0, len(texts), 2)):
            positions = list(range(start, min(start + 2, len(texts))))
            yield positions, np.array([self.embed_query(texts[i]) for i in positions], np.float32)

    def embed_query(self, query):
        return np.array([query.count("a"), query.count("b")], np.float32)


def test_provider_gets_texts_and_its_vectors_are_normalised():
    embedder = FakeEmbedder()
    given = batch([{}, {}, {}], paths=[{}, {}], file_of=[0, 0, 1], texts=["aaa", "bb", "x"], names=("a/b_b.py", "x.py"))
    vectors = ProviderDense(embedder, "ollama").embed_batch(given)
    assert embedder.history == [["aaa", "bb", "x"], ["a b b.py", "x.py"]]
    np.testing.assert_allclose(vectors.chunks, [[1, 0], [0, 1], [0, 0]])
    np.testing.assert_allclose(vectors.files, [[0.5**0.5, 0.5**0.5], [0, 0]], rtol=1e-6)
    np.testing.assert_allclose(vectors.paths, [[1 / 5**0.5, 2 / 5**0.5], [0, 0]], rtol=1e-6)


def test_provider_embeds_a_question_normalised():
    np.testing.assert_allclose(ProviderDense(FakeEmbedder(), "ollama").embed_query("aaaa", []), [1, 0])


def test_provider_takes_a_batch_without_chunks():
    vectors = ProviderDense(FakeEmbedder(), "ollama").embed_batch(batch([], paths=()))
    assert vectors.chunks.shape == vectors.files.shape == vectors.paths.shape == (0, 2)


def test_provider_is_recorded_with_its_model():
    assert ProviderDense(FakeEmbedder(), "ollama").info == EmbeddingInfo("ollama", "fake", 2)


def test_index_of_the_same_model_is_accepted(model):
    check_embedding(model.info, model)


@pytest.mark.parametrize(
    "recorded",
    [
        EmbeddingInfo("ollama", "nomic-embed-text", 2),
        EmbeddingInfo("ollama", "fake", 3),
        EmbeddingInfo("openai", "fake", 2),
    ],
)
def test_index_of_another_model_is_refused(recorded):
    with pytest.raises(IndexModelError, match=recorded.model) as caught:
        check_embedding(recorded, ProviderDense(FakeEmbedder(), "ollama"))
    assert "fake" in str(caught.value)
    assert caught.value.hint


def test_question_is_sent_to_the_server_once():
    class Counting(FakeEmbedder):
        sent = 0

        def embed_query(self, query):
            self.sent += 1
            return super().embed_query(query)

    embedder = Counting()
    model = ProviderDense(embedder, "ollama")
    first, second = model.embed_query("aaaa", []), model.embed_query("aaaa", ["a"])
    model.embed_query("bb", [])
    np.testing.assert_array_equal(first, second)
    assert embedder.sent == 2


# What is paid for once


@pytest.fixture
def cache(tmp_path):
    with ContentCache(tmp_path, limit_bytes=1 << 20) as cache:
        yield cache


def cached(cache, embedder=None, provider="ollama"):
    model = ProviderDense(embedder or FakeEmbedder(), provider)
    model.cache = cache
    return model


def embedded(model, *texts, path="a.py"):
    return model.embed_batch(batch([{}] * len(texts), texts=list(texts), names=(path,)))


def sent(model):
    return [text for texts in model._model.history for text in texts]


def test_with_a_cache_the_vectors_are_the_same(cache):
    expected = embedded(ProviderDense(FakeEmbedder(), "ollama"), "aab", "b", "x", "aab")
    for _ in range(2):
        actual = embedded(cached(cache), "aab", "b", "x", "aab")
        for name in ("chunks", "files", "paths"):
            np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name))


def test_text_that_was_embedded_before_is_not_sent_again(cache):
    embedded(cached(cache), "aab", "b")
    again = cached(cache)
    embedded(again, "b", "new", "aab")
    assert sent(again) == ["new"]


def test_equal_texts_are_sent_once(cache):
    model = cached(cache)
    embedded(model, "aab", "b", "aab")
    assert sent(model) == ["aab", "b", "a.py"]


def test_cache_key_depends_on_the_sent_text(cache):
    class OtherPrefix(FakeEmbedder):
        def prepare_text(self, text):
            return f"passage: {text}"

    embedded(cached(cache), "aab")
    again = cached(cache, OtherPrefix())
    embedded(again, "aab")
    assert sent(again) == ["aab", "a.py"]


class OtherModel(FakeEmbedder):
    name = "other"


class OtherDimension(FakeEmbedder):
    dimension = 3

    def embed_query(self, query):
        return np.array([1, 2, 3], np.float32)


@pytest.mark.parametrize(
    ("embedder", "provider"), [(OtherModel(), "ollama"), (OtherDimension(), "ollama"), (FakeEmbedder(), "openai")]
)
def test_vectors_of_another_model_are_not_reused(cache, embedder, provider):
    embedded(cached(cache), "aab")
    again = cached(cache, embedder, provider)
    embedded(again, "aab")
    assert sent(again) == ["aab", "a.py"]


@pytest.mark.parametrize("damage", [b"", b"short", np.full(2, np.nan, "<f4").tobytes()])
def test_invalid_cached_vector_is_requested_again(cache, damage):
    class Spoiling:
        def get(self, namespace, keys):
            return dict.fromkeys(keys, damage)

        def put(self, namespace, items):
            cache.put(namespace, items)

    model = cached(Spoiling())
    np.testing.assert_allclose(embedded(model, "aaa").chunks, [[1, 0]])
    assert sent(model) == ["aaa", "a.py"]
    again = cached(cache)
    embedded(again, "aaa")
    assert sent(again) == []


def test_vectors_before_an_error_are_cached(cache):
    class Failing(FakeEmbedder):
        def embed_query(self, text):
            if text == "b":
                raise RuntimeError("out of memory")
            return super().embed_query(text)

    with pytest.raises(RuntimeError):
        embedded(cached(cache, Failing()), "b", "ab", "aab", "abb")
    again = cached(cache)
    embedded(again, "b", "ab", "aab", "abb")
    assert sent(again) == ["b", "ab", "a.py"], "the request with the others was answered"


def test_progress_counts_cached_and_embedded_texts(cache):
    embedded(cached(cache), "aab", "b", "aaa")
    model, reported = cached(cache), []
    model.on_embedded = reported.append
    embedded(model, "b", "new", "aab", "newer", "newest", "b")
    assert reported == [3, 1, 2, 1]  # chunks: 2 kept and 1 repeated, then two requests; the path is kept
    assert sum(reported) == 6 + 1


def test_cached_vectors_are_counted_without_requests(cache):
    given = batch([{}] * 4, texts=["aab", "b", "x", "b"], names=("a.py",))
    assert ProviderDense(FakeEmbedder(), "ollama").count_cached(given) == 0
    assert cached(cache).count_cached(given) == 0
    embedded(cached(cache), "aab", "b")
    model = cached(cache)
    assert model.count_cached(given) == 4, "with the path; equal texts count each"
    model.mask = PathMask(b"key" * 16)
    assert model.count_cached(given) == 3
    assert cached(cache, OtherModel()).count_cached(given) == 0
    assert sent(model) == []


def test_empty_batch_works_with_a_cache(cache):
    vectors = cached(cache).embed_batch(batch([], paths=()))
    assert vectors.chunks.shape == vectors.files.shape == vectors.paths.shape == (0, 2)


def test_disabled_cache_only_costs_requests(cache):
    cache.close()
    model = cached(cache)
    np.testing.assert_allclose(embedded(model, "aaa").chunks, [[1, 0]])
    assert cache.get(VECTORS_NAMESPACE, []) == {}


# What is not shown


def test_masked_paths_are_not_sent_and_have_zero_vectors():
    model = ProviderDense(FakeEmbedder(), "ollama")
    model.mask = PathMask(b"k" * 32)
    vectors = embedded(model, "aaa", path="aaa/b.py")
    assert sent(model) == ["aaa"]
    np.testing.assert_array_equal(vectors.paths, [[0, 0]])
    np.testing.assert_allclose(vectors.files, [[1, 0]])


def test_paths_in_a_question_are_masked_before_it_is_sent():
    class Listening(FakeEmbedder):
        def embed_query(self, query):
            self.history.append([query])
            return super().embed_query(query)

    mask = PathMask(b"k" * 32)
    model = ProviderDense(Listening(), "ollama")
    MaskedQueries(model, MaskedPaths(mask, ["billing/ledger.py"])).embed_query("what is billing/ledger.py", [])
    assert sent(model) == [f"what is {mask.mask_path('billing/ledger.py')}"]
