"""Models of Voyage AI.

LlamaIndex's class is not used: it has no options for address and timeout, downloads a tokenizer before the first request,
and pins a version of Voyage's client that does not run on Python 3.13.
"""

from operator import itemgetter
from typing import Any

import httpx
from llama_index.core.bridge.pydantic import PrivateAttr

from coderag.models.embeddings.base import InputType, QueryDocumentEmbedding, Vector


class VoyageEmbedding(QueryDocumentEmbedding):
    """Embeds with ``POST /embeddings``. Voyage adds its own prefixes and truncates texts.

    Source: https://docs.voyageai.com/reference/embeddings-api

    Attributes:
        output_dimension: Number of components of a vector; None uses the model's.
    """

    output_dimension: int | None = None
    _client: httpx.Client = PrivateAttr()

    def __init__(self, client: httpx.Client, **fields: Any) -> None:  # noqa: ANN401  # checked by pydantic
        super().__init__(**fields)
        self._client = client

    def _embed(self, texts: list[str], input_type: InputType) -> list[Vector]:
        body = {"input": texts, "model": self.model_name, "input_type": input_type, "truncation": True}
        if self.output_dimension is not None:
            body["output_dimension"] = self.output_dimension
        reply = self._client.post("embeddings", json=body).raise_for_status().json()
        return [item["embedding"] for item in sorted(reply["data"], key=itemgetter("index"))]
