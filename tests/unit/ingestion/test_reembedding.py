"""New vectors for stored chunks are those that indexing the files would have made."""

import numpy as np
import pytest

from coderag.config.sections import EmbeddingSettings
from coderag.config.settings import Settings
from coderag.errors import StoreError
from coderag.ingestion import reembedding
from coderag.ingestion.indexer import Indexer
from coderag.ingestion.reembedding import ReembeddedSnapshot, embed_stored_chunks
from coderag.models.embedded_dense import EmbeddedDense
from coderag.models.providers import make_dense_model
from coderag.stores.index_store import EmbeddingInfo, IndexStore

N_FILES, N_FUNCTIONS = 7, 30


class NextVersion(EmbeddedDense):
    """The embedded model as of a later release: every vector is turned round."""

    info = EmbeddingInfo("embedded", "words-9", 256)

    def embed_batch(self, batch):
        vectors = super().embed_batch(batch)
        for part in (vectors.chunks, vectors.files, vectors.paths):
            part[:] = part[:, ::-1].copy()
        return vectors


@pytest.fixture(scope="module")
def model():
    return make_dense_model(EmbeddingSettings())


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory, model):
    root = tmp_path_factory.mktemp("reembedding")
    for number in range(N_FILES):
        functions = (
            f"def step_{number}_{line}(item):\n    return prepare_{line}(item) + other({line})\n\n" * 3
            for line in range(N_FUNCTIONS)
        )
        (root / f"module_{number}.py").write_text("".join(functions))
    store = IndexStore(root / ".coderag")
    Indexer(root, Settings(ingestion={"workers": 0}), store, model).run()
    return store.open()


@pytest.mark.parametrize("at_once", [1, 20, 2_000])
def test_same_model_reproduces_vectors_in_batches_of_whole_files(snapshot, model, monkeypatch, at_once):
    monkeypatch.setattr(reembedding, "_CHUNKS_PER_BATCH", at_once)
    paths = [record.path for record in snapshot.read_files()]
    batches = list(embed_stored_chunks(snapshot, model, snapshot.read_terms(), paths))
    assert (len(batches) > 1) == (at_once < 2_000)
    assert [path for batch in batches for path in batch.paths] == sorted(paths)
    np.testing.assert_allclose(
        np.concatenate([batch.vectors.chunks for batch in batches]), snapshot.read_vectors(), atol=1e-6
    )
    ids = [chunk_id for batch in batches for chunk_id in batch.columns["id"].to_pylist()]
    assert ids == snapshot.read_chunks(["id"])["id"].to_pylist()
    texts = [text for batch in batches for text in batch.columns["text"].to_pylist()]
    assert texts == snapshot.read_texts(range(len(snapshot)))


def test_only_given_files_are_embedded(snapshot, model):
    wanted = {"module_2.py", "module_5.py", "gone.py"}
    (batch,) = embed_stored_chunks(snapshot, model, snapshot.read_terms(), wanted)
    assert batch.paths == ["module_2.py", "module_5.py"]
    assert set(batch.columns["path"].to_pylist()) == wanted - {"gone.py"}
    assert list(embed_stored_chunks(snapshot, model, snapshot.read_terms(), ())) == []


def test_extended_vocabulary_keeps_vectors(snapshot, model):
    terms = [*snapshot.read_terms(), "qqxzzyq"]
    (batch,) = embed_stored_chunks(snapshot, model, terms, ["module_0.py"])
    assert batch.terms is terms
    np.testing.assert_allclose(batch.vectors.chunks, snapshot.read_vectors()[: len(batch.columns)], atol=1e-6)


def test_snapshot_can_have_vectors_of_another_version_in_memory(snapshot, model):
    seen = ReembeddedSnapshot(snapshot, NextVersion(model._words))
    assert seen.pointer.embedding == NextVersion.info
    np.testing.assert_allclose(seen.read_vectors(), snapshot.read_vectors()[:, ::-1], atol=1e-6)
    for mine, stored in zip(seen.read_file_vectors(), snapshot.read_file_vectors(), strict=True):
        np.testing.assert_allclose(mine, stored[:, ::-1], atol=1e-6)
    assert seen.read_files() == snapshot.read_files()
    with pytest.raises(StoreError, match="another model") as caught:
        seen.find_nearest(seen.read_vectors()[0], 3)
    assert "coderag index" in caught.value.hint
    assert IndexStore(snapshot.directory).read_pointer() == snapshot.pointer


def test_empty_generation_has_no_vectors(tmp_path, model):
    store = IndexStore(tmp_path / ".coderag")
    Indexer(tmp_path, Settings(ingestion={"workers": 0}), store, model).run()
    seen = ReembeddedSnapshot(store.open(), NextVersion(model._words))
    assert seen.read_vectors().shape == (0, 256)
    assert [part.shape for part in seen.read_file_vectors()] == [(0, 256), (0, 256)]
