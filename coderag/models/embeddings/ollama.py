"""Models of an Ollama server."""

from typing import Any

from llama_index.embeddings.ollama import OllamaEmbedding as LlamaIndexOllamaEmbedding

from coderag.models.embeddings.base import Vector


class OllamaEmbedding(LlamaIndexOllamaEmbedding):
    """LlamaIndex's class, extended by truncation on the server and by the number of dimensions.

    Attributes:
        dimensions: Number of components of a vector; None uses the model's.
    """

    dimensions: int | None = None

    def get_general_text_embeddings(self, texts: list[str]) -> list[Vector]:
        """Return the vectors of texts, which Ollama truncates to the model's context with its own tokenizer.

        Source: https://github.com/ollama/ollama/blob/main/docs/api.md
        """
        options: dict[str, Any] = self.ollama_additional_kwargs
        reply = self._client.embed(
            model=self.model_name,
            input=texts,
            truncate=True,
            options=options,
            keep_alive=self.keep_alive,
            dimensions=self.dimensions,
        )
        return [list(vector) for vector in reply.embeddings]

    def get_general_text_embedding(self, texts: str) -> Vector:
        """Return the vector of a text."""
        return self.get_general_text_embeddings([texts])[0]
