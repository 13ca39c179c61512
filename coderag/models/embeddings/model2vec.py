"""Models of a Model2Vec folder: static word vectors, for which LlamaIndex has no class."""

from pathlib import Path
from typing import Any

import numpy as np
from llama_index.core.bridge.pydantic import PrivateAttr
from model2vec import StaticModel
from numpy.typing import NDArray

from coderag.models.embeddings.base import FolderEmbedding


class Model2VecEmbedding(FolderEmbedding):
    """Looks up vectors in this process. Nothing is downloaded.

    Args:
        folder: Folder with ``model.safetensors``, ``tokenizer.json`` and ``config.json``.
        dimension: Number of leading components to use; None uses all.
        max_tokens: Texts are truncated to it; None uses the folder's value, or 512.
        fields: Fields of `FolderEmbedding`.
    """

    _model: StaticModel = PrivateAttr()

    def __init__(
        self,
        folder: Path,
        *,
        dimension: int | None = None,
        max_tokens: int | None = None,
        **fields: Any,  # noqa: ANN401  # checked by pydantic
    ) -> None:
        super().__init__(**fields)
        window: dict[str, Any] = {} if max_tokens is None else {"max_length": max_tokens}
        self._model = StaticModel.from_pretrained(folder, dimensionality=dimension, force_download=False, **window)

    def _encode(self, texts: list[str], prompt: str) -> NDArray[np.floating]:
        vectors: NDArray[np.floating] = self._model.encode([prompt + text for text in texts], use_multiprocessing=False)
        return vectors
