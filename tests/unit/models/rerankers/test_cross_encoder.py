import json

import pytest

from coderag.config.sections import RerankerSettings
from coderag.errors import ConfigurationError, ModelError
from coderag.models.rerankers.cross_encoder import CrossEncoderReranker
from coderag.models.rerankers.providers import make_reranker
from tests.support.model_folders import write_tokenizer

TEXTS = ["open session", "close cart", "total price", "search query", "user login", "def return"]


def settings_for(folder, **options):
    return RerankerSettings(provider="cross-encoder", model=str(folder), **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A cross-encoder with random weights, as transformers writes it."""
    pytest.importorskip("sentence_transformers", reason="the extra sentence-transformers is not installed")
    return write_cross_encoder(tmp_path_factory.mktemp("models") / "tiny", labels=1)


def write_cross_encoder(folder, *, labels):
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    config = BertConfig(
        vocab_size=15,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        num_labels=labels,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    names = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[UNK]"}
    file = str(write_tokenizer(folder / "tokenizer.json"))
    PreTrainedTokenizerFast(tokenizer_file=file, model_max_length=32, **names).save_pretrained(folder)
    return folder


def test_every_text_gets_the_models_score(folder):
    from sentence_transformers import CrossEncoder

    reranker = make_reranker(settings_for(folder))
    assert (reranker.name, reranker.remote) == ("cross-encoder/tiny", False)
    scores = reranker.rerank("open session", TEXTS).scores
    expected = CrossEncoder(str(folder), device="cpu").predict([("open session", text) for text in TEXTS])
    assert scores == pytest.approx(expected.tolist(), abs=1e-5)
    assert len(set(scores)) > 1


def test_spent_budget_gives_no_scores(folder):
    seconds = iter([0.0, 0.0, 5.0])
    result = CrossEncoderReranker(settings_for(folder), folder, clock=lambda: next(seconds)).rerank("q", TEXTS)
    assert result.scores is None
    assert result.note == "2000 ms were over after 4 of 6 texts"


def test_model_with_several_labels_is_rejected(tmp_path, folder):
    several = write_cross_encoder(tmp_path / "nli", labels=3)
    with pytest.raises(ModelError, match="does not return one finite number"):
        make_reranker(settings_for(several)).rerank("q", TEXTS)


def test_broken_folder_is_a_clear_error(tmp_path, folder):
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(ModelError, match="cannot be loaded as a cross-encoder"):
        make_reranker(settings_for(tmp_path)).rerank("q", TEXTS)


@pytest.mark.parametrize("model", ["", "cross-encoder/ms-marco-MiniLM-L6-v2"])
def test_model_is_a_folder_and_is_not_downloaded(monkeypatch, model):
    monkeypatch.setattr("coderag.models.rerankers.providers.require_extra", lambda *_: None)
    with pytest.raises(ConfigurationError, match=r"reranker\.model"):
        make_reranker(settings_for(model))


def test_folder_of_another_model_type_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr("coderag.models.rerankers.providers.require_extra", lambda *_: None)
    with pytest.raises(ConfigurationError, match="not the folder of a cross-encoder model"):
        make_reranker(settings_for(tmp_path))


def test_missing_extra_error_shows_the_install_command(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(ConfigurationError, match="sentence_transformers") as caught:
        make_reranker(settings_for(tmp_path))
    assert "sentence-transformers" in caught.value.hint
