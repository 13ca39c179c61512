"""Ollama's side of ``/api/embed``, ``/api/chat`` and ``/api/tags``.

Source: https://github.com/ollama/ollama/blob/main/docs/api.md
"""

from collections.abc import Sequence

from tests.loopback import LoopbackServer, Reply, Request, bag_of_words


class OllamaServer(LoopbackServer):
    """An Ollama with some models; each embeds words and answers `answer`. A token is a word.

    Args:
        window: Tokens that a model reads of a text; 0 is no limit.
    """

    def __init__(
        self,
        models: Sequence[str] = ("nomic-embed-text", "qwen2.5-coder"),
        *,
        dimension: int = 64,
        answer: str = "The session is opened in `login`.",
        window: int = 0,
    ) -> None:
        super().__init__()
        self.models = tuple(models)
        self.dimension = dimension
        self.answer = answer
        self.window = window

    def respond(self, request: Request) -> Reply:
        if request.path == "/api/tags":
            return Reply({"models": [{"name": f"{model}:latest", "model": f"{model}:latest"} for model in self.models]})
        routes = {"/api/embed": self._embed, "/api/chat": self._chat}
        if request.path not in routes:
            return Reply("404 page not found", 404, {"Content-Type": "text/plain"})
        model = request.body["model"]
        if model.removesuffix(":latest") not in self.models:
            return missing_model(model)
        return routes[request.path](request)

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
        message = {"role": "assistant", "content": self.answer}
        body = {"model": request.body["model"], "created_at": "2026-01-01T00:00:00Z", "message": message}
        return Reply({**body, "done": True, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 5})


def missing_model(model: str) -> Reply:
    return Reply({"error": f'model "{model}" not found, try pulling it first'}, 404)
