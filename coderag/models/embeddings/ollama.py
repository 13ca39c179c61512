"""Models of an Ollama server."""

from typing import Any

from llama_index.embeddings.ollama import OllamaEmbedding as LlamaIndexOllamaEmbedding

from coderag.models.embeddings.base import Vector


class OllamaEmbedding(LlamaIndexOllamaEmbedding):
    """LlamaIndex's class, which cannot ask Ollama to cut texts and to give fewer dimensions.

    Attributes:
        dimensions: Components of a vector; None is the model's own number.
    """

    dimensions: int | None = None

    def get_general_text_embeddings(self, texts: list[str]) -> list[Vector]:
        """Return the vectors of texts, each cut by Ollama to the context of the model, with its own tokenizer.

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
        """Return the vector of one text."""
        return self.get_general_text_embeddings([texts])[0]
