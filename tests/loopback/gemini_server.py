"""The Gemini API's side of ``:streamGenerateContent``, ``:generateContent`` and the list of models.

Source: https://ai.google.dev/api/generate-content
"""

import re
from collections.abc import Sequence
from typing import Any

from tests.loopback import Reply, Request
from tests.loopback.chat_api import ModelServer, sse

_FINISHES = {"stop": "STOP", "length": "MAX_TOKENS"}
_CALL = re.compile(r"/v1beta/models/(?P<model>[^:]+):(?P<method>generateContent|streamGenerateContent)(\?alt=sse)?")
_USAGE = {"promptTokenCount": 3, "candidatesTokenCount": 4, "thoughtsTokenCount": 1, "totalTokenCount": 8}


class GeminiServer(ModelServer):
    """A server with some models, and one that only embeds."""

    default_model = "gemini-3.7-flash"

    def respond(self, request: Request) -> Reply:
        if self.key and request.headers.get("x-goog-api-key", "") != self.key:
            reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
            return refusal(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", reason)
        path, _, query = request.path.partition("?")
        if path == "/v1beta/models":
            return self._list(query)
        call = _CALL.fullmatch(request.path)
        if call is None:
            return Reply("<html>Not Found</html>", 404, {"Content-Type": "text/html"})
        if call["model"] not in self.models:
            return refusal(404, "NOT_FOUND", f"models/{call['model']} is not found for API version v1beta")
        if call["method"] == "streamGenerateContent":
            return self.streamed()
        return Reply(_content(self.answer, "STOP", usageMetadata=_USAGE))

    def frames(self, texts: Sequence[str], finish: str = "stop") -> list[bytes]:
        sent = [sse(_content(text)) for text in texts]
        if not finish:
            return sent
        if finish == "length":  # the last words and the end come together
            return [*sent[:-1], sse(_content(texts[-1] if texts else "", _FINISHES[finish], usageMetadata=_USAGE))]
        end = {"candidates": [{"finishReason": _FINISHES[finish], "index": 0}], "usageMetadata": _USAGE}
        return [*sent, sse(end)]

    def error_frame(self, message: str) -> bytes:
        return sse({"error": {"code": 503, "message": message, "status": "UNAVAILABLE"}})

    def _list(self, query: str) -> Reply:
        token = next(
            (part.removeprefix("pageToken=") for part in query.split("&") if part.startswith("pageToken=")), "0"
        )
        start = int(token)
        listed: list[dict[str, Any]] = [
            {"name": f"models/{model}", "supportedGenerationMethods": ["generateContent", "countTokens"]}
            for model in self.models[start : start + self.page]
        ]
        if start + self.page < len(self.models):
            return Reply({"models": listed, "nextPageToken": str(start + self.page)})
        embedder = {"name": "models/gemini-embedding-001", "supportedGenerationMethods": ["embedContent"]}
        return Reply({"models": [*listed, embedder]})


def refusal(status: int, name: str, message: str, *details: dict[str, Any]) -> Reply:
    return Reply({"error": {"code": status, "message": message, "status": name, "details": list(details)}}, status)


def _content(text: str, finish: str = "", **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **more}
