"""Models of any OpenAI-compatible endpoint."""

from typing import Any

from llama_index.embeddings.openai_like import OpenAILikeEmbedding

from coderag.models.embeddings.base import Vector


class OpenAICompatibleEmbedding(OpenAILikeEmbedding):
    """LlamaIndex's class, but it keeps line breaks and restores the order of a reply."""

    def _get_text_embeddings(self, texts: list[str]) -> list[Vector]:
        arguments: dict[str, Any] = self.additional_kwargs
        reply = self._get_client().embeddings.create(input=texts, model=self.model_name, **arguments)
        return [item.embedding for item in sorted(reply.data, key=lambda item: item.index or 0)]

    def _get_text_embedding(self, text: str) -> Vector:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> Vector:
        return self._get_text_embeddings([query])[0]
