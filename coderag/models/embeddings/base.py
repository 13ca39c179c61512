"""Base classes of embedding models that LlamaIndex lacks."""

import asyncio
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from numpy.typing import NDArray

Vector = list[float]
InputType = Literal["query", "document"]


class QueryDocumentEmbedding(BaseEmbedding):
    """Embeds queries and documents with one method, distinguished by an input type."""

    @classmethod
    def class_name(cls) -> str:
        """Return the class name in LlamaIndex's serialized form."""
        return cls.__name__

    @abstractmethod
    def _embed(self, texts: list[str], input_type: InputType) -> list[Vector]:
        """Return one vector per text."""

    def _get_text_embeddings(self, texts: list[str]) -> list[Vector]:
        return self._embed(texts, "document")

    def _get_text_embedding(self, text: str) -> Vector:
        return self._embed([text], "document")[0]

    def _get_query_embedding(self, query: str) -> Vector:
        return self._embed([query], "query")[0]

    async def _aget_query_embedding(self, query: str) -> Vector:
        return await asyncio.to_thread(self._get_query_embedding, query)


class FolderEmbedding(QueryDocumentEmbedding):
    """Runs the model of a folder in this process.

    Args:
        prompts: Prefixes of queries and texts.
    """

    _prompts: Mapping[InputType, str] = PrivateAttr()

    def __init__(self, *, prompts: Mapping[InputType, str], **fields: Any) -> None:  # noqa: ANN401  # checked by pydantic
        super().__init__(**fields)
        self._prompts = prompts

    @abstractmethod
    def _encode(self, texts: list[str], prompt: str) -> NDArray[np.floating]:
        """Return the vectors of texts with a prompt before each, shape (len(texts), dimension)."""

    def _embed(self, texts: list[str], input_type: InputType) -> list[Vector]:
        listed: list[Vector] = self._encode(texts, self._prompts[input_type]).tolist()
        return listed
