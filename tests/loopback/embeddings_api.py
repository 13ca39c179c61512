"""What servers with ``/v1/embeddings`` have in common: OpenAI's and its like, and Voyage's."""

import base64
import struct
from typing import Any

from tests.loopback import LoopbackServer, Reply, Request, bag_of_words


class EmbeddingsApiServer(LoopbackServer):
    """A server with one embedding model; a token is a word.

    Args:
        key: What callers must send; empty lets everyone in.
        window: Tokens that the model reads of a text; 0 is no limit.
        request_tokens: Tokens of a request, at most; 0 is no limit.
    """

    dimension_parameter: str
    """What a request calls the number of components that it wants."""

    def __init__(
        self, model: str, *, dimension: int = 64, key: str = "", window: int = 0, request_tokens: int = 0
    ) -> None:
        super().__init__()
        self.model = model
        self.dimension = dimension
        self.key = key
        self.window = window
        self.request_tokens = request_tokens

    @property
    def url(self) -> str:
        return f"{super().url}/v1"

    def refusal(self, status: int, message: str, code: str) -> Reply:
        """Refuse as the real server would."""
        raise NotImplementedError

    def refuse_length(self, texts: list[str]) -> Reply | None:
        """Refuse texts that are too long, each or together, as the real server would."""
        raise NotImplementedError

    def refuse_caller(self, request: Request) -> Reply | None:
        """Refuse a caller without the key."""
        sent = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.key and sent != self.key:
            return self.refusal(401, f"Incorrect API key provided: {sent}.", "invalid_api_key")
        return None

    def respond(self, request: Request) -> Reply:
        if refused := self.refuse_caller(request):
            return refused
        if request.path != "/v1/embeddings":
            return self.refusal(404, f"Unknown request URL: {request.method} {request.path}.", "unknown_url")
        if request.body["model"] != self.model:
            return self.refusal(404, f"The model `{request.body['model']}` does not exist.", "model_not_found")
        given = request.body["input"]
        texts = [given] if isinstance(given, str) else given
        return self.refuse_length(texts) or self._embed(request.body, texts)

    def _embed(self, body: dict[str, Any], texts: list[str]) -> Reply:
        dimension = body.get(self.dimension_parameter) or self.dimension
        as_base64 = body.get("encoding_format") == "base64"
        data = []
        for index, text in enumerate(texts):
            vector = bag_of_words(text, dimension)
            packed = base64.b64encode(struct.pack(f"<{dimension}f", *vector)).decode()
            data.append({"object": "embedding", "index": index, "embedding": packed if as_base64 else vector})
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return Reply({"object": "list", "data": data, "model": self.model, "usage": usage})


def words(text: str) -> int:
    return len(text.split())
