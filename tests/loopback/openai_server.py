"""An OpenAI-compatible server's side of ``/v1/embeddings``, ``/v1/chat/completions`` and ``/v1/models``.

Source: https://platform.openai.com/docs/api-reference
"""

from collections.abc import Sequence
from typing import Any

from tests.loopback import Reply, Request
from tests.loopback.chat_api import ChatApi, sse
from tests.loopback.embeddings_api import EmbeddingsApiServer, words


class OpenAIServer(ChatApi, EmbeddingsApiServer):
    """A server with one embedding model, which refuses texts longer than its window, and one that chats.

    Args:
        options: Of `EmbeddingsApiServer`.
    """

    dimension_parameter = "dimensions"

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        *,
        chat_model: str = "gpt-4o-mini",
        answer: str = "The session is opened in `login`.",
        **options: Any,
    ) -> None:
        super().__init__(model, **options)
        self.chat_model = chat_model
        self.answer = answer

    def respond(self, request: Request) -> Reply:
        if refused := self.refuse_caller(request):
            return refused
        if request.path == "/v1/models":
            listed = [{"id": model, "object": "model", "owned_by": "me"} for model in (self.model, self.chat_model)]
            return Reply({"object": "list", "data": listed})
        if request.path == "/v1/chat/completions":
            return self._chat(request)
        return super().respond(request)

    def frames(self, texts: Sequence[str], finish: str = "stop") -> list[bytes]:
        sent = [_chunk({"role": "assistant", "content": "", "refusal": None})]
        sent += [_chunk({"content": text}) for text in texts]
        if not finish:
            return sent
        usage = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
        return [*sent, _chunk({}, finish), _chunk(None, usage=usage), b"data: [DONE]\n\n"]

    def refusal_frames(self, said: Sequence[str]) -> list[bytes]:
        """Return a refusal in words, which has no content."""
        sent = [_chunk({"role": "assistant", "content": None, "refusal": ""})]
        sent += [_chunk({"refusal": text}) for text in said]
        return [*sent, _chunk({}, "stop"), b"data: [DONE]\n\n"]

    def error_frame(self, message: str) -> bytes:
        return sse({"error": {"message": message, "type": "server_error", "code": None}})

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

    def _chat(self, request: Request) -> Reply:
        if request.body["model"] != self.chat_model:
            return self.refusal(404, f"The model `{request.body['model']}` does not exist.", "model_not_found")
        if request.body.get("stream"):
            return self.streamed()
        message = {"role": "assistant", "content": self.answer, "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
        return Reply({"id": "c", "object": "chat.completion", "created": 1, "choices": [choice], "usage": usage})


def _chunk(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    content = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
    return sse({**content, **more})
