"""Anthropic's side of ``/v1/messages`` and ``/v1/models``.

Source: https://docs.anthropic.com/en/api/messages-streaming
"""

from collections.abc import Sequence
from typing import Any

from tests.loopback import Reply, Request
from tests.loopback.chat_api import ModelServer, sse

_STOPS = {"stop": "end_turn", "length": "max_tokens", "refused": "refusal"}


class AnthropicServer(ModelServer):
    """A server with some models."""

    default_model = "claude-sonnet-5"

    def respond(self, request: Request) -> Reply:
        sent = request.headers.get("x-api-key", "")
        if self.key and sent != self.key:
            return refusal(401, "authentication_error", f"invalid x-api-key {sent}")
        if "anthropic-version" not in request.headers:
            return refusal(400, "invalid_request_error", "anthropic-version: header is required")
        path, _, query = request.path.partition("?")
        if path == "/v1/models":
            return self._list(query)
        if path != "/v1/messages":
            return refusal(404, "not_found_error", "Not found")
        if request.body["model"] not in self.models:
            return refusal(404, "not_found_error", f"model: {request.body['model']}")
        return self.streamed() if request.body.get("stream") else self._message(request)

    def frames(self, texts: Sequence[str], finish: str = "stop") -> list[bytes]:
        message = {"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": []}
        begun = {**message, "stop_reason": None, "usage": {"input_tokens": 3, "output_tokens": 1}}
        sent = [sse({"type": "message_start", "message": begun}, "message_start")]
        block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        sent += [sse(block, "content_block_start"), PING]
        for text in texts:
            delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
            sent.append(sse(delta, "content_block_delta"))
        if not finish:
            return sent
        stop = {"stop_reason": _STOPS[finish], "stop_sequence": None}
        ended = {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 5}}
        return [
            *sent,
            sse({"type": "content_block_stop", "index": 0}, "content_block_stop"),
            sse(ended, "message_delta"),
            sse({"type": "message_stop"}, "message_stop"),
        ]

    def error_frame(self, message: str) -> bytes:
        return sse({"type": "error", "error": {"type": "overloaded_error", "message": message}}, "error")

    def _message(self, request: Request) -> Reply:
        content = [{"type": "text", "text": self.answer}]
        body = {"id": "msg", "type": "message", "role": "assistant", "model": request.body["model"]}
        usage = {"input_tokens": 3, "output_tokens": 5}
        return Reply({**body, "content": content, "stop_reason": "end_turn", "usage": usage})

    def _list(self, query: str) -> Reply:
        after = next((part.removeprefix("after_id=") for part in query.split("&") if part.startswith("after_id=")), "")
        start = self.models.index(after) + 1 if after else 0
        listed = self.models[start : start + self.page]
        data: list[dict[str, Any]] = [{"type": "model", "id": model, "display_name": model} for model in listed]
        return Reply({"data": data, "has_more": start + self.page < len(self.models), "last_id": listed[-1]})


PING = sse({"type": "ping"}, "ping")
"""A sign of life, which Anthropic sends between the pieces of an answer."""


def refusal(status: int, kind: str, message: str) -> Reply:
    return Reply({"type": "error", "error": {"type": kind, "message": message}}, status)
