"""Small folders of embedding models, as the libraries themselves write them. Their packages are extras."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.loopback import bag_of_words

WORDS = ("open", "close", "session", "user", "login", "cart", "price", "total", "def", "return", "search", "query")


def write_tokenizer(path: Path, words: Sequence[str] = WORDS) -> Path:
    """Write a ``tokenizer.json`` that splits at white space and punctuation and puts two special tokens around."""
    tokenizers = pytest.importorskip("tokenizers", reason="the extra tokenizer is not installed")
    vocabulary = {word: number for number, word in enumerate(("[UNK]", "[CLS]", "[SEP]", *words))}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(path))
    return path


def write_model2vec(folder: Path, *, dimension: int = 16, **config: object) -> Path:
    """Write a Model2Vec folder in which texts are near that share words of `WORDS`."""
    safetensors = pytest.importorskip("safetensors.numpy", reason="the extra model2vec is not installed")
    folder.mkdir(parents=True)
    write_tokenizer(folder / "tokenizer.json")
    special = np.zeros((3, dimension))
    words = np.array([bag_of_words(word, dimension) for word in WORDS])
    safetensors.save_file(
        {"embeddings": np.concatenate([special, words]).astype(np.float32)}, folder / "model.safetensors"
    )
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True, **config}))
    return folder


def write_sentence_transformers(folder: Path, prompts: dict[str, str] | None = None) -> Path:
    """Write what is read of a sentence-transformers folder before it is loaded."""
    folder.mkdir(parents=True)
    modules = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    if prompts is not None:
        (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    return folder
