"""The base of the embedding classes that LlamaIndex lacks."""

import asyncio
from abc import abstractmethod
from typing import Literal

from llama_index.core.base.embeddings.base import BaseEmbedding

Vector = list[float]
InputType = Literal["query", "document"]


class QueryDocumentEmbedding(BaseEmbedding):
    """Embeds questions and the texts that they are to find in one way, told apart by a word."""

    @abstractmethod
    def _embed(self, texts: list[str], input_type: InputType) -> list[Vector]:
        """Return one vector a text."""

    def _get_text_embeddings(self, texts: list[str]) -> list[Vector]:
        return self._embed(texts, "document")

    def _get_text_embedding(self, text: str) -> Vector:
        return self._embed([text], "document")[0]

    def _get_query_embedding(self, query: str) -> Vector:
        return self._embed([query], "query")[0]

    async def _aget_query_embedding(self, query: str) -> Vector:
        return await asyncio.to_thread(self._get_query_embedding, query)
