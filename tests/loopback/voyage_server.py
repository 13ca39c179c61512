"""Voyage's side of ``/v1/embeddings``.

Source: https://docs.voyageai.com/reference/embeddings-api
"""

from typing import Any

from tests.loopback import Reply, Request
from tests.loopback.embeddings_api import EmbeddingsApiServer, words


class VoyageServer(EmbeddingsApiServer):
    """A server with one embedding model, which cuts texts to its window where it is asked to."""

    dimension_parameter = "output_dimension"

    def __init__(self, model: str = "voyage-code-3", **options: Any) -> None:
        super().__init__(model, **options)

    def respond(self, request: Request) -> Reply:
        if request.body and request.body.get("input_type") not in {None, "query", "document"}:
            return self.refusal(400, "Value of input_type is not one of query and document.", "")
        if self.window and request.body and request.body.get("truncation", True):
            cut = [" ".join(text.split()[: self.window]) for text in request.body["input"]]
            request = Request(request.method, request.path, request.headers, {**request.body, "input": cut})
        return super().respond(request)

    def refusal(self, status: int, message: str, code: str) -> Reply:
        return Reply({"detail": message}, status)

    def refuse_length(self, texts: list[str]) -> Reply | None:
        total = sum(map(words, texts))
        if self.request_tokens and total > self.request_tokens:
            said = f"The max allowed tokens per submitted batch is {self.request_tokens}. Your batch has {total} tokens"
            return self.refusal(400, f"{said} after truncation. Please lower the number of tokens in the batch.", "")
        return None
