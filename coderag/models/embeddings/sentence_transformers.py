"""Models of a sentence-transformers folder.

LlamaIndex's ``HuggingFaceEmbedding`` is not used: it overrides the folder's prompts, looks on the hub for models that are
not folders, and retries permanent failures after waits of seconds.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from llama_index.core.bridge.pydantic import PrivateAttr
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from transformers.utils.logging import disable_progress_bar, enable_progress_bar, is_progress_bar_enabled

from coderag.models.embeddings.base import FolderEmbedding


class SentenceTransformersEmbedding(FolderEmbedding):
    """Runs a model in this process. Nothing is downloaded, and no code of the folder is run.

    Args:
        folder: Folder as written by `SentenceTransformer.save`.
        device: Device such as ``cpu`` or ``cuda``.
        dimension: Number of components of a vector; None is all. Only some models are trained for fewer.
        max_tokens: Maximum tokens per text, if below the model's own window; None keeps that.
        inner_batch: Number of texts per forward pass.
        fields: Fields of `FolderEmbedding`.
    """

    _model: SentenceTransformer = PrivateAttr()
    _inner_batch: int = PrivateAttr()

    def __init__(
        self,
        folder: Path,
        *,
        device: str = "cpu",
        dimension: int | None = None,
        max_tokens: int | None = None,
        inner_batch: int = 32,
        **fields: Any,  # noqa: ANN401  # checked by pydantic
    ) -> None:
        super().__init__(**fields)
        with _hide_progress_bar():
            model = SentenceTransformer(str(folder), device=device, truncate_dim=dimension, local_files_only=True)
        if max_tokens is not None:
            model.max_seq_length = min(max_tokens, model.max_seq_length or max_tokens)
        self._model = model
        self._inner_batch = inner_batch

    def _encode(self, texts: list[str], prompt: str) -> NDArray[np.floating]:
        vectors: NDArray[np.floating] = self._model.encode(
            texts, prompt=prompt, batch_size=self._inner_batch, show_progress_bar=False
        )
        return vectors


@contextmanager
def _hide_progress_bar() -> Iterator[None]:
    """Within the block, hide transformers' progress bar, which would garble CodeRAG's."""
    if not is_progress_bar_enabled():
        yield
        return
    disable_progress_bar()
    try:
        yield
    finally:
        enable_progress_bar()
