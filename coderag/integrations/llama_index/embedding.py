"""LlamaIndex interface of the embedded dense model."""

from pathlib import Path
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import PrivateAttr

from coderag.models.word_vectors import DEFAULT_FOLDER, WordVectors
from coderag.text.tokenizer import tokenize_query, tokenize_text

_BATCH_SIZE = 512


class EmbeddedModel(BaseEmbedding):
    """Word vectors in the package: no download, no network, no GPU.

    Texts are code-aware bags of words (`WordVectors`), so a vector costs microseconds. Vectors have length 1, or are zero
    for a text without known words. Stop words of a query do not count.
    """

    _vectors: WordVectors = PrivateAttr()

    def __init__(self, folder: Path = DEFAULT_FOLDER, **options: Any) -> None:  # noqa: ANN401  (pydantic's fields)
        """Load the model.

        Args:
            folder: Folder of the vectors.
            options: Fields of `BaseEmbedding`.

        Raises:
            ModelError: The vectors cannot be loaded.
        """
        vectors = WordVectors.load(folder)
        super().__init__(**{"model_name": vectors.name, "embed_batch_size": _BATCH_SIZE, **options})
        self._vectors = vectors

    @classmethod
    def class_name(cls) -> str:
        """Return the class name in LlamaIndex's serialized form."""
        return "EmbeddedModel"

    @property
    def dimension(self) -> int:
        """Number of components of a vector."""
        return self._vectors.dimension

    @property
    def vectors(self) -> WordVectors:
        """The word vectors."""
        return self._vectors

    def _get_query_embedding(self, query: str) -> list[float]:
        embedding: list[float] = self._vectors.embed_terms(tokenize_query(query)).tolist()
        return embedding

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        embeddings: list[list[float]] = self._vectors.embed_term_lists([tokenize_text(text) for text in texts]).tolist()
        return embeddings
