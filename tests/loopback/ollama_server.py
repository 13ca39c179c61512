"""Ollama's side of ``/api/embed``, ``/api/chat``, ``/api/show`` and ``/api/tags``.

Source: https://github.com/ollama/ollama/blob/main/docs/api.md
"""

import json
from collections.abc import Sequence
from typing import Any

from tests.loopback import LoopbackServer, Reply, Request, bag_of_words
from tests.loopback.chat_api import ChatApi


class OllamaServer(ChatApi, LoopbackServer):
    """An Ollama with some models; each embeds words and answers `answer`. A token is a word.

    Args:
        window: Tokens that a model reads of a text; 0 is no limit.
        context_length: What ``/api/show`` tells of each model.
    """

    stream_type = "application/x-ndjson"

    def __init__(
        self,
        models: Sequence[str] = ("nomic-embed-text", "qwen2.5-coder"),
        *,
        dimension: int = 64,
        answer: str = "The session is opened in `login`.",
        window: int = 0,
        context_length: int = 32_768,
    ) -> None:
        super().__init__()
        self.models = tuple(models)
        self.dimension = dimension
        self.answer = answer
        self.window = window
        self.context_length = context_length

    def respond(self, request: Request) -> Reply:
        if request.path == "/api/tags":
            return Reply({"models": [{"name": f"{model}:latest", "model": f"{model}:latest"} for model in self.models]})
        routes = {"/api/embed": self._embed, "/api/chat": self._chat, "/api/show": self._show}
        if request.path not in routes:
            return Reply("404 page not found", 404, {"Content-Type": "text/plain"})
        model = request.body["model"]
        if model.removesuffix(":latest") not in self.models:
            return missing_model(model)
        return routes[request.path](request)

    def frames(self, texts: Sequence[str], finish: str = "stop") -> list[bytes]:
        sent = [_line(text) for text in texts]
        counts = {"prompt_eval_count": 3, "eval_count": 5, "total_duration": 1}
        return [*sent, _line("", done=True, done_reason=finish, **counts)] if finish else sent

    def error_frame(self, message: str) -> bytes:
        return json.dumps({"error": message}).encode() + b"\n"

    def _embed(self, request: Request) -> Reply:
        given = request.body["input"]
        texts = [given] if isinstance(given, str) else given
        if self.window and request.body.get("truncate", True):
            texts = [" ".join(text.split()[: self.window]) for text in texts]
        elif self.window and max(len(text.split()) for text in texts) > self.window:
            return Reply({"error": "the input length exceeds the context length"}, 400)
        dimension = request.body.get("dimensions") or self.dimension
        vectors = [bag_of_words(text, dimension) for text in texts]
        return Reply({"model": request.body["model"], "embeddings": vectors, "total_duration": 1, "load_duration": 1})

    def _chat(self, request: Request) -> Reply:
        if request.body.get("stream", True):
            return self.streamed()
        message = {"role": "assistant", "content": self.answer}
        body = {"model": request.body["model"], "created_at": "2026-01-01T00:00:00Z", "message": message}
        return Reply({**body, "done": True, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 5})

    def _show(self, request: Request) -> Reply:
        capability = "embedding" if "embed" in request.body["model"] else "completion"
        details = {"family": "qwen2", "parameter_size": "7.6B", "quantization_level": "Q4_K_M"}
        model_info = {"general.architecture": "qwen2", "qwen2.context_length": self.context_length}
        return Reply({"details": details, "model_info": model_info, "capabilities": [capability]})


def missing_model(model: str) -> Reply:
    return Reply({"error": f'model "{model}" not found, try pulling it first'}, 404)


def _line(text: str, *, done: bool = False, **more: Any) -> bytes:
    """Return one line of an answer in pieces; what is not ASCII goes out as it is."""
    message = {"role": "assistant", "content": text}
    content = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done, **more}
    return json.dumps(content, ensure_ascii=False).encode() + b"\n"
