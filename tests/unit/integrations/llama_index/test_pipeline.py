import numpy as np
import pytest
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import Document, TransformComponent

from coderag.config.sections import IngestionSettings
from coderag.errors import ConfigurationError
from coderag.integrations.llama_index.pipeline import ChunkPipeline
from coderag.models.dense import BatchVectors
from coderag.stores.index_store import EmbeddingInfo
from coderag.text.tokenizer import expand_token

CART = 'class Cart:\n    """Items to buy."""\n\n    def add(self, item):\n        self.items.append(item)\n'


class FakeDense:
    """Records its batches; the vectors are ones."""

    info = EmbeddingInfo("fake", "ones", 4)
    mask = None

    def __init__(self):
        self.batches = []

    def embed_batch(self, batch):
        self.batches.append(batch)
        files = np.full((len(batch.paths), 4), 0.5, np.float32)
        return BatchVectors(np.full((len(batch.texts), 4), 0.5, np.float32), files, files)

    def embed_query(self, query, terms):
        return np.ones(4, np.float32)


class Shout(TransformComponent):
    """Writes every summary in capitals."""

    def __call__(self, nodes, **kwargs):
        for node in nodes:
            node.metadata["summary"] = node.metadata["summary"].upper()
        return nodes


class Drop(TransformComponent):
    """Keeps no chunk of a test."""

    def __call__(self, nodes, **kwargs):
        return [node for node in nodes if "test" not in node.metadata["path"]]


class NotAComponent:
    pass


class Broken(TransformComponent):
    def __init__(self):
        raise RuntimeError("no licence found")

    def __call__(self, nodes, **kwargs):
        return nodes


def document(text=CART, path="shop/cart.py", language="python"):
    return Document(text=text, id_=path, metadata={"path": path, "language": language, "role": "source"})


def settings(*transformations, **fields):
    names = tuple(name if ":" in name else f"{__name__}:{name}" for name in transformations)
    return IngestionSettings(transformations=names, **fields)


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    """Let the settings name this module's classes, however the tests were collected."""
    import sys

    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or _this())


def _this():
    import types

    module = types.ModuleType(__name__)
    vars(module).update(Shout=Shout, Drop=Drop, NotAComponent=NotAComponent, Broken=Broken)
    return module


def test_pipeline_is_a_llama_index_pipeline():
    assert isinstance(ChunkPipeline(IngestionSettings(), FakeDense()).pipeline, IngestionPipeline)


def metadata(batch, name):
    return batch.columns[name].to_pylist()


def nodes_of(pipeline, *documents):
    return pipeline.pipeline.run(documents=list(documents))


def test_batch_has_chunks_counts_and_vectors_in_one_order():
    batch = ChunkPipeline(IngestionSettings(chunk={"min_tokens": 0}), FakeDense()).run(
        [document(), document("x = 1\n", "b.py")]
    )
    assert metadata(batch, "path") == ["shop/cart.py", "b.py"]
    assert len(batch.counts) == len(batch.vectors.chunks) == 2
    assert list(batch.paths) == ["shop/cart.py", "b.py"]
    assert len(batch.vectors.files) == len(batch.vectors.paths) == 2
    column = batch.terms.index(expand_token("append")[0])
    assert [row[0, column] for row in batch.counts.body] == [1, 0]


def test_every_chunk_has_its_summary_and_its_embedding():
    (node,) = nodes_of(ChunkPipeline(IngestionSettings(), FakeDense()), document())
    assert (node.metadata["summary"], node.metadata["summary_source"]) == ("Items to buy.", "docstring")
    assert list(node.embedding) == [0.5] * 4


def test_provider_is_given_the_texts_to_embed():
    model = FakeDense()
    ChunkPipeline(IngestionSettings(), model).run([document()])
    (batch,) = model.batches
    (text,) = batch.texts[0:1]
    assert text == batch.texts[0]
    assert "self.items.append(item)" in text
    assert "shop/cart.py" in text


def test_vocabulary_is_continued_from_batch_to_batch():
    pipeline = ChunkPipeline(IngestionSettings(), FakeDense(), ["known"])
    first = pipeline.run([document()]).terms
    second = pipeline.run([document("def brand_new(): pass\n", "b.py")]).terms
    assert first[0] == "known"
    assert second[: len(first)] == first
    assert "brand" in second


def test_empty_file_has_a_chunk_for_its_path():
    batch = ChunkPipeline(IngestionSettings(), FakeDense()).run([document("", "shop/empty.py")])
    assert (metadata(batch, "text"), metadata(batch, "path")) == ([""], ["shop/empty.py"])


def test_file_with_a_syntax_error_is_noted():
    pipeline = ChunkPipeline(IngestionSettings(), FakeDense())
    batch = pipeline.run([document("def broken(:\n  x = = 1\n")])
    assert "shop/cart.py" in pipeline.notes
    assert "".join(metadata(batch, "text")) == "def broken(:\n  x = = 1\n"


def test_repository_is_part_of_every_id():
    def ids(repository):
        batch = ChunkPipeline(IngestionSettings(), FakeDense(), repository=repository).run([document()])
        return set(metadata(batch, "id"))

    assert ids("one") == ids("one")
    assert not ids("one") & ids("two")


# Further transformations


def test_component_from_the_settings_runs_before_counting_and_embedding():
    model = FakeDense()
    batch = ChunkPipeline(settings("Shout"), model).run([document()])
    assert metadata(batch, "summary") == ["ITEMS TO BUY."]
    assert "ITEMS TO BUY." in model.batches[0].texts[0]


def test_component_may_drop_a_whole_batch():
    pipeline = ChunkPipeline(settings("Drop"), FakeDense())
    assert len(pipeline.run([document()]).columns) == 1
    batch = pipeline.run([document(path="test_cart.py")])
    assert (len(batch.columns), len(batch.counts), batch.vectors.chunks.shape, list(batch.paths)) == (0, 0, (0, 4), [])


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no.such.module:Class", "cannot be loaded"),
        ("NoSuchClass", "cannot be loaded"),
        ("coderag.schema", "cannot be loaded"),
        (":Class", "cannot be loaded"),
        ("Broken", "no licence found"),
        ("NotAComponent", "not a LlamaIndex TransformComponent"),
        ("sys:exit", "not a LlamaIndex TransformComponent"),
        ("os:getcwd", "not a LlamaIndex TransformComponent"),
    ],
)
def test_invalid_component_is_rejected_without_a_call(name, reason):
    given = name if ":" in name or "." in name else f"{__name__}:{name}"
    with pytest.raises(ConfigurationError) as caught:
        ChunkPipeline(IngestionSettings(transformations=(given,)), FakeDense())
    assert f"ingestion.transformations: {given!r}" in str(caught.value)
    assert reason in str(caught.value)
