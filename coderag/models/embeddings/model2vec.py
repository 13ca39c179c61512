"""Models of a Model2Vec folder: word vectors over the tokens of a transformer. LlamaIndex has no class for them."""

from pathlib import Path
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from model2vec import StaticModel

from coderag.models.embeddings.base import InputType, QueryDocumentEmbedding, Vector


class Model2VecEmbedding(QueryDocumentEmbedding):
    """Looks vectors up in this process. Nothing is downloaded.

    Args:
        folder: With ``model.safetensors``, ``tokenizer.json`` and ``config.json``.
        prompts: Put before questions and texts.
        dimension: Components of a vector, the first ones; None is all.
        max_tokens: Texts are cut to it; None is what the folder says, or 512.
    """

    _model: StaticModel = PrivateAttr()
    _prompts: dict[InputType, str] = PrivateAttr()

    def __init__(
        self,
        folder: Path,
        *,
        prompts: dict[InputType, str],
        dimension: int | None = None,
        max_tokens: int | None = None,
        **fields: Any,  # noqa: ANN401  # checked by pydantic
    ) -> None:
        super().__init__(**fields)
        window: dict[str, Any] = {} if max_tokens is None else {"max_length": max_tokens}
        self._model = StaticModel.from_pretrained(folder, dimensionality=dimension, force_download=False, **window)
        self._prompts = prompts

    @classmethod
    def class_name(cls) -> str:
        """Return the name in LlamaIndex's records."""
        return "Model2VecEmbedding"

    def _embed(self, texts: list[str], input_type: InputType) -> list[Vector]:
        prompt = self._prompts[input_type]
        vectors = self._model.encode([prompt + text for text in texts], use_multiprocessing=False)
        listed: list[Vector] = vectors.tolist()
        return listed
