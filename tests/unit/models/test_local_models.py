import json
import re
import shutil
import socket
import sys
from types import ModuleType
from typing import ClassVar

import numpy as np
import pytest

from coderag.config.sections import EmbeddingSettings
from coderag.errors import ConfigurationError, ModelError
from coderag.models.model_folders import get_model_title, hash_model_files, read_folder_prefixes, resolve_model_folder
from coderag.models.prefixes import Prefixes
from coderag.models.providers import get_model_name, make_dense_model
from tests.loopback import bag_of_words
from tests.loopback.cases import batch_of, embedded
from tests.support.model_folders import write_model2vec, write_sentence_transformers

CODE_PROMPT = "Represent this query for searching relevant code: "


def local_model(provider, folder, **options):
    return make_dense_model(EmbeddingSettings(provider=provider, model=str(folder), **options))


@pytest.fixture
def offline(monkeypatch):
    """Fail on any connection, the loopback's too."""

    def refuse(*arguments, **options):
        raise AssertionError("a local model reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


# --- folders


def test_model_folder_is_required():
    with pytest.raises(ConfigurationError, match=r"embedding\.model is not set.*'model2vec'"):
        resolve_model_folder("model2vec", "")


@pytest.mark.parametrize("name", ["nomic-ai/CodeRankEmbed", "models/minilm"])
def test_hub_name_is_not_downloaded(name):
    with pytest.raises(ConfigurationError, match=f"embedding.model is {name}.*full path") as caught:
        resolve_model_folder("sentence-transformers", name)
    assert "CodeRAG does not download models" in caught.value.hint


def test_missing_folder_is_reported(tmp_path):
    with pytest.raises(ConfigurationError, match=r"minilm, which is not a folder") as caught:
        resolve_model_folder("model2vec", str(tmp_path / "minilm"))
    assert "CodeRAG does not download models" in caught.value.hint


@pytest.mark.parametrize(
    ("provider", "files"),
    [("sentence-transformers", r"modules\.json"), ("model2vec", r"config\.json, model\.safetensors, tokenizer\.json")],
)
def test_folder_of_another_model_type_is_reported(tmp_path, provider, files):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ConfigurationError, match=f"which is not the folder of a {provider} model") as caught:
        resolve_model_folder(provider, str(tmp_path))
    assert re.search(files, caught.value.hint)


def test_home_folder_may_be_abbreviated(home):
    folder = write_sentence_transformers(home / "models" / "minilm")
    assert resolve_model_folder("sentence-transformers", "~/models/minilm") == folder


def test_folder_with_its_own_code_is_rejected(tmp_path):
    folder = write_sentence_transformers(tmp_path / "model")
    (folder / "modules.json").write_text(json.dumps([{"type": "custom_st.Transformer", "path": ""}]))
    with pytest.raises(ConfigurationError, match=r"is not run: custom_st\.Transformer"):
        resolve_model_folder("sentence-transformers", str(folder))


@pytest.mark.parametrize("content", ["{", "[1]", "{}", '[{"path": ""}]'])
def test_broken_modules_file_is_reported(tmp_path, content):
    folder = write_sentence_transformers(tmp_path / "model")
    (folder / "modules.json").write_text(content)
    if content == "{}":
        assert resolve_model_folder("sentence-transformers", str(folder)) == folder
        return
    with pytest.raises(ConfigurationError, match=r"modules\.json cannot be read"):
        resolve_model_folder("sentence-transformers", str(folder))


@pytest.mark.parametrize(
    ("folder", "title"),
    [
        ("/models/CodeRankEmbed", "CodeRankEmbed"),
        ("/hub/models--nomic-ai--CodeRankEmbed/snapshots/3c4b60807d71f79b43f3c4363786d9493691f8b1", "CodeRankEmbed"),
    ],
)
def test_model_title_is_the_folder_name_also_in_the_hub_cache(tmp_path, folder, title):
    assert get_model_title(tmp_path / folder.lstrip("/")) == title


# --- prompts


def test_folder_prompts_override_the_table(tmp_path):
    own = write_sentence_transformers(tmp_path / "CodeRankEmbed", {"query": "own: ", "passage": "text: "})
    assert read_folder_prefixes(own) == Prefixes("own: ", "text: ")


@pytest.mark.parametrize("prompts", [None, {}, {"query": "", "document": ""}, {"classification": "classify: "}])
def test_table_prefixes_apply_without_folder_prompts(tmp_path, prompts):
    folder = write_sentence_transformers(tmp_path / "CodeRankEmbed", prompts)
    assert read_folder_prefixes(folder) == Prefixes(CODE_PROMPT, "")


@pytest.mark.parametrize("content", ["{", "[]", '{"prompts": [1]}', '{"prompts": 3}'])
def test_broken_prompts_file_is_reported(tmp_path, content):
    folder = write_sentence_transformers(tmp_path / "model")
    (folder / "config_sentence_transformers.json").write_text(content)
    with pytest.raises(ConfigurationError, match=r"config_sentence_transformers\.json cannot be read"):
        read_folder_prefixes(folder)


# --- what tells one model from another


def test_fingerprint_does_not_depend_on_location(tmp_path):
    folder = write_sentence_transformers(tmp_path / "a" / "minilm", {})
    (folder / "README.md").write_text("about")
    shutil.copytree(folder, tmp_path / "b" / "minilm")
    (tmp_path / "b" / "minilm" / "README.md").write_text("another text")
    (tmp_path / "b" / "minilm" / ".cache").mkdir()
    (tmp_path / "b" / "minilm" / ".cache" / "x.json").write_text("{}")
    assert hash_model_files(folder) == hash_model_files(tmp_path / "b" / "minilm")


@pytest.mark.parametrize("size", [10, 5_000_000])
def test_other_weights_change_the_fingerprint(tmp_path, size):
    folder = write_sentence_transformers(tmp_path / "minilm")
    names = set()
    for seed in range(3):
        weights = np.random.default_rng(seed).bytes(size)
        (folder / "model.safetensors").write_bytes(weights)
        names.add(get_model_name(EmbeddingSettings(provider="sentence-transformers", model=str(folder))))
    assert len(names) == 3
    assert all(name.startswith("minilm@") for name in names)


def test_only_settings_that_change_vectors_change_the_name(tmp_path):
    folder = str(write_sentence_transformers(tmp_path / "minilm"))

    def name(**options):
        return get_model_name(EmbeddingSettings(provider="sentence-transformers", model=folder, **options))

    assert name() == name(batch_size=3, device="cuda", query_prefix="q: ")
    assert len({name(), name(max_tokens=128), name(text_prefix="t: ")}) == 3


# --- Model2Vec


@pytest.fixture
def model2vec(tmp_path):
    pytest.importorskip("model2vec", reason="the extra model2vec is not installed")
    return write_model2vec(tmp_path / "tiny")


def test_model2vec_folder_embeds_texts_and_questions(model2vec, offline):
    model = local_model("model2vec", model2vec)
    chunks = model.embed_batch(batch_of(["def login(user): session", "total price of the cart"])).chunks
    question = model.embed_query("open a session for a user", [])
    assert np.argmax(chunks @ question) == 0
    assert np.linalg.norm(chunks, axis=1) == pytest.approx([1, 1])
    assert (model.info.provider, model.info.dimension) == ("model2vec", 16)
    assert model.info.model == get_model_name(EmbeddingSettings(provider="model2vec", model=str(model2vec)))


def test_texts_without_a_known_word_get_zeros(model2vec):
    vectors = embedded(local_model("model2vec", model2vec), ["login", "zzz", "", "session"])
    assert vectors.any(axis=1).tolist() == [True, False, False, True]


def test_model2vec_truncates_with_its_own_tokenizer(model2vec):
    texts = ["login", "login cart cart cart"]
    full = embedded(local_model("model2vec", model2vec), texts)
    cut = embedded(local_model("model2vec", model2vec, max_tokens=16), ["login " * 16 + "cart " * 50, "login"])
    assert not np.allclose(full[0], full[1])
    np.testing.assert_allclose(cut[0], cut[1], atol=1e-6)


def test_model2vec_uses_configured_prefixes(model2vec):
    model = local_model("model2vec", model2vec, query_prefix="search ", text_prefix="query ")
    plain = local_model("model2vec", model2vec)
    np.testing.assert_allclose(model.embed_query("login", []), plain.embed_query("search login", []))
    np.testing.assert_allclose(embedded(model, ["login"]), embedded(plain, ["query login"]))


def test_model2vec_supports_fewer_dimensions(model2vec):
    assert local_model("model2vec", model2vec, dimension=8).info.dimension == 8
    with pytest.raises(ModelError, match="cannot be loaded as an embedding model"):
        local_model("model2vec", model2vec, dimension=99).embed_query("login", [])


def test_broken_weights_are_reported(model2vec):
    (model2vec / "model.safetensors").write_bytes(b"no weights")
    model = local_model("model2vec", model2vec)  # nothing is loaded yet
    with pytest.raises(ModelError, match="tiny cannot be loaded as an embedding model") as caught:
        model.embed_query("login", [])
    assert "complete" in caught.value.hint


# --- sentence-transformers: its place is taken by a module that embeds words, for it brings torch


class FakeSentenceTransformer:
    made: ClassVar[list] = []

    def __init__(self, path, **options):
        self.path, self.options = path, options
        self.max_seq_length = 256
        self.calls = []
        type(self).made.append(self)

    def encode(self, texts, *, prompt, batch_size, show_progress_bar):
        self.calls.append((list(texts), prompt, batch_size))
        if any("out of memory" in text for text in texts):
            raise RuntimeError("CUDA out of memory")
        cut = [(prompt + text).split()[: self.max_seq_length] for text in texts]
        return np.array([bag_of_words(" ".join(words), 24) for words in cut], np.float32)


@pytest.fixture
def fake(monkeypatch):
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = FakeSentenceTransformer
    logging = ModuleType("transformers.utils.logging")
    logging.is_progress_bar_enabled = lambda: False
    logging.disable_progress_bar = logging.enable_progress_bar = None
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    monkeypatch.setitem(sys.modules, "transformers", ModuleType("transformers"))
    monkeypatch.setitem(sys.modules, "transformers.utils", ModuleType("transformers.utils"))
    monkeypatch.setitem(sys.modules, "transformers.utils.logging", logging)
    ours = "coderag.models.embeddings.sentence_transformers"
    monkeypatch.delitem(sys.modules, ours, raising=False)
    monkeypatch.setattr(FakeSentenceTransformer, "made", [])
    yield FakeSentenceTransformer
    sys.modules.pop(ours, None)


def test_sentence_transformers_folder_is_loaded_on_first_use_and_locally(tmp_path, fake):
    folder = write_sentence_transformers(tmp_path / "minilm", {"query": "ask: ", "document": "read: "})
    model = local_model("sentence-transformers", folder, batch_size=4)
    assert fake.made == []
    model.embed_query("login", [])
    assert embedded(model, ["a", "b"]).shape == (2, 24)
    (loaded,) = fake.made
    assert loaded.path == str(folder)
    assert loaded.options == {"device": "cpu", "truncate_dim": None, "local_files_only": True}
    assert loaded.calls == [(["login"], "ask: ", 4), (["a", "b"], "read: ", 4)]


def test_settings_reach_sentence_transformers(tmp_path, fake):
    folder = write_sentence_transformers(tmp_path / "minilm")
    local_model("sentence-transformers", folder, device="cuda", dimension=24, max_tokens=64).embed_query("login", [])
    (loaded,) = fake.made
    assert loaded.options == {"device": "cuda", "truncate_dim": 24, "local_files_only": True}
    assert loaded.max_seq_length == 64


def test_window_never_exceeds_the_models(tmp_path, fake):
    folder = write_sentence_transformers(tmp_path / "minilm")
    local_model("sentence-transformers", folder, max_tokens=9_000).embed_query("login", [])
    assert fake.made[0].max_seq_length == 256


def test_failing_model_is_a_clear_error(tmp_path, fake):
    model = local_model("sentence-transformers", write_sentence_transformers(tmp_path / "minilm"))
    with pytest.raises(ModelError, match=r"the model minilm@\w+ failed: RuntimeError: CUDA out of memory") as caught:
        embedded(model, ["out of memory"])
    assert "embedding.batch_size" in caught.value.hint


def test_real_sentence_transformers_folder_embeds(tmp_path, offline):
    pytest.importorskip("sentence_transformers", reason="the extra sentence-transformers is not installed")
    folder = write_tiny_bert(tmp_path / "tiny")
    model = local_model("sentence-transformers", folder)
    texts = ["open the session of the user", "total price", "login"]
    np.testing.assert_allclose(embedded(model, texts), embedded(local_model("sentence-transformers", folder), texts))
    assert model.info.dimension == 32
    longer = embedded(model, ["login " * 14, "login " * 900])
    np.testing.assert_allclose(longer[0], longer[1], atol=1e-5)  # 14 tokens and two special ones fill its window


def write_tiny_bert(folder):
    """Write a transformer with random weights, as sentence-transformers does."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    from tests.support.model_folders import write_tokenizer

    plain = folder.with_name("plain")
    config = BertConfig(
        vocab_size=15,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
    )
    BertModel(config).save_pretrained(plain)
    names = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[UNK]"}
    file = str(write_tokenizer(plain / "tokenizer.json"))
    PreTrainedTokenizerFast(tokenizer_file=file, **names).save_pretrained(plain)
    transformer = Transformer(str(plain), max_seq_length=16)
    SentenceTransformer(modules=[transformer, Pooling(32)]).save(str(folder))
    return folder
