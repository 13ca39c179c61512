"""An OpenAI-compatible server's side of ``/v1/embeddings``.

Source: https://platform.openai.com/docs/api-reference/embeddings
"""

from typing import Any

from tests.loopback import Reply
from tests.loopback.embeddings_api import EmbeddingsApiServer, words


class OpenAIServer(EmbeddingsApiServer):
    """A server with one embedding model, which refuses texts longer than its window."""

    dimension_parameter = "dimensions"

    def __init__(self, model: str = "text-embedding-3-small", **options: Any) -> None:
        super().__init__(model, **options)

    def refusal(self, status: int, message: str, code: str) -> Reply:
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
        return Reply({"error": error}, status)

    def refuse_length(self, texts: list[str]) -> Reply | None:
        longest, total = max(map(words, texts)), sum(map(words, texts))
        if self.window and longest > self.window:
            said = (
                f"This model's maximum context length is {self.window} tokens, however you requested {longest} tokens"
            )
            return self.refusal(400, f"{said} ({longest} in your prompt). Please reduce your prompt.", "too_long")
        if self.request_tokens and total > self.request_tokens:
            said = f"Requested {total} tokens, max {self.request_tokens} tokens per request"
            return self.refusal(400, said, "max_tokens_per_request")
        return None
