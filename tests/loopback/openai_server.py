"""An OpenAI-compatible server's side of ``/v1/embeddings``.

Source: https://platform.openai.com/docs/api-reference/embeddings
"""

import base64
import struct

from tests.loopback import LoopbackServer, Reply, Request, bag_of_words


class OpenAIServer(LoopbackServer):
    """A server with one embedding model.

    Args:
        key: What callers must send; empty lets everyone in.
    """

    def __init__(self, model: str = "text-embedding-3-small", *, dimension: int = 64, key: str = "") -> None:
        super().__init__()
        self.model = model
        self.dimension = dimension
        self.key = key

    @property
    def url(self) -> str:
        return f"{super().url}/v1"

    def respond(self, request: Request) -> Reply:
        sent = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.key and sent != self.key:
            return _refusal(401, f"Incorrect API key provided: {sent}.", "invalid_api_key")
        if request.path != "/v1/embeddings":
            return _refusal(404, f"Unknown request URL: {request.method} {request.path}.", "unknown_url")
        if request.body["model"] != self.model:
            return _refusal(404, f"The model `{request.body['model']}` does not exist.", "model_not_found")
        given = request.body["input"]
        texts = [given] if isinstance(given, str) else given
        as_base64 = request.body.get("encoding_format") == "base64"
        data = []
        for index, text in enumerate(texts):
            vector = bag_of_words(text, self.dimension)
            packed = base64.b64encode(struct.pack(f"<{self.dimension}f", *vector)).decode()
            data.append({"object": "embedding", "index": index, "embedding": packed if as_base64 else vector})
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return Reply({"object": "list", "data": data, "model": self.model, "usage": usage})


def _refusal(status: int, message: str, code: str) -> Reply:
    return Reply({"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}, status)
