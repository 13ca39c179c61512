"""What servers of language models have in common: an answer, sent piece by piece in the words of their protocol."""

import json
import re
from collections.abc import Sequence
from typing import Any

from tests.loopback import LoopbackServer, Stream


class ChatApi:
    """A server that answers `answer` to every prompt. A token is a word.

    Attributes:
        answer: Sent word by word.
        stream_type: Of the content of an answer in pieces.
    """

    answer: str
    stream_type = "text/event-stream"

    def frames(self, texts: Sequence[str], finish: str = "stop") -> list[bytes]:
        """Return a whole reply as it goes over the wire, a frame or two for each text.

        Args:
            finish: ``stop``, ``length``, or nothing, which leaves out the end.
        """
        raise NotImplementedError

    def error_frame(self, message: str) -> bytes:
        """Return how the server says that something went wrong while it was answering."""
        raise NotImplementedError

    def streamed(self, *texts: str, finish: str = "stop") -> Stream:
        """Return a reply in pieces, that of `answer` by default."""
        return Stream(
            headers={"Content-Type": self.stream_type}, pieces=self.frames(texts or words_of(self.answer), finish)
        )


class ModelServer(ChatApi, LoopbackServer):
    """A server with some models, of which `default_model` is one.

    Args:
        key: What callers must send; empty lets everyone in.
        page: Models that it lists at once, at most.
    """

    default_model: str

    def __init__(self, *, answer: str = "The session is opened in `login`.", key: str = "", page: int = 20) -> None:
        super().__init__()
        self.models: Sequence[str] = (self.default_model,)
        self.answer = answer
        self.key = key
        self.page = page


def sse(content: Any, event: str = "") -> bytes:
    """Return a server-sent event.

    Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
    """
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(content, ensure_ascii=False)}\n\n".encode()


def words_of(answer: str) -> list[str]:
    """Return the pieces of an answer: words, each with the space behind it."""
    return re.findall(r"\s*\S+\s*|\s+", answer) or [answer]
